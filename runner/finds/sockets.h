/*
 * sockets: Unix sockets of the host that lie in folders a sandbox is shown (attacks N13, N14, N16).
 *
 * Where calls about sockets are held (ipc.h), only datagram sockets have to be laid over: sendmsg(2) names one in
 * memory that a filter can't look at. The kernel lists them. Elsewhere all must be, and are looked for in the folders.
 *
 * Promises: the search is bounded in folders and entries, shallow ones first, whatever holds them; follows no link;
 * leaves out what a sandbox gets fresh (/proc, /sys, /dev, /run, /tmp unless a tree begins inside). What is made later
 * is not found.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

/* Adds each to `sockets`. `trees` are canonical folders. False when there was more than the bounds let see. */
bool sockets_find(const struct strings *trees, struct strings *sockets);

bool socket_is_at(const char *path); /* not a link to one */

/* Adds the path of each datagram socket of this network that is bound at one (proc_net(5)), as it was bound: not where
 * it was renamed to since, nor what was bound by a relative name. */
void sockets_list_datagrams(struct strings *sockets);
