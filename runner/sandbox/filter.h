/*
 * filter: the system calls that no process of a sandbox may make (design section 10.4), and those that are to be
 * looked at first (traps.h), as BPF programs. They are made when sbx is built (filter_make.c).
 *
 * Promises: tables alone, here and in call_table.h; anything compared is compared on the 32 bits the kernel uses
 * (attack K1); foreign architectures and x32 get ENOSYS (K2). Everything else is allowed: what a sandbox can reach is
 * decided by its namespaces.
 */
#pragma once

#include <linux/filter.h>
#include <stdint.h>

enum traps_wanted {
	/* What may change a file or folder: opens that write, create or truncate (told by their flags; openat2's are
	 * behind a pointer, so each), calls that change names or attributes. Opens that only read are never trapped. */
	TRAPS_WRITES = 1,
	TRAPS_PROGRAMS = 2, /* execve, execveat */
	TRAPS_OPENS = 4,    /* where there is no curtain: all of both, and opens that only read */
	TRAPS_SOCKETS = 8,  /* connect, and sendto with an address */
	TRAPS_SERVERS = 16, /* those, and bind and listen */
	TRAPS_DIRECT = 32,  /* all of these; a socket may be the host's: no ioctl tells of interfaces, and no option
			       leads elsewhere (attack N15) */
	/* With TRAPS_WRITES, also calls that change attributes of what is open, and name nothing (futimens(3)). With
	 * TRAPS_OPENS always. */
	TRAPS_DESCRIPTORS = 64,
	/* Of no filter: what a stopped call is judged by. Programs are denied, too, for which no node stands. */
	TRAPS_DENIALS = 128,
};

enum { FILTER_COUNT = 2 * TRAPS_DESCRIPTORS };

struct filter {
	const struct sock_filter *steps;
	uint32_t count;
};

/* The steps of `filter` behind those by which io_setup(2) isn't there (ENOSYS): the slots of asynchronous I/O are one
 * quota of the whole machine (fs.aio-max-nr), which a sandbox could take for all (attack R7). Freed by the caller. */
struct sock_filter *filter_refuse_aio(const struct filter *filter, uint32_t *ret_count);

extern const struct filter filters[FILTER_COUNT]; /* by what is wanted, any sum; that of 0 needs no listener */
