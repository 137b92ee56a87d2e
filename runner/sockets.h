/*
 * sockets: Unix sockets of the host that lie in folders a sandbox is shown (attacks N13, N16).
 *
 * Promises: bounded in folders and entries, shallow ones first, whatever holds them; follows no link; leaves out what a
 * sandbox gets fresh (/proc, /sys, /dev, /run, /tmp unless a tree begins inside). What is made later is not found.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

/* Adds each to `sockets`. `trees` are canonical folders. False when there was more than the bounds let see. */
bool sockets_find(const struct strings *trees, struct strings *sockets);
