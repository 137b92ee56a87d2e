/*
 * set_id: chmod(2) and its like with the set-user-ID or set-group-ID bit, carried out for the thread that is in it.
 *
 * Promises: no file gets one of these bits, which any other user of the machine could make use of (attack R12); a
 * folder may, as for `git init --shared` (inode(7)). What is looked at is what is changed: the tool may change its
 * path, its memory and its descriptors meanwhile. The change is made through the thread's own view, by its own user.
 */
#pragma once

#include <sys/types.h>

#include "calls/call.h"

/* Of a call whose `set_id` says so: 0 and a descriptor of the folder, as a name alone (O_PATH); or what the call fails
 * with. It is the thread's if that has been waiting all the while. `curtain`: the device of its nodes, 0: there are
 * none. */
int set_id_open(pid_t thread, const struct call_raw *raw, const struct call *call, dev_t curtain, int *ret_fd);

/* 0, or what the call fails with. */
int set_id_change(int fd, const struct call_raw *raw);
