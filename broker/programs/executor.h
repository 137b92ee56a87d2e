/*
 * executor: the process that runs the programs of exec lines for sbxd.
 *
 * sbxd itself is kept from starting programs (its seccomp filter), so this one is forked before that filter, before
 * threads and before the database are there, and holds nothing of sbxd's but one end of a socket pair.
 *
 * Promises: only command lines are run that stand in the administrator's stack, which this process reads itself, and of
 * those only programs that exec_file_check lets pass: sbxd chooses the line and writes what the program reads, no more.
 * A program runs without a shell, in /, with a minimal environment, with only its three pipes open; at its time-out, at
 * sbxd's end and after its own end all that it has started is killed (exec_keeper.h). What it writes is bounded.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* *ret_socket: sbxd's end (exec_wire.h); its end of file says that the executor has died. It ends when this end is
 * closed. `folder`: the administrator's; `owner`: whom it and programs may belong to besides root. */
int executor_start(const char *folder, uid_t owner, int *ret_socket, struct error *error);
