#include "live_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "base/path.h"
#include "mounts/portal_wire.h"
#include "steps_text.h"
#include "support/cmocka.h"

static void add_mount(struct plan *plan, enum mount_kind kind, const char *path) {
	plan->mounts = array_grow(plan->mounts, plan->count, sizeof *plan->mounts);
	bool source = kind == MOUNT_READ || kind == MOUNT_WRITE;
	plan->mounts[plan->count++] = (struct mount){.kind = kind,
						     .mode = kind == MOUNT_CURTAIN ? S_IFDIR : 0755,
						     .path = string_copy(path),
						     .source = source ? string_copy(path) : NULL};
}

static int compare(const void *a, const void *b) {
	return path_compare(((const struct mount *)a)->path, ((const struct mount *)b)->path);
}

static struct plan plan_of(const struct view *view) {
	struct plan plan = {0};
	static const enum mount_kind kinds[] = {MOUNT_HIDE_FOLDER, MOUNT_CURTAIN, MOUNT_READ, MOUNT_WRITE};
	add_mount(&plan, MOUNT_FRESH, "/home/u");
	add_mount(&plan, MOUNT_READ, "/usr");
	for (size_t i = 0; i < view->path_count; i++)
		if (!string_equal(view->paths[i].path, "/home/u"))
			add_mount(&plan, kinds[view->paths[i].mode], view->paths[i].path);
	qsort(plan.mounts, plan.count, sizeof *plan.mounts, compare);
	return plan;
}

static int make_plan(void *context, const struct view *view, bool fresh, struct plan *ret_plan, struct error *error) {
	struct live_fixture *fixture = context;
	fixture->plans++;
	fixture->fresh += fresh;
	if (fixture->plan_code < 0) return error_set(error, -fixture->plan_code, "no plan");
	*ret_plan = plan_of(view);
	return 0;
}

static void end_apply(struct live_fixture *fixture, int code, const struct portal_applied *applied) {
	portal_applied_done *done = fixture->done;
	fixture->done = NULL;
	done(fixture->argument, code, code ? "a mount failed" : "", applied);
}

void fixture_applied(struct live_fixture *fixture) {
	struct portal_applied applied = {0};
	uint32_t failed[1];
	struct portal_taken taken[64];
	assert_non_null(fixture->done);
	for (size_t i = 0; i < fixture->steps->count; i++) {
		const struct step *step = &fixture->steps->items[i];
		if (step->kind == STEP_TAKE || step->kind == STEP_RELEASE)
			taken[applied.taken_count++] =
				(struct portal_taken){.number = 1000 + step->mount.id, .id = step->mount.id};
		if (step->kind == STEP_PUT && string_equal(step->mount.path, fixture->fail_path) &&
		    applied.failed_count == 0)
			failed[applied.failed_count++] = (uint32_t)i;
	}
	applied.failed = failed;
	applied.taken = taken;
	end_apply(fixture, applied.failed_count > 0 ? ESTALE : 0, &applied);
}

void fixture_died(struct live_fixture *fixture) {
	end_apply(fixture, EPIPE, NULL);
}

static void on_soon(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	fixture_applied(argument);
}

static void on_restored(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	struct live_fixture *fixture = argument;
	fixture->restored(fixture->restored_argument, 0, "", NULL);
}

static void restore(struct live_fixture *fixture, struct plan *plan, const struct steps *under_way,
		    portal_applied_done *done, void *argument) {
	free(fixture->last_steps);
	CLEANUP_FREE char *whole = plan_text(plan), *lost = steps_text(under_way);
	fixture->last_steps = string_format("%s--\n%s", whole, lost);
	fixture->restored = done;
	fixture->restored_argument = argument;
	event_base_once(fixture->base, -1, EV_TIMEOUT, on_restored, fixture, NULL);
}

static void apply(void *context, struct plan *plan, const struct steps *steps, portal_applied_done *done,
		  void *argument) {
	struct live_fixture *fixture = context;
	if (plan) {
		restore(fixture, plan, steps, done, argument);
		return;
	}
	assert_null(fixture->done); /* one after the other */
	fixture->applies++;
	fixture->steps = steps;
	fixture->done = done;
	fixture->argument = argument;
	free(fixture->last_steps);
	fixture->last_steps = steps_text(steps);
	if (!fixture->hold) event_active(fixture->soon, EV_TIMEOUT, 1);
}

static void changed(void *context, const struct plan *plan, const struct steps *steps) {
	struct live_fixture *fixture = context;
	(void)steps;
	fixture->changed += plan != NULL;
}

static void taken(void *context, const char *path, const struct portal_taken *taken, size_t calls) {
	struct live_fixture *fixture = context;
	assert_true(taken->number >= 1000);
	strings_add(&fixture->taken, path);
	fixture->calls += calls;
}

static void failed(void *context, const char *why, bool open) {
	struct live_fixture *fixture = context;
	assert_true(why[0] != '\0');
	fixture->failed++;
	fixture->left_open += open;
}

void fixture_start(struct live_fixture *fixture, struct view *view) {
	*fixture = (struct live_fixture){.base = loop_new()};
	fixture->soon = evtimer_new(fixture->base, on_soon, fixture);
	const struct live_options options = {.base = fixture->base,
					     .plan = make_plan,
					     .apply = apply,
					     .changed = changed,
					     .taken = taken,
					     .failed = failed,
					     .context = fixture};
	struct plan plan = plan_of(view);
	CLEANUP_STEPS struct steps steps = {0};
	plan_changes(NULL, &plan, &steps);
	fixture->live = live_new(&options, view, &plan);
}

void fixture_finish(struct live_fixture *fixture) {
	live_free(fixture->live);
	event_free(fixture->soon);
	event_base_free(fixture->base);
	strings_finish(&fixture->taken);
	free(fixture->last_steps);
}

void fixture_turn(struct live_fixture *fixture) {
	for (int i = 0; i < 8; i++) event_base_loop(fixture->base, EVLOOP_NONBLOCK);
}

void fixture_turns(struct live_fixture *fixture, int ms) {
	const struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	event_base_loopexit(fixture->base, &delay);
	event_base_dispatch(fixture->base);
	fixture_turn(fixture);
}

struct view *view_of(const char *path, enum view_mode mode) {
	struct view *view = view_new();
	view->profile = string_copy("test");
	view_add_path(view, "/home/u", false, VIEW_ASK, true);
	view_add_path(view, "/home/u/notes", false, VIEW_ASK, true);
	view_add_path(view, "/home/u/other", false, VIEW_ASK, true);
	view_add_path(view, "/home/u/secret", false, VIEW_ABSENT, false);
	if (path) view_add_path(view, path, false, mode, mode == VIEW_READ);
	return view;
}
