/*
 * Theory of operation. The kernel lets a held thread be ended or interrupted by us alone: once a FUSE request is read,
 * or a seccomp notification received (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV), it waits uninterruptibly for the answer.
 * FUSE says so once, with INTERRUPT, and not again for a second signal; a notification never says so. So threads are
 * looked at, spread over the ticks: the list is a ring. A thread that was woken and has nothing pending was woken by
 * the freezer (or by a debugger): the machine can't sleep until it is answered.
 */
#include "looks.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "schema/limits.h"

TAILQ_HEAD(look_list, look);

struct look {
	TAILQ_ENTRY(look) entry;
	struct looks *looks;
	pid_t thread;
	bool listed; /* not told yet */
	bool woken;  /* the kernel said that something came */
	bool quiet;  /* at the last look nothing was pending */
	void (*interrupted)(void *argument, enum pending why);
	void *argument;
};

struct looks {
	struct look_list list; /* the next to be looked at first */
	size_t count;
	struct event *tick;
	void (*frozen)(void *context);
	void *context;
};

static void look_soon(struct looks *looks) {
	const struct timeval delay = {.tv_usec = LIMIT_HELD_LOOK_MS * 1000};
	if (!evtimer_pending(looks->tick, NULL)) evtimer_add(looks->tick, &delay);
}

static void look_unlist(struct look *look) {
	if (!look->listed) return;
	TAILQ_REMOVE(&look->looks->list, look, entry);
	look->looks->count--;
	look->listed = false;
}

static void look_now(struct look *look) {
	bool alone, again = look->quiet;
	enum pending pending = pending_read(look->thread, &alone);
	look->quiet = pending == PENDING_NONE;
	const bool unknown = look->quiet && again && look->woken && alone;
	if (pending < PENDING_HANDLED && !unknown) return;
	look_unlist(look);
	look->interrupted(look->argument, pending);
}

static void on_tick(evutil_socket_t fd, short what, void *argument) {
	struct looks *looks = argument;
	struct look *look = TAILQ_FIRST(&looks->list);
	(void)fd, (void)what;
	if (look && pending_freeze(look->thread)) {
		looks->frozen(looks->context);
		look = NULL;
	}
	const size_t most = looks->count < LIMIT_HELD_LOOKS ? looks->count : LIMIT_HELD_LOOKS;
	for (size_t i = 0; look && i < most; i++) {
		TAILQ_REMOVE(&looks->list, look, entry);
		TAILQ_INSERT_TAIL(&looks->list, look, entry);
		look_now(look);
		look = TAILQ_FIRST(&looks->list);
	}
	if (!TAILQ_EMPTY(&looks->list)) look_soon(looks);
}

struct looks *looks_new(struct event_base *base, void (*frozen)(void *context), void *context) {
	struct looks *looks = mem_new(struct looks);
	*looks = (struct looks){.frozen = frozen, .context = context};
	TAILQ_INIT(&looks->list);
	looks->tick = evtimer_new(base, on_tick, looks);
	if (!looks->tick) mem_exhausted();
	return looks;
}

void looks_free(struct looks *looks) {
	if (!looks) return;
	event_free(looks->tick);
	free(looks);
}

struct look *look_new(struct looks *looks, pid_t thread, void (*interrupted)(void *argument, enum pending why),
		      void *argument) {
	struct look *look = mem_new(struct look);
	*look = (struct look){
		.looks = looks, .thread = thread, .listed = true, .interrupted = interrupted, .argument = argument};
	TAILQ_INSERT_TAIL(&looks->list, look, entry);
	looks->count++;
	look_soon(looks);
	return look;
}

void look_woken(struct look *look) {
	look->woken = true;
	if (look->listed) look_now(look);
}

void look_free(struct look *look) {
	if (!look) return;
	look_unlist(look);
	free(look);
}
