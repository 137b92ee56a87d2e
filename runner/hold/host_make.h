/*
 * host_make: a file or folder that a trapped call makes, where in the sandbox it would be lost, is made on the host,
 * and so is removed what a call of this run has made.
 *
 * Promises: it is made in the host's folder by that path, with no link on the way, empty, and only where nothing is;
 * with the mode that the thread asked for, without its umask's bits, and never with a set-ID bit. What is opened
 * afterwards is what the sandbox has at the path, by its own mounts.
 */
#pragma once

#include "trap.h"

int host_make(const struct trap *trap); /* 0, or what the call fails with */
const char *host_make_path(const struct trap *trap);
bool host_make_removes(const struct trap *trap); /* what a call of this run has made is removed there */

/* An open(2) whose file is there by now: what the call opens, or the negative of what it fails with. Never waits. */
int host_make_open(const struct trap *trap, const struct trap_rules *rules);

/* The call returns a descriptor of its own for that, or, without one (-1), 0. */
void host_make_answer(int listener, const struct trap *trap, int fd);
