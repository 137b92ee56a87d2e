/*
 * Theory of operation. live (live.h) turns views into steps, and this is what it turns them with: the scene makes its
 * plans, the portal carries out its steps; what the host changes has a file of its own (host_changes.h). Both doorbells
 * ask live what is seen and hold their calls in held (answers.h), which asks the broker (held_broker.h). All on one
 * loop; nothing here waits but keeper_await, before anything of the tool's runs.
 *
 * A portal that died is started again: it joins, takes the curtain's spare mount over, steps in, and live has it made
 * whole.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "calls/promptly.h"
#include "calls/regular.h"
#include "curtain/curtain.h"
#include "doorbells.h"
#include "held.h"
#include "held_broker.h"
#include "host_changes.h"
#include "live.h"
#include "made.h"
#include "plan/lead.h"
#include "sandbox/bwrap.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "traps.h"
#include "withdrawn.h"

enum { KEEPER_COLUMNS = 200 };

struct keeper {
	struct keeper_options options;
	struct session *session;
	struct portal *portal;
	struct live *live;
	struct held *held;
	struct traps *traps;
	struct withdrawn *withdrawn;
	struct host_changes *changes;
	struct answers answers;
	struct held_broker broker;
	struct promptly *promptly;
	pid_t init;
	struct made *made;
	struct strings allowed; /* of what traps ask about: traps.h */
	struct strings told;    /* programs that the user knows are shut */
	int device, spare;      /* of the curtain */
	struct error failed;    /* in a callback while it is built */
	unsigned wanted;
};

static void fail(struct keeper *keeper) {
	keeper->options.failed(keeper->options.context);
}

/* What live asks */

static int on_plan(void *context, const struct view *view, bool fresh, struct plan *ret_plan, struct error *error) {
	struct keeper *keeper = context;
	return scene_replan(keeper->options.scene, keeper->session, view, fresh, ret_plan, error);
}

static void on_apply(void *context, struct plan *plan, const struct steps *steps, portal_applied_done *done,
		     void *argument) {
	struct keeper *keeper = context;
	if (plan)
		portal_apply_again(keeper->portal, plan, steps, done, argument);
	else
		portal_apply(keeper->portal, steps, done, argument);
}

static void on_changed(void *context, const struct plan *plan, const struct steps *steps) {
	struct keeper *keeper = context;
	if (plan)
		withdrawn_follow(keeper->withdrawn, plan, steps);
	else if (keeper->withdrawn)
		withdrawn_foresee(keeper->withdrawn, steps);
	host_changes_follow(keeper->changes, plan);
	if (plan) host_changes_put(keeper->changes, plan, steps);
	if (plan && keeper->made) made_follow(keeper->made, plan);
}

static void on_seen(void *context, const struct sights *sights) {
	const struct keeper *keeper = context;
	if (keeper->traps) answers_show(keeper->traps, sights);
}

static void on_taken(void *context, const char *path, const struct portal_taken *taken, size_t calls) {
	struct keeper *keeper = context;
	withdrawn_add(keeper->withdrawn, path, taken, calls);
}

static void on_not_in_force(void *context, const char *why, bool open) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *shown = text_visible_cut(why, KEEPER_COLUMNS);
	session_repair(keeper->session, NULL, NULL, open ? "not in force, so the sandbox was ended" : "not in force",
		       why);
	if (!open) {
		log_warning("a part of what is allowed can't be shown in the sandbox: %s", shown);
		return;
	}
	log_error("what is not allowed any more can't be taken from the sandbox: %s: it is ended", shown);
	fail(keeper);
}

/* The portal */

static void on_portal_end(void *argument);

static int start_portal(struct keeper *keeper, struct error *error) {
	int r = portal_start(keeper->options.base, fd_steal(&keeper->spare), &keeper->portal, error);
	if (r == 0) portal_on_end(keeper->portal, on_portal_end, keeper);
	return r;
}

static void on_spare(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct keeper *keeper = argument;
	if (code == 0 && fd_count == 1)
		keeper->spare = fds[0];
	else if (code != EPIPE)
		log_debug("the next portal will have no curtain: %s", text);
}

static void on_portal_end(void *argument) {
	struct keeper *keeper = argument;
	struct error error = ERROR_NONE;
	if (!host_changes_is_guarding(keeper->changes)) return; /* while it starts: portal_wait has the error */
	const bool has_spare = keeper->spare >= 0;
	portal_free(keeper->portal);
	keeper->portal = NULL;
	if (start_portal(keeper, &error) < 0) {
		log_error("the portal ended and can't be started again: %s", error.message);
		session_repair(keeper->session, NULL, NULL,
			       "the portal ended and can't be started again, so the sandbox was ended", error.message);
		fail(keeper);
		return;
	}
	portal_join(keeper->portal, keeper->init, NULL, NULL);
	if (has_spare) portal_adopt(keeper->portal, on_spare, keeper);
	if (keeper->answers.curtain) curtain_set_portal(keeper->answers.curtain, portal_pid(keeper->portal));
	portal_enter(keeper->portal, true, NULL, NULL);
	live_restore(keeper->live);
}

int keeper_new(const struct keeper_options *options, struct keeper **ret_keeper, struct error *error) {
	CLEANUP_KEEPER struct keeper *keeper = mem_new(struct keeper);
	*keeper = (struct keeper){.options = *options, .promptly = promptly_new(), .device = -1, .spare = -1};
	int r = start_portal(keeper, error);
	if (r < 0) return r;
	*ret_keeper = STEAL(keeper);
	return 0;
}

/* The curtain */

static void on_curtain(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct keeper *keeper = argument;
	if (code != 0 || fd_count != 2) {
		doorbells_say_no_curtain(text);
		return;
	}
	keeper->device = fds[0];
	keeper->spare = fds[1];
}

/* What a user namespace calls us: a line "INSIDE OUTSIDE COUNT" of its map (user_namespaces(7)). */
static unsigned mapped(pid_t pid, const char *map, unsigned outside) {
	CLEANUP_FREE char *path = string_format("/proc/%d/%s", pid, map), *text = NULL;
	if (regular_read(path, 4096, &text, NULL, NULL) < 0) return outside;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		char *end;
		unsigned long inside = strtoul(line, &end, 10), first = strtoul(end, &end, 10);
		unsigned long count = strtoul(end, NULL, 10); /* 0 where a number lacks */
		if (outside >= first && outside - first < count) return (unsigned)(inside + (outside - first));
	}
	return outside;
}

static int serve_curtain(struct keeper *keeper, struct error *error) {
	pid_t portal = portal_pid(keeper->portal);
	struct curtain_options options = {.base = keeper->options.base,
					  .portal = portal,
					  .init = keeper->init,
					  .uid = mapped(portal, "uid_map", getuid()),
					  .gid = mapped(portal, "gid_map", getgid()),
					  .promptly = keeper->promptly};
	answers_for_curtain(&keeper->answers, &options);
	return curtain_new(fd_steal(&keeper->device), &options, &keeper->answers.curtain, error);
}

/* What was planned as nodes is trapped instead. */
static int go_without(struct keeper *keeper, struct error *error) {
	struct scene *scene = keeper->options.scene;
	scene->curtain = false;
	doorbells_trap(scene);
	plan_finish(&scene->plan);
	return scene_replan(scene, keeper->session, scene->view, true, &scene->plan, error);
}

static void on_joined(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct keeper *keeper = argument;
	(void)fds, (void)fd_count;
	if (code != 0) error_set(&keeper->failed, code, "%s", text);
}

/* Whether there is one is known when this returns. */
static int join(struct keeper *keeper, struct steps *steps, struct error *error) {
	struct scene *scene = keeper->options.scene;
	portal_join(keeper->portal, keeper->init, on_joined, keeper);
	if (scene->curtain) portal_curtain(keeper->portal, on_curtain, keeper);
	plan_changes(NULL, &scene->plan, steps); /* meanwhile */
	portal_wait(keeper->portal, NULL);
	if (keeper->failed.code != 0) return error_set(error, keeper->failed.code, "%s", keeper->failed.message);
	if (!scene->curtain || keeper->device >= 0) return 0;
	int r = go_without(keeper, error);
	if (r < 0) return r;
	steps_finish(steps);
	plan_changes(NULL, &scene->plan, steps);
	return 0;
}

/* Building */

static void make_held(struct keeper *keeper) {
	struct held_options held = {.base = keeper->options.base, .live = keeper->live};
	keeper->broker = (struct held_broker){.session = keeper->session,
					      .live = keeper->live,
					      .scene = keeper->options.scene,
					      .promptly = keeper->promptly,
					      .denied = keeper->options.denied,
					      .init = keeper->init};
	held_broker_answer(&keeper->broker, &held);
	keeper->held = held_new(&held);
	keeper->answers = (struct answers){.live = keeper->live,
					   .held = keeper->held,
					   .session = keeper->session,
					   .withdrawn = keeper->withdrawn,
					   .traps_opens = keeper->wanted & TRAPS_OPENS};
}

static void make_live(struct keeper *keeper) {
	struct scene *scene = keeper->options.scene;
	const struct live_options live = {.base = keeper->options.base,
					  .plan = on_plan,
					  .apply = on_apply,
					  .changed = on_changed,
					  .seen = on_seen,
					  .taken = on_taken,
					  .failed = on_not_in_force,
					  .context = keeper};
	keeper->live = live_new(&live, view_copy(scene->view), &scene->plan);
	const struct withdrawn_options withdrawn = {
		.base = keeper->options.base, .live = keeper->live, .session = keeper->session, .init = keeper->init};
	keeper->withdrawn = withdrawn_new(&withdrawn);
	const struct host_changes_options changes = {.base = keeper->options.base,
						     .scene = scene,
						     .live = keeper->live,
						     .withdrawn = keeper->withdrawn,
						     .allowed = &keeper->allowed,
						     .holds = keeper->wanted & TRAPS_WRITES,
						     .session = keeper->session,
						     .portal = &keeper->portal,
						     .init = keeper->init,
						     .failed = keeper->options.failed,
						     .context = keeper->options.context};
	keeper->changes = host_changes_new(&changes);
	const struct made_options made = {
		.finds = &scene->finds, .session = keeper->session, .allowed = &keeper->allowed};
	keeper->made = made_new(&made);
	made_follow(keeper->made, live_plan(keeper->live));
	make_held(keeper);
}

int keeper_build(struct keeper *keeper, struct session *session, pid_t init, void (*doors)(void *context),
		 struct error *error) {
	struct scene *scene = keeper->options.scene;
	CLEANUP_STEPS struct steps steps = {0};
	keeper->session = session;
	keeper->init = init;
	int r = join(keeper, &steps, error);
	if (r < 0) return r;
	const bool fresh_root = bwrap_root_of(&scene->plan) == BWRAP_ROOT_FRESH;
	portal_enter(keeper->portal, false, NULL, NULL);
	portal_apply(keeper->portal, &steps, NULL, NULL);
	doors(keeper->options.context);
	if (fresh_root) portal_seal(keeper->portal, "/", NULL, NULL);
	portal_seal(keeper->portal, "/run", NULL, NULL);
	keeper->wanted = doorbells_traps(scene, keeper->device >= 0);
	/* while the portal works; it waits where it comes to a node, until portal_wait serves it */
	make_live(keeper);
	return keeper->device >= 0 ? serve_curtain(keeper, error) : 0;
}

int keeper_await(struct keeper *keeper, struct error *error) {
	int r = portal_wait(keeper->portal, error);
	return r < 0 ? r : host_changes_guard(keeper->changes, error);
}

struct live *keeper_live(const struct keeper *keeper) {
	return keeper->live;
}

struct portal *const *keeper_portal(const struct keeper *keeper) {
	return &keeper->portal;
}

unsigned keeper_traps(const struct keeper *keeper) {
	return keeper->wanted;
}

int keeper_listen(struct keeper *keeper, int listener, struct network *network, struct error *error) {
	const dev_t curtain = keeper->answers.curtain ? lead_device(keeper->spare) : 0;
	if (!keeper->traps) network_listen(network, listener, curtain);
	struct traps_options options = {.base = keeper->options.base,
					.listener = listener,
					.wanted = doorbells_judged(live_view(keeper->live), keeper->wanted),
					.curtain = curtain,
					.allowed = &keeper->allowed,
					.network = network_takes(network) ? network : NULL};
	answers_for_traps(&keeper->answers, &options);
	if (keeper->traps) {
		fd_close(listener);
		return error_set(error, EPROTO, "sbx-init handed out a second listener");
	}
	int r = traps_new(&options, &keeper->traps, error);
	if (r == 0) live_show(keeper->live);
	return r;
}

/* The broker */

static void tell_shut(struct keeper *keeper, const struct view *view) {
	static const char why[] = "a rule asks about this program now, and in this run nobody can be asked: it is not "
				  "started until the next run";
	CLEANUP_STRINGS struct strings programs = {0};
	doorbells_lacking(keeper->options.scene, view, &keeper->told, &programs);
	for (size_t i = 0; i < programs.count; i++) {
		CLEANUP_FREE char *shown = text_visible_cut(programs.items[i], KEEPER_COLUMNS);
		log_warning("%s: %s", shown, why);
		session_repair(keeper->session, "proc:spawn", programs.items[i], "shut", why);
	}
}

void keeper_view(struct keeper *keeper, struct view *view) {
	if (keeper->traps) traps_want(keeper->traps, doorbells_judged(view, keeper->wanted));
	tell_shut(keeper, view);
	given_judge_again(&keeper->options.scene->finds.given);
	live_update(keeper->live, view);
}

void keeper_ended(struct keeper *keeper, const struct session_ended *ended) {
	/* What patterns give and take has no entry in the view that would be another. */
	const bool ends = !ended->gives && (ended->count > 0 || ended->settle > 0);
	given_judge_again(&keeper->options.scene->finds.given);
	if (finds_are_judged(&keeper->options.scene->finds)) live_judge_again(keeper->live, ends);
	withdrawn_end(keeper->withdrawn, ended);
}

void keeper_sleep(struct keeper *keeper, int64_t settle) {
	static const struct holders none = {0};
	held_settle_all(keeper->held, HELD_INTERRUPTED);
	held_flush(keeper->held);
	if (settle > 0) session_settled(keeper->session, settle, &none, &none);
}

/* End */

void keeper_stop(struct keeper *keeper) {
	if (!keeper) return;
	curtain_free(keeper->answers.curtain);
	keeper->answers.curtain = NULL;
	fd_close_p(&keeper->spare);
	host_changes_stop(keeper->changes);
	if (keeper->portal) portal_on_end(keeper->portal, NULL, NULL);
}

void keeper_made(const struct keeper *keeper, struct keeper_made *ret_made) {
	const struct layout_judge judge = session_judge(keeper->session);
	*ret_made = (struct keeper_made){.allowed = &keeper->allowed, .told = made_told(keeper->made)};
	made_find(keeper->made, live_view(keeper->live), live_plan(keeper->live), &judge, &ret_made->paths);
}

void keeper_gone(struct keeper *keeper) {
	if (keeper && keeper->withdrawn) withdrawn_gone(keeper->withdrawn);
}

void keeper_free(struct keeper *keeper) {
	if (!keeper) return;
	keeper_stop(keeper);
	portal_leave(keeper->portal); /* the last that holds the sandbox's mounts: the kernel takes them apart in it */
	traps_free(STEAL(keeper->traps));
	held_free(keeper->held);
	host_changes_free(keeper->changes);
	if (keeper->live) live_finish(keeper->live, &keeper->options.scene->plan);
	withdrawn_free(keeper->withdrawn);
	promptly_free(keeper->promptly);
	made_free(keeper->made);
	strings_finish(&keeper->allowed);
	strings_finish(&keeper->told);
	fd_close(keeper->device);
	free(keeper);
}
