/*
 * trap: one trapped call, as it was read of its thread, and what is to become of it.
 *
 * Promises: trap_read, trap_glance and trap_place touch nothing but their arguments and are for any thread: they wait
 * for as long as the tool's memory, or a file system of the sandbox, makes them wait. trap_judge is lexical, but for
 * what call_needs.h says of `exists`.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"
#include "call_needs.h"
#include "calls/call.h"
#include "calls/socket_calls.h"
#include "host_made.h"
#include "links.h"

struct trap {
	uint64_t id;
	pid_t thread;
	struct call_raw raw;
	bool socket;               /* it has `taken` and no call */
	struct socket_taken taken; /* taken over by who holds it */
	int code;                  /* what the call fails with, or 0 */
	struct call call;
	char *named; /* an execve(2)'s path before its links were followed, where programs are asked about or denied */
	struct strings programs; /* that an execve(2) would run, where programs are asked about */
	struct links *links;     /* that it makes, or brings to another place; NULL: none */
	int lacking;             /* what it fails with, as no such program is there; or 0 */
};

struct trap_rules {
	unsigned wanted; /* of enum traps_wanted (filter.h) */
	dev_t curtain;   /* of the curtain's nodes; 0: there is none */
	int root;        /* of the sandbox (lead_straight); -1: it isn't known */
	bool still;      /* nothing was mounted since the sandbox began (lead.h) */
	bool sockets;    /* somebody carries out calls about sockets; otherwise connects are refused */
};

/* May a call of that number run a program? Without a curtain an open may: "ld.so PROGRAM". */
bool trap_may_start(const struct trap_rules *rules, int number);

void trap_read(const struct trap_rules *rules, struct socket_caller *caller, const struct seccomp_notif *received,
	       struct trap *ret_trap);

/* Is it a call that changes what a single path names, and is that known without a walk? Then the path that the trap has
 * from here on is what trap_place would find, unless a newer mount is at its beginning. */
bool trap_glance(const struct trap_rules *rules, struct trap *trap);

/* Finds what the call names, behind whatever links the tool has laid on the way, and which programs it would run. */
void trap_place(const struct trap_rules *rules, struct trap *trap);

enum trap_end {
	TRAP_GOES_ON,  /* nothing is to be asked: the mount table decides */
	TRAP_SAYS_YES, /* an access(2) of what may be asked for: it returns 0 */
	TRAP_FAILS,    /* it fails with ret_needs->code: what comes to be there by now was not judged */
	TRAP_NEEDS,    /* what is in *ret_needs is asked for first */
	TRAP_MAKES,    /* nothing is to be asked: what it makes is made on the host (ret_needs->made) */
};

/* What a call is judged by. */
struct trap_view {
	struct sight (*sight)(void *context, const char *path);
	const char *(*mask_below)(void *context, const char *folder); /* as call_needs.h has it; or NULL */
	struct host_made *made;                                       /* or NULL: nothing is */
	void *context;
};

/* *ret_needs borrows from the trap. */
enum trap_end trap_judge(const struct trap_rules *rules, const struct trap *trap, const struct trap_view *view,
			 struct call_needs *ret_needs);

/* Frees what is in it. */
void trap_finish(struct trap *trap);
