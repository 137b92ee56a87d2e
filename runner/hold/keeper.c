/*
 * Theory of operation. live (live.h) turns views into steps, and this is what it turns them with: the scene makes its
 * plans, the portal carries out its steps, masks put back what the host tears off, in between. Both doorbells ask live
 * what is seen and hold their calls in held, which asks the broker. All on one loop; nothing here waits but
 * keeper_await, before anything of the tool's runs.
 *
 * A portal that died is started again: it joins, takes the curtain's spare mount over, steps in, and live has it made
 * whole.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "calls/call.h"
#include "calls/process.h"
#include "calls/promptly.h"
#include "calls/regular.h"
#include "curtain/curtain.h"
#include "doorbells.h"
#include "held.h"
#include "live.h"
#include "made.h"
#include "mounts/arrivals.h"
#include "mounts/masks.h"
#include "mounts/watched.h"
#include "plan/lead.h"
#include "sandbox/bwrap.h"
#include "sandbox/datagrams.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "traps.h"
#include "walking.h"
#include "withdrawn.h"

enum { KEEPER_COLUMNS = 200 };

struct keeper {
	struct keeper_options options;
	struct session *session;
	struct portal *portal;
	struct masks *masks;
	struct live *live;
	struct held *held;
	struct curtain *curtain;
	struct traps *traps;
	struct watched *watched;
	struct arrivals *arrivals;
	struct datagrams *datagrams;
	struct withdrawn *withdrawn;
	struct promptly *promptly;
	pid_t init;
	struct strings missing; /* as the first plan has it */
	struct strings told;    /* programs that the user knows are shut */
	int device, spare;      /* of the curtain */
	struct error failed;    /* in a callback while it is built */
	unsigned wanted;
	bool full; /* nothing more is given by patterns, and that was said */
};

static void fail(struct keeper *keeper) {
	keeper->options.failed(keeper->options.context);
}

/* What the doorbells ask */

static struct sight on_sight(void *context, const char *path) {
	struct keeper *keeper = context;
	return live_sight(keeper->live, path);
}

static uint64_t on_hold(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	struct keeper *keeper = context;
	live_once_asked(keeper->live, thread, need->path);
	return held_add(keeper->held, thread, need, done, argument);
}

/* What is there once is there for the call that it was allowed to. */
static struct sight on_trap_sight(void *context, const char *path) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *resolved = live_resolve(keeper->live, path, false); /* past what a link leads to */
	struct sight sight = live_sight(keeper->live, resolved);
	bool once = !(keeper->wanted & TRAPS_OPENS) && live_is_once(keeper->live, resolved);
	if (once && sight.mode == VIEW_ASK) sight.mode = VIEW_READ;
	sight.ask_write |= once;
	return sight;
}

static void on_called(void *context, pid_t thread) {
	struct keeper *keeper = context;
	live_once_over(keeper->live, thread);
}

static uint64_t on_trap(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	struct keeper *keeper = context;
	/* /bin/curl is asked about by the name that a rule and the curtain know */
	const bool last = need->permission == PERMISSION_PROC_SPAWN;
	CLEANUP_FREE char *path = live_resolve(keeper->live, need->path, last);
	struct need resolved = *need;
	resolved.path = path;
	uint64_t ticket = held_add(keeper->held, thread, &resolved, done, argument);
	held_watch(keeper->held, ticket);
	return ticket;
}

static void on_interrupted(void *context, uint64_t ticket) {
	struct keeper *keeper = context;
	held_interrupted(keeper->held, ticket);
}

static void on_drop(void *context, uint64_t ticket) {
	struct keeper *keeper = context;
	held_drop(keeper->held, ticket);
}

static bool on_behind(void *context) {
	const struct keeper *keeper = context;
	/* The order counts: a message is unread, or being read, until keeper_ended has been called for it. */
	return session_is_behind(keeper->session) || withdrawn_is_awaited(keeper->withdrawn);
}

static void on_carried_out(void *context, void (*done)(void *argument), void *argument) {
	struct keeper *keeper = context;
	withdrawn_when(keeper->withdrawn, done, argument);
}

static void on_curtain_ended(void *context) {
	struct keeper *keeper = context;
	log_warning("the curtain's connection was ended from outside: what is hidden can't be asked for any more");
	curtain_free(keeper->curtain);
	keeper->curtain = NULL;
}

/* What held asks */

static bool is_fresh(const struct plan *plan, const char *folder) {
	for (size_t i = 0; i < plan->count; i++)
		if (plan->mounts[i].kind == MOUNT_FRESH && string_equal(plan->mounts[i].path, folder)) return true;
	return false;
}

/* Of the sandbox's own folders ($HOME) the time of the last listing is known; above one there is nothing of the
 * curtain's to walk through, which would wait for us. */
static bool on_listed(void *context, const char *folder, int64_t within_ms) {
	const struct keeper *keeper = context;
	struct stat status;
	struct timespec now;
	CLEANUP_FREE char *path = string_format("/proc/%d/root%s", keeper->init, folder);
	if (!is_fresh(live_plan(keeper->live), folder) || fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
		return false;
	const struct timespec listed = status.st_atim;
	const int64_t age_ms = (now.tv_sec - listed.tv_sec) * 1000 + (now.tv_nsec - listed.tv_nsec) / 1000000;
	return S_ISDIR(status.st_mode) && age_ms <= within_ms;
}

/* By which rules know it; of a program with several such names the one that the call has, or the command. */
static char *name_of(const struct keeper *keeper, pid_t thread, const struct need *need) {
	CLEANUP_FREE char *used = NULL, *started = NULL;
	if (need->permission == PERMISSION_PROC_SPAWN && thread > 0) started = call_started(keeper->promptly, thread);
	if (started) used = live_resolve(keeper->live, started, false);
	return live_name(keeper->live, need, used ? used : keeper->options.scene->command.path);
}

static uint64_t on_check(void *context, pid_t thread, const struct need *need,
			 void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *process = NULL, *walk = NULL, *path = name_of(keeper, thread, need);
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(NULL, thread, keeper->init, &process, &parents);
	const struct walking_world world = {.promptly = keeper->promptly, .context = keeper, .listed = on_listed};
	if (need->permission == PERMISSION_FS_READ) walk = walking_tree(thread, need->path, &world);
	const bool linked = need->permission == PERMISSION_PROC_SPAWN && !string_equal(path, need->path);
	struct need named = *need;
	named.path = path;
	const struct session_call call = {.need = &named,
					  .process = process,
					  .parents = &parents,
					  .walk = walk,
					  .name = linked ? need->path : need->name};
	return session_check_call(keeper->session, &call, done, argument);
}

static char *on_name(void *context, pid_t thread, const struct need *need) {
	const struct keeper *keeper = context;
	return need->by_folder ? call_name_in(keeper->promptly, thread, need->path) : NULL;
}

static void on_cancel(void *context, uint64_t check) {
	struct keeper *keeper = context;
	session_cancel(keeper->session, check);
}

static bool on_give(void *context, const struct need *need) {
	struct keeper *keeper = context;
	const bool known = given_add(&keeper->options.scene->finds.given, need->path);
	if (known)
		live_judge_again(keeper->live, false);
	else if (!keeper->full)
		log_warning("more than %d files were opened by grants of patterns: grant the folders that they are in",
			    LIMIT_GIVEN);
	keeper->full |= !known;
	return known;
}

static void on_refused(void *context, const struct need *need, const struct verdict *verdict) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *path = name_of(keeper, 0, need);
	denied_add(&keeper->options.denied[need->permission], path, verdict);
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

static void follow_arrivals(struct keeper *keeper, const struct plan *plan) {
	CLEANUP_STRINGS struct strings patterns = {0};
	finds_hiding(&keeper->options.scene->finds, live_view(keeper->live), &patterns);
	arrivals_follow(keeper->arrivals, &patterns, &keeper->options.scene->finds.trees, &plan->awaited, &plan->ways);
	if (finds_were_swapped(&keeper->options.scene->finds)) arrivals_look(keeper->arrivals);
}

static void on_changed(void *context, const struct plan *plan, const struct steps *steps) {
	struct keeper *keeper = context;
	if (plan)
		withdrawn_follow(keeper->withdrawn, plan, steps);
	else if (keeper->withdrawn)
		withdrawn_foresee(keeper->withdrawn, steps);
	if (keeper->masks) masks_follow(keeper->masks, plan); /* there are none yet while it starts */
	if (!plan) return;
	watched_follow(keeper->watched, plan);
	follow_arrivals(keeper, plan);
}

static struct sight glance(void *context, const char *path) {
	CLEANUP_FREE char *resolved = sights_resolve(context, path, false);
	return sights_at(context, resolved);
}

static void on_seen_anew(void *context, const struct sights *sights) {
	struct keeper *keeper = context;
	if (keeper->traps) traps_see(keeper->traps, sights ? glance : NULL, (void *)sights);
}

static void on_taken(void *context, const char *path, const struct portal_taken *taken, size_t calls) {
	struct keeper *keeper = context;
	withdrawn_add(keeper->withdrawn, path, taken, calls);
}

/* `target` may be NULL, with the permission. The history has why a sandbox was ended. */
static void record_repair(struct keeper *keeper, const char *permission, const char *target, const char *what,
			  const char *why) {
	json_t *detail = json_pack("{s:s}", "what", what);
	if (why) json_object_set_new(detail, "why", message_bytes(why));
	session_event(keeper->session, "repair", permission, target, 0, NULL, detail);
}

static void on_not_in_force(void *context, const char *why, bool open) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *shown = text_visible_cut(why, KEEPER_COLUMNS);
	record_repair(keeper, NULL, NULL, open ? "not in force, so the sandbox was ended" : "not in force", why);
	if (!open) {
		log_warning("a part of what is allowed can't be shown in the sandbox: %s", shown);
		return;
	}
	log_error("what is not allowed any more can't be taken from the sandbox: %s: it is ended", shown);
	fail(keeper);
}

static void on_stirred(void *context) {
	struct keeper *keeper = context;
	live_refresh(keeper->live);
}

static void on_moved(void *context) {
	struct keeper *keeper = context;
	if (keeper->masks) masks_look(keeper->masks);
}

static void on_arrived(void *context, const char *path, bool by_pattern) {
	struct keeper *keeper = context;
	if (!by_pattern || finds_arrived(&keeper->options.scene->finds, path)) live_hide(keeper->live);
}

/* Datagram sockets of the host's: what is allowed by name is meant to be used. */
static bool on_seen(void *context, const char *path) {
	const struct keeper *keeper = context;
	const enum show show = plan_show(live_plan(keeper->live), path);
	return (show == SHOW_READ || show == SHOW_WRITE) && !strings_contain(&live_view(keeper->live)->sockets, path);
}

/* Masks */

static void on_stale(void *context) {
	struct keeper *keeper = context;
	finds_look_again(&keeper->options.scene->finds);
	live_hide(keeper->live);
}

static void on_repaired(void *context, const char *path, int code) {
	struct keeper *keeper = context;
	CLEANUP_FREE char *shown = text_visible(path);
	if (code == 0) {
		log_debug("put back: %s", shown);
		record_repair(keeper, "fs:write", path, "mount put back", NULL);
		return;
	}
	record_repair(keeper, "fs:write", path, "mount can't be put back, so the sandbox was ended", strerror(code));
	log_error("%s lost its protection and it can't be put back (%s): the sandbox is ended", shown, strerror(code));
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
	if (!keeper->masks) return; /* while it starts: portal_wait has the error */
	const bool has_spare = keeper->spare >= 0;
	portal_free(keeper->portal);
	keeper->portal = NULL;
	if (start_portal(keeper, &error) < 0) {
		log_error("the portal ended and can't be started again: %s", error.message);
		record_repair(keeper, NULL, NULL,
			      "the portal ended and can't be started again, so the sandbox was ended", error.message);
		fail(keeper);
		return;
	}
	portal_join(keeper->portal, keeper->init, NULL, NULL);
	if (has_spare) portal_adopt(keeper->portal, on_spare, keeper);
	if (keeper->curtain) curtain_set_portal(keeper->curtain, portal_pid(keeper->portal));
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
	const struct curtain_options options = {.base = keeper->options.base,
						.portal = portal,
						.init = keeper->init,
						.uid = mapped(portal, "uid_map", getuid()),
						.gid = mapped(portal, "gid_map", getgid()),
						.promptly = keeper->promptly,
						.sight = on_sight,
						.hold = on_hold,
						.interrupted = on_interrupted,
						.drop = on_drop,
						.ended = on_curtain_ended,
						.context = keeper};
	return curtain_new(fd_steal(&keeper->device), &options, &keeper->curtain, error);
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

static void make_live(struct keeper *keeper) {
	struct scene *scene = keeper->options.scene;
	const struct live_options live = {.base = keeper->options.base,
					  .plan = on_plan,
					  .apply = on_apply,
					  .changed = on_changed,
					  .seen = on_seen_anew,
					  .taken = on_taken,
					  .failed = on_not_in_force,
					  .context = keeper};
	keeper->live = live_new(&live, view_copy(scene->view), &scene->plan);
	const struct held_options held = {.base = keeper->options.base,
					  .live = keeper->live,
					  .check = on_check,
					  .cancel = on_cancel,
					  .name = on_name,
					  .give = on_give,
					  .refused = on_refused,
					  .context = keeper};
	keeper->held = held_new(&held);
	const struct withdrawn_options withdrawn = {
		.base = keeper->options.base, .live = keeper->live, .session = keeper->session, .init = keeper->init};
	keeper->withdrawn = withdrawn_new(&withdrawn);
	const struct watched_options watched = {
		.base = keeper->options.base, .stirred = on_stirred, .moved = on_moved, .context = keeper};
	keeper->watched = watched_new(&watched);
	watched_follow(keeper->watched, live_plan(keeper->live));
	const struct arrivals_options arrivals = {.base = keeper->options.base,
						  .scope = {.home = scene->home,
							    .project = scene->project.root,
							    .uid = getuid(),
							    .relative_anywhere = true},
						  .found = on_arrived,
						  .context = keeper};
	keeper->arrivals = arrivals_new(&arrivals);
	for (size_t i = 0; i < live_plan(keeper->live)->missing.count; i++)
		strings_add(&keeper->missing, live_plan(keeper->live)->missing.items[i]);
	follow_arrivals(keeper, live_plan(keeper->live));
	const struct datagrams_options datagrams = {
		.base = keeper->options.base, .seen = on_seen, .found = on_stirred, .context = keeper};
	if (scene->holds_sockets) keeper->datagrams = datagrams_new(&datagrams);
}

static int make_masks(struct keeper *keeper, struct error *error) {
	const struct masks_options options = {.base = keeper->options.base,
					      .init = keeper->init,
					      .portal = &keeper->portal,
					      .stale = on_stale,
					      .repaired = on_repaired,
					      .context = keeper};
	int r = masks_new(&options, &keeper->masks, error);
	if (r == 0) masks_follow(keeper->masks, live_plan(keeper->live));
	return r;
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
	return r < 0 ? r : make_masks(keeper, error);
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
	const dev_t curtain = keeper->curtain ? lead_device(keeper->spare) : 0;
	if (!keeper->traps) network_listen(network, listener, curtain);
	const struct traps_options options = {.base = keeper->options.base,
					      .listener = listener,
					      .wanted = doorbells_judged(live_view(keeper->live), keeper->wanted),
					      .curtain = curtain,
					      .called = on_called,
					      .sight = on_trap_sight,
					      .hold = on_trap,
					      .drop = on_drop,
					      .clearance = session_clearance(keeper->session),
					      .behind = on_behind,
					      .carried_out = on_carried_out,
					      .network = network_takes(network) ? network : NULL,
					      .context = keeper};
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
		record_repair(keeper, "proc:spawn", programs.items[i], "shut", why);
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
	curtain_free(keeper->curtain);
	keeper->curtain = NULL;
	fd_close_p(&keeper->spare);
	masks_stop(keeper->masks);
	if (keeper->portal) portal_on_end(keeper->portal, NULL, NULL);
}

void keeper_made(const struct keeper *keeper, struct strings *ret_paths) {
	const struct layout_judge judge = session_judge(keeper->session);
	const struct plan *plan = live_plan(keeper->live);
	made_find(&keeper->options.scene->finds, live_view(keeper->live), plan, &judge, ret_paths);
	for (size_t i = 0; i < keeper->missing.count; i++) {
		const char *path = keeper->missing.items[i];
		if (!strings_contain(&plan->missing, path) && plan_show(plan, path) == SHOW_READ &&
		    access(path, F_OK) == 0)
			strings_add(ret_paths, path);
	}
}

void keeper_gone(struct keeper *keeper) {
	if (keeper && keeper->withdrawn) withdrawn_gone(keeper->withdrawn);
}

void keeper_free(struct keeper *keeper) {
	if (!keeper) return;
	keeper_stop(keeper);
	masks_free(keeper->masks);
	portal_leave(keeper->portal); /* the last that holds the sandbox's mounts: the kernel takes them apart in it */
	traps_free(STEAL(keeper->traps));
	held_free(keeper->held);
	watched_free(keeper->watched);
	arrivals_free(keeper->arrivals);
	datagrams_free(keeper->datagrams);
	if (keeper->live) live_finish(keeper->live, &keeper->options.scene->plan);
	withdrawn_free(keeper->withdrawn);
	promptly_free(keeper->promptly);
	strings_finish(&keeper->missing);
	strings_finish(&keeper->told);
	fd_close(keeper->device);
	free(keeper);
}
