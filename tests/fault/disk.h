/*
 * disk: a VFS for SQLite over the usual one that fails, ends the process or cuts the power at the n-th call.
 *
 * Promises: without a fault it is the disk beneath it. What was written is on that disk at once, as it is in a kernel's
 * cache; beside it is kept what a medium would have: what was synced (fsync(2)), and what would be lost with the power.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum disk_call {
	DISK_OPEN = 1,
	DISK_READ = 2,
	DISK_WRITE = 4,
	DISK_TRUNCATE = 8,
	DISK_SYNC = 16,
	DISK_DELETE = 32,
	DISK_LOCK = 64,
	DISK_CHANGES = DISK_WRITE | DISK_TRUNCATE | DISK_SYNC | DISK_DELETE,
	DISK_ALL = 127,
};

enum disk_fault {
	DISK_SOUND,       /* only counts */
	DISK_FAILS,       /* the n-th call, once */
	DISK_BREAKS,      /* it and all of those calls after it */
	DISK_DIES,        /* the process ends there as by SIGKILL, a write half done */
	DISK_LOSES_POWER, /* and the files are as the medium has them */
};

struct disk_image;
LIST_HEAD(disk_images, disk_image);

struct disk {
	enum disk_fault fault;
	unsigned calls; /* of enum disk_call: which are counted */
	long at;        /* from 1 */
	int code;       /* SQLITE_FULL for DISK_WRITE, else ignored: each call fails with its own */
	unsigned seed;  /* of what the power leaves of unsynced writes */

	long count; /* calls so far */
	struct disk_images images;
};

enum { DISK_ENDED = 99 }; /* exit status of DISK_DIES and DISK_LOSES_POWER */

/* Every database opened from now on is on it. */
void disk_install(struct disk *disk);

/* Write the files as the medium has them, each unsynced write kept, lost or torn as the seed has it. */
void disk_cut_power(struct disk *disk);
