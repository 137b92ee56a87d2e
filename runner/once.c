#include "once.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/string.h"
#include "call.h"
#include "pending.h"
#include "schema/limits.h"
#include "schema/pattern.h"

enum { ONCE_LOOK_FIRST_US = 200, ONCE_LOOK_MAX_US = 20 * 1000 };

struct once {
	struct once *next;
	pid_t thread;
	struct need need;
	char *path; /* need.path */
	struct call_raw call;
	bool in_force;
	int64_t since_ms; /* that it is in force */
};

struct onces {
	struct once *list;
	struct event *look;
	int delay_us;
	void (*over)(void *context);
	void *context;
};

static int64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Another call than the one that was held, or none: the thread is past it. One that runs may be in it still. */
static bool has_returned(const struct once *once) {
	struct call_raw call;
	bool alone;
	if (now_ms() - once->since_ms > LIMIT_ONCE_MS || pending_read(once->thread, &alone) == PENDING_GONE)
		return true;
	if (call_raw_read(once->thread, &call) < 0) return false;
	return call.number != once->call.number ||
	       memcmp(call.arguments, once->call.arguments, sizeof call.arguments) != 0;
}

static void look_later(struct onces *onces) {
	const struct timeval delay = {.tv_usec = onces->delay_us};
	onces->delay_us = onces->delay_us * 2 < ONCE_LOOK_MAX_US ? onces->delay_us * 2 : ONCE_LOOK_MAX_US;
	evtimer_add(onces->look, &delay);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct onces *onces = argument;
	bool over = false, more = false;
	(void)fd, (void)what;
	for (struct once **at = &onces->list; *at;) {
		struct once *once = *at;
		if (once->in_force && has_returned(once)) {
			*at = once->next;
			free(once->path);
			free(once);
			over = true;
			continue;
		}
		more |= once->in_force;
		at = &once->next;
	}
	if (more) look_later(onces);
	if (over) onces->over(onces->context);
}

struct onces *onces_new(struct event_base *base, void (*over)(void *context), void *context) {
	struct onces *onces = mem_new(struct onces);
	*onces = (struct onces){.over = over, .context = context};
	onces->look = evtimer_new(base, on_look, onces);
	return onces;
}

void onces_add(struct onces *onces, pid_t thread, const struct need *need) {
	struct once *once = mem_new(struct once);
	*once = (struct once){.next = onces->list, .thread = thread, .need = *need, .path = string_copy(need->path)};
	once->need.path = once->path;
	call_raw_read(thread, &once->call); /* gone already: so will this be, soon */
	onces->list = once;
}

bool onces_gave(const struct onces *onces, pid_t thread, const struct need *need) {
	for (const struct once *once = onces->list; once; once = once->next)
		if (once->in_force && once->thread == thread && once->need.permission == need->permission &&
		    string_equal(once->path, need->path))
			return true;
	return false;
}

static void allow_program(struct view *view, const char *path) {
	const struct permission permission = permission_of(PERMISSION_PROC_SPAWN);
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	size_t kept = 0;
	for (size_t i = 0; i < view->program_count; i++) {
		struct view_program *program = &view->programs[i];
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		bool asked = program->mode == VIEW_ASK &&
			     pattern_compile(&permission, program->pattern, &scope, &pattern, NULL) == 0 &&
			     pattern_match(pattern, path, NULL);
		if (asked)
			free(program->pattern);
		else
			view->programs[kept++] = *program;
	}
	view->program_count = kept;
}

void onces_put_into(const struct onces *onces, struct view *view) {
	for (const struct once *once = onces->list; once; once = once->next) {
		if (once->need.permission == PERMISSION_PROC_SPAWN)
			allow_program(view, once->path);
		else
			view_add_path(view, once->path, false,
				      once->need.permission == PERMISSION_FS_WRITE ? VIEW_WRITE : VIEW_READ, false);
	}
}

void onces_in_force(struct onces *onces) {
	bool any = false;
	for (struct once *once = onces->list; once; once = once->next) {
		if (once->in_force) continue;
		once->in_force = any = true;
		once->since_ms = now_ms();
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
		free(once);
	}
	event_free(onces->look);
	free(onces);
}
