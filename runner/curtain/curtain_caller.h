/*
 * curtain_caller: the threads that ask, and what they were told in the call that they are in.
 *
 * Promises: knows of a folder whether the kernel may have its lock when it asks for its attributes (Theory of operation
 * in curtain_caller.c); never guesses that it hasn't. As many records as there are threads in calls that take locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "calls/call.h"
#include "curtain/doorbell.h"
#include "curtain_node.h"

enum { CALLER_FOLDERS = 32 };

/* What a change that came under a lock lacks: asked for when the same call comes by again, without one. */
struct caller_wish {
	uint64_t folder; /* where to ask; 0: there is no wish */
	uint32_t told;   /* its node's then */
	bool by_folder;
	char *path;
};

struct caller {
	struct caller *next;
	pid_t thread;
	bool known;          /* the call is; else any may be it */
	struct call_raw raw; /* the call */
	bool crowded;        /* it passed more than there is room for */
	size_t passed_count;
	uint64_t passed[CALLER_FOLDERS]; /* folders that it was let through */
	struct caller_wish wish;
	int64_t asked_ms; /* when its wish was asked for; 0: it wasn't */
};

struct callers;

struct callers *callers_new(void);
void callers_free(struct callers *callers);
DEFINE_CLEANUP(struct callers *, callers_free);

/* The thread's record; a fresh one when it is in another call now. `raw` NULL: the call can't be read. Good until the
 * next of these. */
struct caller *callers_get(struct callers *callers, pid_t thread, const struct call_raw *raw);
void callers_drop(struct callers *callers, pid_t thread); /* its call is over */

void caller_pass(struct caller *caller, uint64_t folder);
/* Is it sure that no lock is held? Also of a call that makes a name in it. */
bool caller_is_unlocked(const struct caller *caller, const struct node *folder);

/* The call changes something below `folder`'s lock, which it will give back now. False: it was asked for already. */
bool caller_wishes(struct caller *caller, const struct node *folder, const char *path, bool by_folder);

/* Its wish, which is asked for now: the path is the caller's. */
char *caller_ask(struct caller *caller, bool *ret_by_folder);

/* Is the thread in this pid namespace (of /proc/PID/ns/pid)? */
bool thread_is_in(pid_t thread, ino_t pid_namespace);
ino_t thread_pid_namespace(pid_t thread); /* 0: can't be read */
