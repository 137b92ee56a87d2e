/*
 * Theory of operation. `view` is the newest, `plan` what is in force. A turn makes the plan that the view (with what is
 * allowed once) asks for, and has the steps between the two carried out; while they are, nothing else is begun, and
 * views that come meanwhile are one turn. `wanted` counts what is to be in force, `applied` what is or can't be:
 * who waits (live_when) waits for a number.
 *
 * A step that fails leaves out its group (portal.h). Then the plan in force is the new one without what failed, and a
 * second turn follows with fresh facts, since what usually fails is that the host has changed. What fails again is
 * told. When the portal dies nobody knows which steps were carried out: the plan before counts, and live_restore has
 * the next portal take everything that was to be put, and put everything of that plan.
 */
#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "asked.h"
#include "once.h"
#include "plan/undone.h"
#include "schema/limits.h"

struct waiter {
	struct waiter *next;
	uint64_t serial;
	void (*applied)(void *argument);
	void *argument;
};

struct live {
	struct live_options options;
	struct view *view;  /* the newest */
	struct view *shown; /* that the plan was made from, without what is allowed once; may be the newest */
	struct plan plan;
	struct plan base; /* of the same view without what is allowed once */
	bool with_onces, has_base;
	bool back_to_base; /* the steps under way take but what was allowed once */
	struct sights *sights;
	struct onces *onces;
	struct asked *asked;
	struct waiter *waiters;
	struct event *turn, *refresh;

	uint64_t wanted, applied;
	bool fresh;  /* the next plan is made with fresh facts */
	bool second; /* the next try is the second one */
	bool hiding; /* the host has made what is to be hidden: a plan that fails leaves it open */
	bool hid;    /* the last plan was made for that */
	bool early;  /* the newest view is not to be planned for: one that has more is on its way */
	bool broken; /* the portal died while it carried out `steps`; until live_restore */

	bool busy, restoring;
	uint64_t target; /* what `steps` lead to */
	struct steps steps;
	struct plan next;
};

static void turn_soon(struct live *live) {
	event_active(live->turn, EV_TIMEOUT, 1);
}

static void on_turn(evutil_socket_t fd, short what, void *argument);

void live_refresh_now(struct live *live) {
	live->fresh = true;
	live->wanted++;
	turn_soon(live);
}

static void on_refresh(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	live_refresh_now(argument);
}

static void on_once_over(void *context) {
	struct live *live = context;
	live->wanted++;
	turn_soon(live);
}

void live_show(const struct live *live) {
	if (live->options.seen)
		live->options.seen(live->options.context, onces_none(live->onces) ? live->sights : NULL);
}

/* Before anything changes that the sights are made of. */
static void look_away(const struct live *live) {
	if (live->options.seen) live->options.seen(live->options.context, NULL);
}

static void look_again(struct live *live) {
	look_away(live);
	sights_free(live->sights);
	live->sights = sights_new(&live->plan, live->busy ? &live->next : NULL, live->shown);
	live_show(live);
}

struct live *live_new(const struct live_options *options, struct view *view, struct plan *plan) {
	struct live *live = mem_new(struct live);
	*live = (struct live){.options = *options, .view = view, .plan = *plan};
	*plan = (struct plan){0};
	live->asked = asked_new();
	live->onces = onces_new(options->base, on_once_over, live);
	live->turn = evtimer_new(options->base, on_turn, live);
	live->refresh = evtimer_new(options->base, on_refresh, live);
	live->shown = live->view;
	look_again(live);
	return live;
}

void live_free(struct live *live) {
	if (!live) return;
	look_away(live);
	for (struct waiter *waiter = live->waiters, *next; waiter; waiter = next) {
		next = waiter->next;
		free(waiter);
	}
	sights_free(live->sights);
	onces_free(live->onces);
	asked_free(live->asked);
	event_free(live->turn);
	event_free(live->refresh);
	if (live->shown != live->view) view_free(live->shown);
	view_free(live->view);
	steps_finish(&live->steps);
	plan_finish(&live->next);
	plan_finish(&live->base);
	plan_finish(&live->plan);
	free(live);
}

void live_finish(struct live *live, struct plan *ret_plan) {
	*ret_plan = live->plan;
	live->plan = (struct plan){0};
	live_free(live);
}

/* What the steps have led to */

/* The new plan is in force, but for what failed. */
static void settle_plan(struct live *live, const struct portal_applied *applied) {
	plan_undo(&live->next, &live->plan, &live->steps, applied->failed, applied->failed_count);
	plan_finish(&live->plan);
	live->plan = live->next;
	live->next = (struct plan){0};
}

/* Would the mount hide a part of a tree of the host's, and is the part there? */
static bool would_hide(const struct live *live, const struct mount *mount) {
	const struct mount *on = plan_find(&live->plan, mount->on);
	struct stat status;
	return mount_hides(mount) && on && mount_shows(on) && lstat(mount->path, &status) == 0;
}

/* Is something still there that was to go? */
static bool left_open(const struct live *live, const struct portal_applied *applied) {
	const struct steps *steps = &live->steps;
	for (size_t i = 0; i < applied->failed_count; i++) {
		const struct step *step = applied->failed[i] < steps->count ? &steps->items[applied->failed[i]] : NULL;
		if (!step || step->kind != STEP_PUT || would_hide(live, &step->mount)) return true;
	}
	return false;
}

/* Before the plan that knew it is replaced. What a rule allows and no view can name is there for each call that asks,
 * and what was opened by one stays its. */
static void tell_taken(const struct live *live, const struct portal_applied *applied) {
	for (size_t i = 0; i < applied->taken_count; i++) {
		const struct portal_taken *taken = &applied->taken[i];
		const struct mount *mount = plan_find(&live->plan, taken->id),
				   *next = plan_find(&live->next, taken->id);
		const size_t calls = mount ? onces_ending(live->onces, mount->path) : 0;
		if (!mount || (live->back_to_base && calls == 0 && !(next && next->exposed))) continue;
		live->options.taken(live->options.context, mount->path, taken, calls);
	}
}

/* Whatever is known now has been tried. */
static void arrive(struct live *live) {
	live->applied = live->target;
	live->second = false;
	onces_in_force(live->onces);
}

static struct waiter *waiter_take(struct live *live) {
	for (struct waiter **at = &live->waiters; *at; at = &(*at)->next) {
		if ((*at)->serial > live->applied) continue;
		struct waiter *waiter = *at;
		*at = waiter->next;
		return waiter;
	}
	return NULL;
}

static void tell_waiters(struct live *live) {
	for (struct waiter *waiter; (waiter = waiter_take(live));) {
		waiter->applied(waiter->argument);
		free(waiter);
	}
}

/* Who waits, a call that is held, comes before the rest. */
static void finish_turn(struct live *live) {
	live->busy = false;
	look_again(live);
	tell_waiters(live);
	live->options.changed(live->options.context, &live->plan, &live->steps);
	steps_finish(&live->steps);
	turn_soon(live);
}

/* Which of the steps were carried out nobody knows. */
static void on_lost(struct live *live) {
	live->broken = true;
	live->busy = false;
	look_again(live);
	plan_finish(&live->next);
}

/* None of the steps was carried out. */
static void on_refused(struct live *live, const char *text) {
	bool open = false;
	for (size_t i = 0; i < live->steps.count; i++) open |= live->steps.items[i].kind != STEP_PUT;
	plan_finish(&live->next);
	live->options.failed(live->options.context, text, open);
	arrive(live);
	finish_turn(live);
}

static void on_applied(void *argument, int code, const char *text, const struct portal_applied *applied) {
	struct live *live = argument;
	look_away(live);
	if (!applied) {
		if (code == EPIPE)
			on_lost(live);
		else
			on_refused(live, text);
		return;
	}
	tell_taken(live, applied);
	settle_plan(live, applied);
	if (code == 0) {
		arrive(live);
	} else if (!live->second) {
		live->fresh = live->second = true; /* and it is wanted still */
		live->hiding |= live->hid;
	} else {
		live->options.failed(live->options.context, text, left_open(live, applied));
		arrive(live);
	}
	finish_turn(live);
}

/* Turns */

static void drop_base(struct live *live) {
	plan_finish(&live->base);
	live->has_base = false;
}

static void carry_out(struct live *live) {
	live->busy = true;
	look_again(live);
	live->options.changed(live->options.context, NULL, &live->steps);
	live->options.apply(live->options.context, NULL, &live->steps, on_applied, live);
}

static bool has_program(const struct view *view, const struct view_program *program) {
	for (size_t i = 0; i < view->program_count; i++)
		if (view->programs[i].mode == program->mode &&
		    string_equal(view->programs[i].pattern, program->pattern))
			return true;
	return false;
}

/* Does the newer view give less than the other, by name? */
static bool narrows(const struct view *from, const struct view *to) {
	bool ask_write;
	for (size_t i = 0; i < to->program_count; i++)
		if (to->programs[i].mode != VIEW_READ && !has_program(from, &to->programs[i])) return true;
	for (size_t i = 0; i < to->path_count; i++)
		if (!to->paths[i].pattern && sight_rule(from, to->paths[i].path, &ask_write) > to->paths[i].mode)
			return true;
	for (size_t i = 0; i < from->path_count; i++)
		if (!from->paths[i].pattern && sight_rule(to, from->paths[i].path, &ask_write) < from->paths[i].mode)
			return true;
	return false;
}

/* What is allowed once goes as soon as its call has returned: then the plan before it is there already. */
static void keep_base(struct live *live, bool with_onces) {
	if (live->shown != live->view || live->fresh) drop_base(live);
	if (!with_onces || live->with_onces || live->shown != live->view) return;
	drop_base(live);
	plan_copy(&live->plan, &live->base);
	live->has_base = true;
}

static int plan_next(struct live *live, struct view *with_onces, struct error *error) {
	const bool fresh = live->fresh;
	keep_base(live, with_onces != NULL);
	live->fresh = false;
	live->with_onces = with_onces != NULL;
	live->back_to_base = !with_onces && live->has_base;
	if (live->back_to_base) {
		live->next = live->base;
		live->base = (struct plan){0};
		live->has_base = false;
		return 0;
	}
	if (with_onces) onces_put_into(live->onces, with_onces);
	int r = live->options.plan(live->options.context, with_onces ? with_onces : live->view, fresh, &live->next,
				   error);
	if (r == 0 && with_onces) onces_written(live->onces, live->view, &live->next.once);
	return r;
}

static bool is_hosts(const struct mount *mount) {
	return (mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE) && mount->inode != 0;
}

/* In a tree of the host the kernel takes a mount away with what it was mounted on, and it is put back with what is
 * there then (masks.h). */
static bool is_put_back(const struct plan *plan, const struct mount *mount) {
	const struct mount *on = plan_find(plan, mount->on);
	return on && mount_shows(on) && !string_equal(on->path, mount->path);
}

/* What lies in such a tree is not compared with what was mounted there before: it is put back by what is there now. */
static void leave_to_masks(struct live *live) {
	for (size_t i = 0; i < live->next.count; i++) {
		struct mount *mount = &live->next.mounts[i];
		const struct mount *now = is_hosts(mount) ? plan_at(&live->plan, mount->path) : NULL;
		if (!now || !is_hosts(now) || (now->device == mount->device && now->inode == mount->inode)) continue;
		if (!is_put_back(&live->plan, now)) continue;
		mount->device = 0;
		mount->inode = 0;
	}
}

static void refuse_swapped(struct live *live) {
	const char *path = asked_check(live->asked, &live->next);
	if (!path) return;
	CLEANUP_FREE char *why =
		string_format("%s is not what it was when it was asked for; the next run has it", path);
	live->options.failed(live->options.context, why, false);
}

static void make_plan(struct live *live) {
	struct error error = ERROR_NONE;
	CLEANUP_VIEW struct view *with_onces = onces_any(live->onces) ? view_copy(live->view) : NULL;
	onces_plan(live->onces);
	live->target = live->wanted;
	const bool fresh = live->fresh;
	int r = plan_next(live, with_onces, &error);
	if (r == -EAGAIN) {
		live->early = true;
		live->fresh = fresh;
		return;
	}
	if (r < 0) {
		/* the broker is gone: what is there stays, and the next one sends a view */
		bool gone = r == -ECONNRESET || r == -EPIPE;
		live->options.failed(live->options.context, error.message,
				     !gone && (live->hiding || narrows(live->shown, live->view)));
		live->fresh |= live->hiding;
		arrive(live);
		turn_soon(live);
		return;
	}
	live->hid = live->hiding;
	live->hiding = false;
	leave_to_masks(live);
	refuse_swapped(live);
	look_away(live);
	if (live->shown != live->view) view_free(live->shown);
	live->shown = live->view;
	plan_changes(&live->plan, &live->next, &live->steps);
	if (live->steps.count > 0) {
		carry_out(live);
		return;
	}
	static const struct portal_applied all = {0};
	settle_plan(live, &all);
	arrive(live);
	finish_turn(live);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct live *live = argument;
	(void)fd, (void)what;
	if (live->busy || live->broken || live->early) return;
	tell_waiters(live);
	if (live->applied < live->wanted) make_plan(live);
}

static void on_restored(void *argument, int code, const char *text, const struct portal_applied *applied) {
	struct live *live = argument;
	(void)text, (void)applied;
	live->restoring = false;
	if (code == EPIPE) return; /* the next portal's turn */
	live->fresh |= code != 0;
	live->wanted++;
	live->broken = false;
	finish_turn(live);
}

void live_restore(struct live *live) {
	if (live->restoring) return;
	live->broken = live->restoring = true;
	look_away(live); /* what is mounted anew may cover where somebody is */
	live_show(live);
	live->options.changed(live->options.context, NULL, &live->steps);
	live->options.apply(live->options.context, &live->plan, &live->steps, on_restored, live);
}

/* What is asked of it */

struct sight live_sight(const struct live *live, const char *path) {
	struct sight sight = sights_at(live->sights, path);
	/* Who may use what is there once has been told so. */
	if (onces_cover(live->onces, path)) sight.mode = sights_rule(live->sights, live->view, path, &sight.ask_write);
	return sight;
}

const char *live_mask_below(const struct live *live, const char *folder) {
	return sights_mask_below(live->sights, folder);
}

char *live_resolve(const struct live *live, const char *path, bool last) {
	return sights_resolve(live->sights, path, last);
}

char *live_name(const struct live *live, const struct need *need, const char *used) {
	return sights_name(live->sights, need, used);
}

bool live_gives(const struct live *live, const struct need *need) {
	return !live->busy && !live->broken && sights_give(live->sights, need);
}

bool live_rules_give(const struct live *live, const struct need *need) {
	bool ask_write;
	return sight_rule(live->view, need->path, &ask_write) >=
	       (need->permission == PERMISSION_FS_WRITE ? VIEW_WRITE : VIEW_READ);
}

const struct plan *live_plan(const struct live *live) {
	return &live->plan;
}

const struct view *live_view(const struct live *live) {
	return live->view;
}

void live_update(struct live *live, struct view *view) {
	if (live->shown != live->view) view_free(live->view);
	live->view = view;
	live->early = false;
	live->wanted++;
	turn_soon(live);
}

void live_judge_again(struct live *live, bool less) {
	const bool early = live->early;
	live->hiding |= less;
	live_update(live, view_copy(live->view));
	live->early = early;
}

void live_refresh(struct live *live) {
	const struct timeval delay = {.tv_usec = LIMIT_REPLAN_MS * 1000};
	if (!evtimer_pending(live->refresh, NULL)) evtimer_add(live->refresh, &delay);
}

void live_hide(struct live *live) {
	live->hiding = true;
	live_refresh(live);
}

bool live_hid(const struct live *live) {
	return live->hid;
}

void live_when(struct live *live, void (*applied)(void *argument), void *argument) {
	struct waiter *waiter = mem_new(struct waiter), **end = &live->waiters;
	*waiter = (struct waiter){.serial = live->wanted, .applied = applied, .argument = argument};
	while (*end) end = &(*end)->next;
	*end = waiter;
	turn_soon(live);
}

bool live_gave_once(const struct live *live, pid_t thread, const struct need *need) {
	return onces_gave(live->onces, thread, need);
}

bool live_is_once(const struct live *live, const char *path) {
	return onces_cover(live->onces, path);
}

void live_once_over(struct live *live, pid_t thread) {
	onces_over(live->onces, thread);
}

void live_once_asked(struct live *live, pid_t thread, const char *path) {
	onces_asked(live->onces, thread, path);
}

void live_note(struct live *live, const char *path) {
	asked_note(live->asked, path);
}

bool live_noted_missing(const struct live *live, const char *path) {
	return asked_is_missing(live->asked, path);
}

bool live_noted_folder(const struct live *live, const char *path) {
	return asked_is_folder(live->asked, path);
}

void live_forget(struct live *live, const char *path) {
	asked_forget(live->asked, path);
}

void live_once(struct live *live, pid_t thread, const struct need *need, bool alone) {
	CLEANUP_FREE char *name = sights_name(live->sights, need, NULL);
	onces_add(live->onces, thread, need, name, alone);
	live->wanted++;
	turn_soon(live);
}
