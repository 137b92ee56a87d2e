/*
 * inside: does this process run in a sandbox of sbx?
 *
 * Promises: yes only where sbx-init is process 1 and lies where bwrap.h puts it. Help for the user, no boundary: what a
 * sandbox can reach is the kernel's affair.
 */
#pragma once

#include "base/error.h"

#define INSIDE_DOOR "/run/sbx/ask.sock" /* SOCK_SEQPACKET; runner/session/inside_door.h */

/* 0 outside; inside -EOPNOTSUPP with a sentence: a broker in there would be another one, and decide nothing. */
int inside_refuse(struct error *error);
