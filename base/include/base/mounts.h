/*
 * mounts: where file systems are mounted that may keep whoever looks at them waiting: those that need another machine,
 * or another process (NFS, FUSE), to answer.
 */
#pragma once

#include "base/string.h"

/* Adds their mount points, as /proc/self/mounts has them now (proc_pid_mounts(5)). */
void mounts_that_may_hang(struct strings *ret_points);

/* Also those that answer themselves, while a look below them may wait: of an automounter. */
void mounts_that_may_hang_below(struct strings *ret_points);
