/*
 * Theory of operation. When something on the host renames over, or removes, a file or folder that is a mount point in
 * another mount namespace, the kernel detaches the mount there (since Linux 3.18; a mount must not keep a host from
 * removing its files). For the sandbox the mask is gone then. The kernel also marks the namespace as changed, which
 * poll reports as POLLERR | POLLPRI on its mountinfo: read it, compare with the plan, have the portal put what lacks
 * anew (it takes what may be left of it). Each mount is looked for by the number that the kernel gave it: another that
 * lies at its path is none of it (the host may have exchanged two names). What lies below a pin that was put while the
 * sandbox ran (steps.h) goes with the mask above, and is put back with it, by the place that the pin covers.
 *
 * What is moved keeps what is mounted on it, under its new name, and the kernel marks nothing: who watches the names
 * says when to look (watched.h). The mountinfo has the new path then.
 *
 * What comes to be there instead can be something that this mount can't lie on: a file for a folder, a link. A plan
 * with fresh facts knows what hides that. Only when MASKS_PLANS of them in a row could not be put back is it given up.
 *
 * libevent knows no POLLPRI, but tells of an error as of readiness to write, and a mountinfo is never ready to be
 * written to (mounts_poll in the kernel's fs/proc_namespace.c). Each change is told once: the loop waits by poll(2) and
 * passes on all that it is told (base/loop.h).
 */
#include "masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "mountinfo.h"

enum { MASKS_RETRY_MS = 100, MASKS_PLANS = 3 };

/* Something that is being put back. */
struct repair {
	struct repair *next;
	struct masks *masks;
	struct strings paths;
};

/* What is mounted now. */
struct look {
	struct portal *portal;
	struct mountinfo info;
};

struct masks {
	struct masks_options options;
	const struct plan *plan;
	int mountinfo;
	struct event *changed, *retry;
	bool due;        /* the plan was not looked after yet */
	bool looked;     /* there was something to look at while it was repaired */
	bool stale;      /* something can't lie where the plan has it */
	bool planning;   /* another plan was asked for */
	unsigned failed; /* plans in a row of which something couldn't be put back */
	struct repair *repairs;
};

static bool can_be_torn(const struct mount *mount) {
	switch (mount->kind) {
	case MOUNT_READ:
	case MOUNT_WRITE:
	case MOUNT_PIN:
	case MOUNT_HELD:
	case MOUNT_HIDE_FILE:
	case MOUNT_HIDE_FOLDER:
	case MOUNT_TEXT:
	case MOUNT_CURTAIN:
		return !string_equal(mount->path, "/");
	case MOUNT_FRESH:
	case MOUNT_OWN:
	case MOUNT_LINK:
	case MOUNT_PROC:
	case MOUNT_DEV:
		break;
	}
	return false;
}

/* Below a text of sbx's own there is what everybody may read: nobody has to hear of it. */
static bool protects(const struct mount *mount) {
	return can_be_torn(mount) && mount->kind != MOUNT_TEXT;
}

static const struct mount *late_pin(const struct mount *mounts, size_t count, const struct mount *below, uint32_t on) {
	for (size_t i = 0; i < count; i++)
		if (mounts[i].late && mounts[i].on == on && path_is_below(below->path, mounts[i].path) &&
		    !string_equal(below->path, mounts[i].path))
			return &mounts[i];
	return NULL;
}

/* The pin that was put over it while the sandbox ran (steps.h), or NULL. */
static const struct mount *pin_over(const struct plan *plan, const struct mount *below) {
	const struct mount *on = plan_find(plan, below->on);
	while (on && string_equal(on->path, below->path)) on = plan_find(plan, on->on);
	const uint32_t id = on ? on->id : 0;
	const struct mount *pin = late_pin(plan->mounts, plan->count, below, id);
	return pin ? pin : late_pin(plan->below, plan->below_count, below, id);
}

/* In a tree of the host it goes with what covers it, but for what lies below a pin. */
static bool counts(const struct plan *plan, const struct mount *below) {
	const struct mount *on = plan_find(plan, below->on);
	if (below->kind == MOUNT_LINK) return false;
	return !(on && mount_shows(on) && !string_equal(on->path, below->path)) || pin_over(plan, below);
}

static bool is_in_place(const struct look *look, const struct mount *mount) {
	const struct mountinfo_entry *entry = mountinfo_find(&look->info, portal_number(look->portal, mount->id));
	return entry && string_equal(entry->point, mount->path);
}

/* The paths where what counts below was torn off. What can't be put there, since what the pin covers has the path no
 * more, has no number, and nobody comes upon it. */
static void find_torn_below(const struct look *look, const struct plan *plan, struct strings *torn) {
	for (size_t i = 0; i < plan->below_count; i++) {
		const struct mount *below = &plan->below[i];
		if (portal_number(look->portal, below->id) != 0 && !is_in_place(look, below) && counts(plan, below))
			strings_add(torn, below->path);
	}
}

static void add_step(struct steps *steps, enum step_kind kind, const struct mount *mount, uint32_t under) {
	steps->items = array_grow(steps->items, steps->count, sizeof *steps->items);
	struct step *step = &steps->items[steps->count++];
	*step = (struct step){.kind = kind, .under = under, .mount = mount_copy(mount)};
	step->mount.inode = 0; /* what is there now is another file */
}

/* What restricts it for who is below a pin. */
static void add_below(const struct plan *plan, const char *path, enum step_kind kind, struct steps *steps) {
	for (size_t i = 0; i < plan->below_count; i++) {
		const struct mount *below = &plan->below[i];
		const struct mount *pin = string_equal(below->path, path) ? pin_over(plan, below) : NULL;
		if (pin) add_step(steps, kind, below, pin->id);
	}
}

static void collect_below(const struct plan *plan, const char *path, struct steps *steps) {
	add_below(plan, path, STEP_TAKE, steps);
	add_below(plan, path, STEP_PUT_UNDER, steps);
}

/* The mount `index` of the plan, and those behind it that lie on it. */
static void collect(const struct plan *plan, size_t index, bool *seen, struct steps *steps) {
	for (size_t i = index; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		bool lies_on = i == index;
		for (size_t k = 0; k < steps->count && !lies_on; k++) lies_on = steps->items[k].mount.id == mount->on;
		if (!lies_on) continue;
		seen[i] = true;
		add_step(steps, STEP_PUT, mount, 0);
	}
	collect_below(plan, plan->mounts[index].path, steps);
}

static void repair_free(struct repair *repair) {
	struct repair **link = &repair->masks->repairs;
	while (*link != repair) link = &(*link)->next;
	*link = repair->next;
	strings_finish(&repair->paths);
	free(repair);
}

static void retry_later(struct masks *masks) {
	const struct timeval delay = {.tv_usec = MASKS_RETRY_MS * 1000};
	evtimer_add(masks->retry, &delay);
}

static void check(struct masks *masks);

/* All that was missing was tried. */
static void end_round(struct masks *masks) {
	const bool stale = masks->stale, first = !masks->planning;
	masks->stale = false;
	if (!stale) masks->failed = 0;
	if (stale && first) {
		masks->planning = true;
		masks->failed++;
		masks->options.stale(masks->options.context);
	}
	/* what was torn off or made anew meanwhile; else with the next plan, or after the pause */
	if (!stale && (masks->looked || !evtimer_pending(masks->retry, NULL))) check(masks);
}

static void on_put_back(void *argument, int code, const char *text, const struct portal_applied *applied) {
	struct repair *repair = argument;
	struct masks *masks = repair->masks;
	(void)text, (void)applied;
	if (code == ENOENT || code == EPIPE) {
		retry_later(masks);
	} else if (code != 0 && (masks->planning || masks->failed < MASKS_PLANS)) {
		masks->stale = true;
	} else {
		for (size_t i = 0; i < repair->paths.count; i++)
			masks->options.repaired(masks->options.context, repair->paths.items[i], code);
	}
	repair_free(repair);
	if (!masks->repairs) end_round(masks);
}

static void put_back(struct masks *masks, struct portal *portal, const struct steps *steps) {
	struct repair *repair = mem_new(struct repair);
	*repair = (struct repair){.masks = masks, .next = masks->repairs};
	masks->repairs = repair;
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		if (step->kind != STEP_TAKE && protects(&step->mount) &&
		    !strings_contain(&repair->paths, step->mount.path))
			strings_add(&repair->paths, step->mount.path);
	}
	portal_apply(portal, steps, on_put_back, repair);
}

static void check(struct masks *masks) {
	masks->due = false;
	masks->looked = masks->repairs != NULL;
	if (!masks->plan || masks->repairs) return;
	struct look look = {.portal = *masks->options.portal};
	if (!look.portal || mountinfo_read(masks->mountinfo, &look.info) < 0) {
		retry_later(masks);
		return;
	}
	const struct plan *plan = masks->plan;
	CLEANUP_STRINGS struct strings torn_below = {0};
	find_torn_below(&look, plan, &torn_below);
	bool *seen = mem_array(bool, plan->count + 1);
	for (size_t i = 0; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		CLEANUP_STEPS struct steps steps = {0};
		if (seen[i] || !can_be_torn(mount)) continue;
		if (!is_in_place(&look, mount))
			collect(plan, i, seen, &steps);
		else if (strings_contain(&torn_below, mount->path))
			collect_below(plan, mount->path, &steps);
		if (steps.count > 0) put_back(masks, look.portal, &steps);
	}
	free(seen);
	mountinfo_finish(&look.info);
}

static void on_change(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	check(argument);
}

static void on_retry(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	check(argument);
}

void masks_look(struct masks *masks) {
	check(masks);
}

void masks_follow(struct masks *masks, const struct plan *plan) {
	if (!plan && masks->due) check(masks); /* however soon the next steps come, there is a look between */
	masks->plan = plan;
	masks->due = plan;
	masks->planning &= !plan;
	if (plan) event_active(masks->retry, EV_TIMEOUT, 1);
}

int masks_new(const struct masks_options *options, struct masks **ret_masks, struct error *error) {
	struct masks *masks = mem_new(struct masks);
	*masks = (struct masks){.options = *options, .mountinfo = -1};
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", options->init);
	masks->mountinfo = open(path, O_RDONLY | O_CLOEXEC);
	if (masks->mountinfo < 0) {
		int r = error_errno(error, "watching the sandbox's mounts");
		masks_free(masks);
		return r;
	}
	masks->changed = event_new(options->base, masks->mountinfo, EV_WRITE | EV_PERSIST, on_change, masks);
	masks->retry = evtimer_new(options->base, on_retry, masks);
	event_add(masks->changed, NULL);
	*ret_masks = masks;
	return 0;
}

void masks_stop(struct masks *masks) {
	if (!masks) return;
	event_del(masks->changed);
	event_del(masks->retry);
	masks->plan = NULL;
	fd_close_p(&masks->mountinfo);
}

void masks_free(struct masks *masks) {
	if (!masks) return;
	if (masks->changed) event_free(masks->changed);
	if (masks->retry) event_free(masks->retry);
	while (masks->repairs) repair_free(masks->repairs);
	fd_close(masks->mountinfo);
	free(masks);
}
