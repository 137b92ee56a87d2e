/*
 * executor: the process that runs the programs of exec lines for sbxd.
 *
 * sbxd itself is kept from starting programs (its seccomp filter), so this one is forked before that filter, before
 * threads and before the database are there, and holds nothing of sbxd's but one end of a socket pair.
 *
 * Promises: a program runs without a shell, in a process group of its own, in /, with a minimal environment, with only
 * its three pipes open; at its time-out, at sbxd's end and after its own end the whole group is killed. What it writes
 * is bounded. Only programs that exec_file_check lets pass are run.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* *ret_socket: sbxd's end (exec_wire.h); its end of file says that the executor has died. It ends when this end is
 * closed. `owner`: whom programs may belong to besides root. */
int executor_start(uid_t owner, int *ret_socket, struct error *error);
