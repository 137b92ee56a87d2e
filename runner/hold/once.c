/*
 * Theory of operation. What is allowed once is mounted as a grant is, and taken when the call has returned. That is
 * seen, by looks that soon follow one another: the thread waits in another call; or it has what it came for (a
 * descriptor of it, or runs the program); or it runs and has had the processor for ONCE_RUNS_MS, which no call needs
 * for a path. A thread that only waits for the processor may be in the call still.
 */
#include "once.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/call.h"
#include "calls/call_table.h"
#include "calls/pending.h"
#include "calls/process.h"
#include "schema/limits.h"

enum { ONCE_LOOK_FIRST_US = 100, ONCE_LOOK_MAX_US = 20 * 1000, ONCE_RUNS_MS = 20, ONCE_FILES = 1024 };

struct once {
	struct once *next;
	pid_t thread;
	struct need need;
	char *path; /* need.path */
	char *name; /* of a file, by which rules speak of it */
	struct call_raw call;
	bool alone;
	bool in_force;
	bool over;        /* its thread makes another call */
	bool ended;       /* the call has returned: the next plan is without it */
	bool leaving;     /* and that plan is made */
	int64_t since_ms; /* that it is in force */
	int64_t ran_ms;   /* its time on the processor when it was first seen running; -1: it was not */
};

struct onces {
	struct once *list;
	int timer;
	struct event *look;
	int delay_us;
	void (*over)(void *context);
	void *context;
};

static bool leads_to(const char *link, const char *path) {
	char text[PATH_MAX];
	ssize_t size = readlink(link, text, sizeof text - 1);
	if (size <= 0) return false;
	text[size] = '\0';
	return text[0] == '/' && path_is_below(text, path);
}

/* A descriptor of it, or it is the program that runs: it had neither while it was held. */
static bool has_it(const struct once *once) {
	CLEANUP_FREE char *program = string_format("/proc/%d/exe", once->thread);
	CLEANUP_FREE char *folder = string_format("/proc/%d/fd", once->thread);
	if (once->need.permission == PERMISSION_PROC_SPAWN) return leads_to(program, once->path);
	DIR *stream = mem_expect(opendir(folder));
	bool found = false;
	int looked = 0;
	for (struct dirent *entry; stream && !found && looked < ONCE_FILES && (entry = readdir(stream)); looked++) {
		CLEANUP_FREE char *link = path_join(folder, entry->d_name);
		found = leads_to(link, once->path);
	}
	if (stream) closedir(stream);
	return found;
}

static bool has_run(struct once *once) {
	const int64_t ran_ms = process_ran_ms(once->thread);
	if (once->ran_ms < 0) once->ran_ms = ran_ms;
	return ran_ms - once->ran_ms > ONCE_RUNS_MS;
}

static bool has_returned(struct once *once) {
	struct call_raw call;
	bool alone;
	if (once->over || clock_ms(CLOCK_MONOTONIC) - once->since_ms > LIMIT_ONCE_MS) return true;
	if (call_raw_read(once->thread, &call) == 0) {
		once->ran_ms = -1;
		return call.number != once->call.number ||
		       memcmp(call.arguments, once->call.arguments, sizeof call.arguments) != 0;
	}
	return pending_read(once->thread, &alone) == PENDING_GONE || has_it(once) || has_run(once);
}

/* The loop's own timers are no finer than a millisecond (epoll_wait(2)). */
static void look_later(struct onces *onces) {
	const struct itimerspec delay = {.it_value = {.tv_nsec = onces->delay_us * 1000L}};
	onces->delay_us = onces->delay_us * 2 < ONCE_LOOK_MAX_US ? onces->delay_us * 2 : ONCE_LOOK_MAX_US;
	timerfd_settime(onces->timer, 0, &delay, NULL);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct onces *onces = argument;
	uint64_t times;
	bool over = false, more = false;
	(void)what;
	if (read(fd, &times, sizeof times) < 0) return;
	for (struct once *once = onces->list; once; once = once->next) {
		if (!once->in_force || once->ended) continue;
		if (has_returned(once))
			once->ended = over = true;
		else
			more = true;
	}
	if (more) look_later(onces);
	if (over) onces->over(onces->context);
}

struct onces *onces_new(struct event_base *base, void (*over)(void *context), void *context) {
	struct onces *onces = mem_new(struct onces);
	*onces = (struct onces){.over = over, .context = context};
	onces->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	onces->look = event_new(base, onces->timer, EV_READ | EV_PERSIST, on_look, onces);
	event_add(onces->look, NULL);
	return onces;
}

void onces_add(struct onces *onces, pid_t thread, const struct need *need, const char *name, bool alone) {
	struct once *once = mem_new(struct once);
	*once = (struct once){.next = onces->list,
			      .thread = thread,
			      .ran_ms = -1,
			      .need = *need,
			      .path = string_copy(need->path),
			      .name = string_copy(name),
			      .alone = alone};
	once->need.path = once->path;
	call_raw_read(thread, &once->call); /* gone already: so will this be, soon */
	onces->list = once;
}

bool onces_any(const struct onces *onces) {
	for (const struct once *once = onces->list; once; once = once->next)
		if (!once->ended) return true;
	return false;
}

bool onces_none(const struct onces *onces) {
	return !onces->list;
}

void onces_plan(struct onces *onces) {
	for (struct once *once = onces->list; once; once = once->next) once->leaving = once->ended;
}

bool onces_gave(const struct onces *onces, pid_t thread, const struct need *need) {
	for (const struct once *once = onces->list; once; once = once->next)
		if (once->in_force && !once->over && !once->ended && once->thread == thread &&
		    once->need.permission == need->permission && string_equal(once->path, need->path))
			return true;
	return false;
}

bool onces_cover(const struct onces *onces, const char *path) {
	for (const struct once *once = onces->list; once; once = once->next)
		if (once->need.permission != PERMISSION_PROC_SPAWN && path_is_below(path, once->path)) return true;
	return false;
}

size_t onces_ending(const struct onces *onces, const char *path) {
	size_t count = 0;
	for (const struct once *once = onces->list; once; once = once->next)
		count += once->leaving && once->alone && path_is_below(path, once->path);
	return count;
}

void onces_over(struct onces *onces, pid_t thread) {
	for (struct once *once = onces->list; once; once = once->next) {
		if (once->thread != thread || !once->in_force) continue;
		once->over = true;
		onces->delay_us = 1;
		look_later(onces);
	}
}

/* Execution, and what changes names, may need several things. */
static bool needs_one(const struct call_raw *call) {
	const struct call_shape *shape = call_shape_of(call->number);
	return shape && (shape->class == CALL_OPEN || shape->class == CALL_LOOK || shape->class == CALL_CHANGE);
}

void onces_asked(struct onces *onces, pid_t thread, const char *path) {
	for (const struct once *once = onces->list; once; once = once->next)
		if (once->thread == thread && once->in_force && needs_one(&once->call) &&
		    !path_is_below(path, once->path) && !path_is_below(once->path, path))
			onces_over(onces, thread);
}

void onces_put_into(const struct onces *onces, struct view *view) {
	for (const struct once *once = onces->list; once; once = once->next) {
		if (once->ended) continue;
		if (once->need.permission == PERMISSION_PROC_SPAWN) {
			view_add_program(view, once->path, VIEW_READ);
			continue;
		}
		view_add_path(view, once->name, false,
			      once->need.permission == PERMISSION_FS_WRITE ? VIEW_WRITE : VIEW_READ, false);
		if (!string_equal(once->name, once->path)) view_resolve_path(view, once->name, once->path);
	}
}

void onces_written(const struct onces *onces, const struct view *view, struct strings *paths) {
	bool ask_write;
	for (const struct once *once = onces->list; once; once = once->next)
		if (!once->ended && once->need.permission == PERMISSION_FS_WRITE &&
		    sight_rule(view, once->name, &ask_write) < VIEW_WRITE)
			strings_add(paths, once->path);
}

static void remove_left(struct onces *onces) {
	for (struct once **at = &onces->list; *at;) {
		struct once *once = *at;
		if (!once->leaving) {
			at = &once->next;
			continue;
		}
		*at = once->next;
		free(once->path);
		free(once->name);
		free(once);
	}
}

void onces_in_force(struct onces *onces) {
	bool any = false;
	remove_left(onces);
	for (struct once *once = onces->list; once; once = once->next) {
		if (once->in_force) continue;
		once->in_force = any = true;
		once->since_ms = clock_ms(CLOCK_MONOTONIC);
	}
	if (!any) return;
	onces->delay_us = ONCE_LOOK_FIRST_US;
	look_later(onces);
}

void onces_free(struct onces *onces) {
	if (!onces) return;
	for (struct once *once = onces->list, *next; once; once = next) {
		next = once->next;
		free(once->path);
		free(once->name);
		free(once);
	}
	event_free(onces->look);
	fd_close(onces->timer);
	free(onces);
}
