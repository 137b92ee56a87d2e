/*
 * filter: the system calls that no process of a sandbox may make (design section 10.4), and those that are to be
 * looked at first (traps.h), as a BPF program.
 *
 * Promises: tables alone, here and in call_table.h; anything compared is compared on the 32 bits the kernel uses
 * (attack K1); foreign architectures and x32 get ENOSYS (K2). Everything else is allowed: what a sandbox can reach is
 * decided by its namespaces.
 */
#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include "base/error.h"

enum traps_wanted {
	/* What may change a file or folder: opens that write, create or truncate (told by their flags; openat2's are
	 * behind a pointer, so each), calls that change names or attributes. Opens that only read are never trapped. */
	TRAPS_WRITES = 1,
	TRAPS_PROGRAMS = 2, /* execve, execveat */
	TRAPS_OPENS = 4,    /* where there is no curtain: all of both, and opens that only read */
};

/* `wanted`: of enum traps_wanted; 0: a filter that needs no listener. Freed by the caller with free(). */
int filter_build(unsigned wanted, struct sock_filter **ret_filter, uint32_t *ret_count, struct error *error);
