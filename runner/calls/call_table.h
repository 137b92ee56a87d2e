/*
 * call_table: the system calls that name paths, and which of their arguments do.
 *
 * Promises: one table for all who ask (call.c reads arguments by it, filter_make.c traps by it); complete for 64-bit
 * Linux as of 6.17, but for openat2(2), which the filter refuses; a call that this architecture doesn't have is in it
 * with number -1 (aarch64 has only the *at forms).
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "call.h"

enum call_flags {
	CALL_FLAGS_NONE,
	CALL_FLAGS_OPEN,   /* open(2)'s */
	CALL_FLAGS_CREAT,  /* creat(2): no argument, O_CREAT | O_WRONLY | O_TRUNC */
	CALL_FLAGS_RENAME, /* renameat2(2)'s */
	CALL_FLAGS_LINK,   /* linkat(2)'s */
	CALL_FLAGS_ACCESS, /* access(2)'s mode */
	CALL_FLAGS_AT,     /* AT_SYMLINK_NOFOLLOW and the like */
};

enum call_form {
	CALL_PATH,
	CALL_ADDRESS, /* a sockaddr, its size behind it: a path where it is AF_UNIX's and no abstract one */
};

enum { CALL_SET_ID = S_ISUID | S_ISGID }; /* bits that no file of a sandbox gets (attack R12) */

/* Arguments count from 1, as the manual counts them; 0 is none. */
struct call_shape {
	const char *name;
	int number;
	enum call_class class;
	struct {
		unsigned char folder; /* a descriptor; none: the working folder */
		unsigned char path;   /* none: the descriptor's own */
		bool makes, removes;  /* call.h */
	} paths[CALL_PATHS];
	unsigned char text;    /* what a link that is made leads to */
	bool brings, straight; /* call.h */
	enum call_form form;
	enum call_flags flags;
	unsigned char flags_at;
	unsigned char mode_at; /* a mode_t that may have the set-user-ID and set-group-ID bits */
};

extern const struct call_shape call_shapes[];
extern const size_t call_shape_count;

const struct call_shape *call_shape_of(int number); /* NULL: names no path */
