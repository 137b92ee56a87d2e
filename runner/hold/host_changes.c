#include "host_changes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "mounts/arrivals.h"
#include "mounts/masks.h"
#include "mounts/watched.h"
#include "sandbox/datagrams.h"

struct host_changes {
	struct host_changes_options options;
	struct masks *masks; /* none yet while the sandbox starts */
	struct watched *watched;
	struct arrivals *arrivals;
	struct datagrams *datagrams;
};

static void follow_arrivals(struct host_changes *changes, const struct plan *plan) {
	CLEANUP_STRINGS struct strings patterns = {0};
	finds_hiding(&changes->options.scene->finds, live_view(changes->options.live), &patterns);
	arrivals_follow(changes->arrivals, &patterns, &changes->options.scene->finds.trees, &plan->awaited,
			&plan->ways);
	if (finds_were_swapped(&changes->options.scene->finds)) arrivals_look(changes->arrivals);
}

static void on_stirred(void *context) {
	struct host_changes *changes = context;
	live_refresh(changes->options.live);
}

static void on_moved(void *context) {
	struct host_changes *changes = context;
	if (changes->masks) masks_look(changes->masks);
}

static void on_arrived(void *context, const char *path, bool by_pattern) {
	struct host_changes *changes = context;
	if (!by_pattern || finds_arrived(&changes->options.scene->finds, path)) live_hide(changes->options.live);
}

/* Datagram sockets of the host's: what is allowed by name is meant to be used. */
static bool on_seen(void *context, const char *path) {
	const struct host_changes *changes = context;
	const enum show show = plan_show(live_plan(changes->options.live), path);
	return (show == SHOW_READ || show == SHOW_WRITE) &&
	       !strings_contain(&live_view(changes->options.live)->sockets, path);
}

static void on_stale(void *context) {
	struct host_changes *changes = context;
	finds_look_again(&changes->options.scene->finds);
	live_hide(changes->options.live);
}

/* What had another name before may have one still (link(2)): a plan with fresh facts masks that, too, in the project.
 */
static void look_for_names(struct host_changes *changes, const char *path) {
	struct stat status;
	if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink < 2) return;
	live_hide(changes->options.live); /* again, as there may be more since the last one */
	if (!finds_shared(&changes->options.scene->finds, path)) return;
	CLEANUP_FREE char *shown = text_visible(path);
	log_warning(
		"%s has other names (hard links), by which it may have been written: look at it before a program on "
		"the host uses it",
		shown);
	session_event(changes->options.session, "finding", NULL, path, 0, NULL,
		      json_pack("{s:s}", "what", "protected"));
}

static void look_at_masked(struct host_changes *changes, const char *path) {
	withdrawn_replaced(changes->options.withdrawn, path);
	look_for_names(changes, path);
}

static void on_repaired(void *context, const char *path, int code) {
	struct host_changes *changes = context;
	CLEANUP_FREE char *shown = text_visible(path);
	if (code == 0) {
		log_debug("put back: %s", shown);
		session_repair(changes->options.session, "fs:write", path, "mount put back", NULL);
		look_at_masked(changes, path);
		return;
	}
	session_repair(changes->options.session, "fs:write", path, "mount can't be put back, so the sandbox was ended",
		       strerror(code));
	log_error("%s lost its protection and it can't be put back (%s): the sandbox is ended", shown, strerror(code));
	changes->options.failed(changes->options.context);
}

struct host_changes *host_changes_new(const struct host_changes_options *options) {
	struct host_changes *changes = mem_new(struct host_changes);
	const struct scene *scene = options->scene;
	const struct plan *plan = live_plan(options->live);
	*changes = (struct host_changes){.options = *options};
	const struct watched_options watched = {
		.base = options->base, .stirred = on_stirred, .moved = on_moved, .context = changes};
	changes->watched = watched_new(&watched);
	watched_follow(changes->watched, plan);
	const struct arrivals_options arrivals = {.base = options->base,
						  .scope = {.home = scene->home,
							    .project = scene->project.root,
							    .uid = getuid(),
							    .relative_anywhere = true},
						  .found = on_arrived,
						  .context = changes};
	changes->arrivals = arrivals_new(&arrivals);
	follow_arrivals(changes, plan);
	const struct datagrams_options datagrams = {
		.base = options->base, .seen = on_seen, .found = on_stirred, .context = changes};
	if (scene->holds_sockets) changes->datagrams = datagrams_new(&datagrams);
	return changes;
}

int host_changes_guard(struct host_changes *changes, struct error *error) {
	const struct masks_options options = {.base = changes->options.base,
					      .init = changes->options.init,
					      .portal = changes->options.portal,
					      .stale = on_stale,
					      .repaired = on_repaired,
					      .context = changes};
	int r = masks_new(&options, &changes->masks, error);
	if (r == 0) masks_follow(changes->masks, live_plan(changes->options.live));
	return r;
}

bool host_changes_is_guarding(const struct host_changes *changes) {
	return changes && changes->masks;
}

void host_changes_follow(struct host_changes *changes, const struct plan *plan) {
	if (changes->masks) masks_follow(changes->masks, plan);
	if (!plan) return;
	watched_follow(changes->watched, plan);
	follow_arrivals(changes, plan);
}

static bool is_mask(const struct plan *plan, const struct step *step) {
	const struct mount *on = plan_find(plan, step->mount.on);
	return step->kind == STEP_PUT && step->mount.kind == MOUNT_READ && on &&
	       (on->kind == MOUNT_WRITE || on->kind == MOUNT_PIN);
}

/* What the tool was allowed to make it may go on to write. */
static bool is_allowed(const struct host_changes *changes, const char *path) {
	const struct strings *allowed = changes->options.allowed;
	return path_is_below_any(path, (const char *const *)allowed->items, allowed->count);
}

void host_changes_put(struct host_changes *changes, const struct plan *plan, const struct steps *steps) {
	for (size_t i = 0; i < steps->count; i++) {
		const char *path = steps->items[i].mount.path;
		if (!is_mask(plan, &steps->items[i])) continue;
		if (changes->options.holds && live_hid(changes->options.live) && !is_allowed(changes, path))
			look_at_masked(changes, path);
		else
			look_for_names(changes, path);
	}
}

void host_changes_stop(struct host_changes *changes) {
	if (changes) masks_stop(changes->masks);
}

void host_changes_free(struct host_changes *changes) {
	if (!changes) return;
	masks_free(changes->masks);
	watched_free(changes->watched);
	arrivals_free(changes->arrivals);
	datagrams_free(changes->datagrams);
	free(changes);
}
