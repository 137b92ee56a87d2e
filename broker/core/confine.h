/*
 * confine: what sbxd gives up for good before it serves, so that who takes it over by a message gets little.
 *
 * Promises: afterwards this process starts no program and no process, opens nothing for writing, maps no code, looks
 * into no other process's memory, sends no signal but SIGKILL (session_terminate.c), SIGSTOP and SIGCONT (sandbox.c),
 * and has no sockets but those of clients, its own and the system log's; what it tries all the same is told on stderr
 * with the call's name or number. Nothing here can turn into an allow: a refused call fails or ends the broker.
 *
 * Should: be called once, by the only thread, when the database is open, the socket listens and helpers were forked.
 * Mustn't: be relied on for a verdict; it is the second belt.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum { CONFINE_ALARM = 99 }; /* exit status of a broker that tried what none of its code does */

/* *ret_confined is false in a build with a sanitizer, which needs more calls than can be listed; that is logged. */
int confine_self(bool *ret_confined, struct error *error);
