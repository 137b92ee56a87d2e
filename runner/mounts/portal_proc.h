/*
 * portal_proc: what of a sandbox's /proc tells of the host's kernel and of other users, and is closed (attack R15).
 *
 * Promises: who opens one of these gets EACCES, as in a container of Docker, which closes nearly the same
 * (daemon's default masked paths). What programs look at to know their machine stays: cpuinfo, meminfo, stat, loadavg,
 * version, filesystems, /proc/sys.
 */
#pragma once

#include "base/error.h"
#include "portal_spaces.h"

/* In a sandbox that was entered, after stage_make. */
int proc_close(const struct spaces *spaces, struct error *error);
