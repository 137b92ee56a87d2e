/*
 * Theory of operation. A GETATTR of a folder comes when a path leads through it, when a call looks at it, and when the
 * kernel checks that a name may be made in it or go from it. The last one comes with the folder's lock held, and looks
 * like the others. Whoever waits with that lock keeps all others from new names in the folder, also the portal, which
 * has to get by to mount or to take away.
 *
 * But no call locks a folder that its path hasn't led it through just before (link_path_walk in the kernel's
 * fs/namei.c checks each folder, the last one too), and attributes are told to expire at once, so that each check is a
 * request. So within one call the first GETATTR of a folder by a thread comes without its lock, and only that one is
 * ever held. What "one call" is is read from /proc/TID/syscall: number and arguments, which no other thread can
 * change. Two calls in a row may look the same: then the second passes, its change comes as a request under the lock,
 * is answered ESTALE, and the kernel walks again (retry_estale), now with its record cleared. A call that can't be read
 * is taken for the one that follows.
 *
 * A folder that was told to stay as it is for a while (curtain_heat.h) isn't asked about in each call any more, so the
 * first GETATTR that comes may be the one with the lock: there nothing is held but a wish, and that only when the
 * folder wasn't told so again since the wish was noted and the kernel made to forget what it had been told.
 *
 * setxattr(2) and removexattr(2) check the object itself under its own lock, before any other request for it: nothing
 * is held in those, whatever it is.
 */
#include "curtain_caller.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/string.h"

enum { BUCKETS = 256, SWEEP_MIN = 1024, ASKED_MS = 1000 };

struct callers {
	struct caller *buckets[BUCKETS];
	size_t count, sweep_at;
};

struct callers *callers_new(void) {
	struct callers *callers = mem_new(struct callers);
	callers->sweep_at = SWEEP_MIN;
	return callers;
}

static struct caller **find(struct callers *callers, pid_t thread) {
	struct caller **at = &callers->buckets[(size_t)thread % BUCKETS];
	while (*at && (*at)->thread != thread) at = &(*at)->next;
	return at;
}

static void remove_at(struct callers *callers, struct caller **at) {
	struct caller *caller = *at;
	*at = caller->next;
	free(caller->wish.path);
	free(caller);
	callers->count--;
}

void callers_free(struct callers *callers) {
	if (!callers) return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (callers->buckets[i]) remove_at(callers, &callers->buckets[i]);
	free(callers);
}

void callers_drop(struct callers *callers, pid_t thread) {
	struct caller **at = find(callers, thread);
	if (*at) remove_at(callers, at);
}

static bool same_call(const struct call_raw *a, const struct call_raw *b) {
	return a->number == b->number && memcmp(a->arguments, b->arguments, sizeof a->arguments) == 0;
}

/* Is it in that call still? When in doubt it is. */
static bool goes_on(const struct caller *caller) {
	struct call_raw raw;
	char name[48];
	struct stat status;
	snprintf(name, sizeof name, "/proc/%d", caller->thread);
	if (stat(name, &status) < 0) return false;
	return !caller->known || call_raw_read(caller->thread, &raw) < 0 || same_call(&raw, &caller->raw);
}

static void sweep(struct callers *callers) {
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct caller **at = &callers->buckets[i]; *at;)
			if (goes_on(*at))
				at = &(*at)->next;
			else
				remove_at(callers, at);
	callers->sweep_at = 2 * callers->count > SWEEP_MIN ? 2 * callers->count : SWEEP_MIN;
}

struct caller *callers_get(struct callers *callers, pid_t thread, const struct call_raw *raw) {
	struct caller **at = find(callers, thread), *caller = *at;
	if (caller && raw && caller->known && !same_call(raw, &caller->raw)) {
		remove_at(callers, at);
		caller = NULL;
	}
	if (!caller) {
		if (callers->count >= callers->sweep_at) sweep(callers);
		at = find(callers, thread);
		caller = mem_new(struct caller);
		*caller = (struct caller){.next = *at, .thread = thread};
		*at = caller;
		callers->count++;
	} else if (!raw) {
		caller->known = false;
	}
	if (raw && !caller->known) {
		caller->known = true;
		caller->raw = *raw;
	}
	if (!raw) caller->crowded = true;
	return caller;
}

void caller_pass(struct caller *caller, uint64_t folder) {
	if (caller->passed_count < CALLER_FOLDERS)
		caller->passed[caller->passed_count++] = folder;
	else
		caller->crowded = true;
}

bool caller_is_unlocked(const struct caller *caller, const struct node *folder) {
	for (size_t i = 0; i < caller->passed_count; i++)
		if (caller->passed[i] == folder->number) return false;
	return !caller->crowded && folder->told == 0;
}

bool caller_wishes(struct caller *caller, const struct node *folder, const char *path, bool by_folder) {
	const bool again =
		caller->wish.folder || (caller->asked_ms && clock_ms(CLOCK_MONOTONIC) - caller->asked_ms < ASKED_MS);
	free(caller->wish.path);
	caller->wish = (struct caller_wish){0};
	caller->asked_ms = 0;
	caller->passed_count = 0;
	caller->crowded = false;
	if (!again)
		caller->wish = (struct caller_wish){.folder = folder->number,
						    .told = folder->told,
						    .by_folder = by_folder,
						    .path = string_copy(path)};
	return !again;
}

char *caller_ask(struct caller *caller, bool *ret_by_folder) {
	char *path = STEAL(caller->wish.path);
	*ret_by_folder = caller->wish.by_folder;
	caller->wish = (struct caller_wish){0};
	caller->asked_ms = clock_ms(CLOCK_MONOTONIC);
	return path;
}

ino_t thread_pid_namespace(pid_t thread) {
	char name[48];
	struct stat status;
	snprintf(name, sizeof name, "/proc/%d/ns/pid", thread);
	return thread > 0 && stat(name, &status) == 0 ? status.st_ino : 0;
}

bool thread_is_in(pid_t thread, ino_t pid_namespace) {
	return pid_namespace && thread_pid_namespace(thread) == pid_namespace;
}
