/*
 * peer: who is at the other end, told by the kernel alone (attacks B1, B3, B11).
 *
 * Promises: same user, same user namespace, same PID namespace as this process, checked of one process that was held
 * by a pidfd all the while; anything else, and any failure to find out, is an error. A process that made itself
 * undumpable can't be looked at and is refused.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* *ret_pidfd holds it; the caller closes it. */
int peer_check(int socket, pid_t *ret_pid, int *ret_pidfd, struct error *error);
bool peer_has_ended(int pidfd); /* also where that can't be seen: then nobody is believed (process_has_ended) */
