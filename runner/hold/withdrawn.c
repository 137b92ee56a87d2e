/*
 * Theory of operation. Not all that is detached is withdrawn: the host may have replaced a file, a tree may have been
 * put anew. So what was taken is kept by its path, and compared with the plan that is in force when it is looked for.
 * What that doesn't show is withdrawn, and so is what it shows to be read and could not be made read-only. A part of it
 * is withdrawn when the plan hides something in it that wasn't hidden when it was taken: no mask is laid on what is
 * detached. Likewise with a mount that had to stay below the one in sight (STEP_TELL), while it is exposed. What is
 * hidden, or made read-only, within a tree that stays is looked for by its path (struct cover).
 *
 * One look through the processes (sweep.h) answers all that wait when it begins. What it looked for and nobody has any
 * more is forgotten; what wasn't withdrawn, or was taken meanwhile, is kept.
 */
#include "withdrawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "mounts/mountinfo.h"
#include "mounts/origin.h"
#include "sandbox/layout.h"
#include "sweep.h"

enum { HOLDERS_SHOWN = 5, PATH_COLUMNS = 200, FOLLOWED_MAX = 64 /* descriptors */ };

/* An `ended` of the broker's, or somebody here, that waits until its view is in force, and nobody holds a folder of
 * what that takes. */
struct ending {
	struct ending *next;
	struct withdrawn *withdrawn;
	bool kill;
	int64_t settle;
	void (*done)(void *argument); /* or NULL */
	void *argument;
	bool in_force, swept; /* swept: the sweep under way answers it */
	bool told;            /* by the broker */
};

struct item {
	uint64_t mount; /* STATX_MNT_ID */
	dev_t device;
	uint32_t id; /* of the plan's mount */
	char *path;
	bool written;
	size_t calls;            /* it was there for so many calls alone */
	struct origin *origin;   /* it lies in this folder, which the host has given another name; or NULL */
	char *rest;              /* where in it: "" or /PATH */
	bool lost;               /* likewise, but by which name isn't known */
	enum view_denial denial; /* of the name that `origin` has now */
	bool denies_below;       /* reading something in it */
	struct strings masks;    /* paths that were hidden on it */
	bool swept;              /* the sweep under way looks for it */
};

/* A folder that is about to be taken since the host has moved it. */
struct leaving {
	uint32_t id;
	char *path;
	struct origin *origin; /* NULL: not found */
};

/* Hidden, or read-only, within a mount that is there still. */
struct cover {
	char *path;
	bool written; /* it may be read still */
	bool swept;
};

struct withdrawn {
	struct withdrawn_options options;
	struct item *items;
	size_t count;
	struct cover *covers;
	size_t cover_count;
	struct strings replaced, replaced_swept; /* paths; what the sweep under way looks for */
	struct leaving *leaving;
	size_t leaving_count;
	struct strings awaited; /* of the plan in force */
	struct ending *endings;
	atomic_size_t told; /* how many of them */
	struct sweep *sweep;
	struct event *turn;
};

static void on_turn(evutil_socket_t fd, short what, void *argument);

static void note_awaited(struct withdrawn *withdrawn, const struct plan *plan) {
	strings_finish(&withdrawn->awaited);
	for (size_t i = 0; i < plan->awaited.count; i++) strings_add(&withdrawn->awaited, plan->awaited.items[i]);
}

struct withdrawn *withdrawn_new(const struct withdrawn_options *options) {
	struct withdrawn *withdrawn = mem_new(struct withdrawn);
	withdrawn->options = *options;
	withdrawn->turn = evtimer_new(options->base, on_turn, withdrawn);
	note_awaited(withdrawn, live_plan(options->live));
	return withdrawn;
}

static bool is_of_host(const struct plan *plan, uint32_t id) {
	const struct mount *mount = plan_find(plan, id);
	return mount && mount_shows(mount);
}

static void read_mounts(pid_t process, struct mountinfo *ret_info) {
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", process);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) mountinfo_read(fd, ret_info);
}

/* What the host has moved */

static void forget_leaving(struct withdrawn *withdrawn) {
	for (size_t i = 0; i < withdrawn->leaving_count; i++) {
		free(withdrawn->leaving[i].path);
		origin_free(withdrawn->leaving[i].origin);
	}
	withdrawn->leaving_count = 0;
}

static bool has_moved(const struct mount *mount) {
	struct stat status;
	if (!mount || (mount->kind != MOUNT_READ && mount->kind != MOUNT_WRITE) || mount->inode == 0) return false;
	return lstat(mount->path, &status) < 0 || status.st_dev != mount->device || status.st_ino != mount->inode;
}

static bool is_deleted(const struct mountinfo *info, const char *path) {
	for (size_t i = 0; i < info->count; i++)
		if (info->entries[i].deleted && string_equal(info->entries[i].point, path)) return true;
	return false;
}

static size_t count_followed(const struct withdrawn *withdrawn) {
	size_t count = withdrawn->leaving_count;
	for (size_t i = 0; i < withdrawn->count; i++)
		count += withdrawn->items[i].origin && withdrawn->items[i].rest[0] == '\0';
	return count;
}

void withdrawn_foresee(struct withdrawn *withdrawn, const struct steps *steps) {
	const struct plan *plan = live_plan(withdrawn->options.live);
	CLEANUP_MOUNTINFO struct mountinfo inside = {0}, here = {0};
	forget_leaving(withdrawn);
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		const bool goes = step->kind == STEP_TAKE || step->kind == STEP_RELEASE;
		const struct mount *mount = goes ? plan_find(plan, step->mount.id) : NULL;
		if (!has_moved(mount)) continue;
		if (inside.count == 0) {
			read_mounts(withdrawn->options.init, &inside);
			read_mounts(getpid(), &here);
		}
		if (is_deleted(&inside, mount->path)) continue; /* with all that was in it */
		struct leaving leaving = {.id = mount->id, .path = string_copy(mount->path)};
		if (count_followed(withdrawn) < FOLLOWED_MAX)
			leaving.origin = origin_new(&inside, &here, mount->path, mount->device, mount->inode);
		withdrawn->leaving = array_grow(withdrawn->leaving, withdrawn->leaving_count, sizeof leaving);
		withdrawn->leaving[withdrawn->leaving_count++] = leaving;
	}
}

static const struct leaving *find_leaving(const struct withdrawn *withdrawn, const struct plan *plan, uint32_t id) {
	for (const struct mount *mount = plan_find(plan, id); mount; mount = plan_find(plan, mount->on))
		for (size_t i = 0; i < withdrawn->leaving_count; i++)
			if (withdrawn->leaving[i].id == mount->id) return &withdrawn->leaving[i];
	return NULL;
}

static void say_moved(const struct item *item) {
	CLEANUP_FREE char *now = origin_path(item->origin);
	struct stat status;
	if (!now || item->rest[0] != '\0' || lstat(now, &status) < 0 || !S_ISDIR(status.st_mode)) return;
	CLEANUP_FREE char *path = text_visible_cut(item->path, PATH_COLUMNS),
			  *shown = text_visible_cut(now, PATH_COLUMNS);
	log_notice("the host has moved %s to %s: a process that stands in it, or has it open, reads on there%s", path,
		   shown, item->written ? "" : ", and can't write");
}

static void follow_origin(const struct withdrawn *withdrawn, const struct plan *plan, struct item *item) {
	const struct leaving *leaving = find_leaving(withdrawn, plan, item->id);
	if (!leaving) return;
	const bool below = path_is_below(item->path, leaving->path);
	item->origin = origin_share(leaving->origin);
	item->lost = !item->origin || !below;
	item->rest = string_copy(below ? item->path + strlen(leaving->path) : "");
	if (item->origin) say_moved(item);
}

/* By the newest rules and grants. */
static enum view_denial denied_now(const struct withdrawn *withdrawn, const char *path) {
	CLEANUP_STRINGS struct strings paths = {0};
	struct layout_mode mode = {0};
	strings_add(&paths, path);
	const int r = session_resolve(withdrawn->options.session, &paths, &mode, NULL);
	if (r == 0) return mode.denial;
	const struct view_path *entry = view_at(live_view(withdrawn->options.live), path); /* the broker is gone */
	return entry ? entry->denial : VIEW_DENIES_NOTHING;
}

static bool denies_below(const struct view *view, const char *path) {
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		const bool denies = entry->pattern ? entry->mode == VIEW_ABSENT : entry->denial == VIEW_DENIES_READ;
		if (denies && path_is_below(entry->path, path)) return true;
	}
	return false;
}

static void add_cover(struct withdrawn *withdrawn, const char *path, bool written) {
	for (size_t i = 0; i < withdrawn->cover_count; i++) {
		struct cover *cover = &withdrawn->covers[i];
		if (cover->written != written || !string_equal(cover->path, path)) continue;
		cover->swept = false;
		return;
	}
	withdrawn->covers = array_grow(withdrawn->covers, withdrawn->cover_count, sizeof *withdrawn->covers);
	withdrawn->covers[withdrawn->cover_count++] = (struct cover){.path = string_copy(path), .written = written};
}

static bool restricts(const struct item *item, const struct mount *mount) {
	return (!mount_shows(mount) || (item->written && mount->kind == MOUNT_READ)) &&
	       path_is_below(mount->path, item->path) && !string_equal(mount->path, item->path);
}

static bool lies_on(const struct plan *plan, const struct mount *mount, uint32_t id) {
	while (mount && mount->id != id) mount = plan_find(plan, mount->on);
	return mount != NULL;
}

static void note_masks(struct item *item, const struct plan *plan, const struct mount *mounts, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (restricts(item, &mounts[i]) && lies_on(plan, &mounts[i], item->id))
			strings_add(&item->masks, mounts[i].path);
}

static struct ending *add_ending(struct withdrawn *withdrawn, bool kill, int64_t settle);

void withdrawn_add(struct withdrawn *withdrawn, const char *path, const struct portal_taken *taken, size_t calls) {
	const struct plan *plan = live_plan(withdrawn->options.live);
	withdrawn->items = array_grow(withdrawn->items, withdrawn->count, sizeof *withdrawn->items);
	struct item *item = &withdrawn->items[withdrawn->count++];
	*item = (struct item){.mount = taken->number,
			      .device = taken->device,
			      .id = taken->id,
			      .path = string_copy(path),
			      .written = taken->written != 0,
			      .calls = calls};
	follow_origin(withdrawn, plan, item);
	note_masks(item, plan, plan->mounts, plan->count);
	note_masks(item, plan, plan->below, plan->below_count);
	if (calls > 0) add_ending(withdrawn, false, 0);
}

static void item_finish(struct item *item) {
	free(item->path);
	free(item->rest);
	origin_free(item->origin);
	strings_finish(&item->masks);
}

/* What the sweep under way has looked for, or with `all` everything. */
static void forget(struct withdrawn *withdrawn, bool all) {
	size_t kept = 0;
	for (size_t i = 0; i < withdrawn->count; i++) {
		if (all || withdrawn->items[i].swept)
			item_finish(&withdrawn->items[i]);
		else
			withdrawn->items[kept++] = withdrawn->items[i];
	}
	withdrawn->count = kept;
	kept = 0;
	for (size_t i = 0; i < withdrawn->cover_count; i++) {
		if (all || withdrawn->covers[i].swept)
			free(withdrawn->covers[i].path);
		else
			withdrawn->covers[kept++] = withdrawn->covers[i];
	}
	withdrawn->cover_count = kept;
}

/* The kernel gives the id of a mount that is gone to another one. */
static bool is_mounted(const struct mountinfo *info, uint64_t mount) {
	return mountinfo_find(info, mount) != NULL;
}

static bool is_shown(const void *context, const char *path, bool written) {
	const struct withdrawn *withdrawn = context;
	const enum show show = plan_show(live_plan(withdrawn->options.live), path);
	return show == SHOW_WRITE || (show == SHOW_READ && !written);
}

/* Does the plan hide what was to be seen in it? */
static bool hides_more(const struct plan *plan, const struct item *item) {
	for (size_t i = 0; i < plan->count; i++)
		if (restricts(item, &plan->mounts[i]) &&
		    !path_is_below_any(plan->mounts[i].path, (const char *const *)item->masks.items, item->masks.count))
			return true;
	return false;
}

/* Where the host has moved it; NULL: it hasn't, or has removed it. */
static char *path_now(const struct item *item) {
	CLEANUP_FREE char *folder = item->origin ? origin_path(item->origin) : NULL;
	return folder ? string_format("%s%s", folder, item->rest) : NULL;
}

/* The items of one folder are judged as one: who is in a part of it can walk to the rest. */
static void judge_origin(const struct withdrawn *withdrawn, struct item *item) {
	for (const struct item *other = withdrawn->items; other != item; other++) {
		if (other->origin != item->origin) continue;
		item->denial = other->denial;
		item->denies_below = other->denies_below;
		return;
	}
	CLEANUP_FREE char *path = origin_path(item->origin);
	item->denial = path ? denied_now(withdrawn, path) : VIEW_DENIES_NOTHING;
	item->denies_below = path && denies_below(live_view(withdrawn->options.live), path);
}

/* It is another one that is shown under its name: what is denied of the name that it has now? */
static struct taken_mounts *denied_of(const struct item *item, struct taken *taken) {
	if (item->denial == VIEW_DENIES_READ || (item->denial == VIEW_DENIES_WRITE && item->written))
		return &taken->whole;
	return item->denies_below ? &taken->parts : NULL;
}

/* What of it is withdrawn by the plan in force: the list that it belongs to, or NULL. */
static struct taken_mounts *withdrawn_of(const struct withdrawn *withdrawn, const struct item *item,
					 const struct mountinfo *info, struct taken *taken) {
	const struct plan *plan = live_plan(withdrawn->options.live);
	if (is_mounted(info, item->mount)) {
		const struct mount *mount = plan_find(plan, item->id);
		return mount && mount->exposed ? &taken->parts : NULL;
	}
	if (!is_shown(withdrawn, item->path, item->written)) return item->calls > 0 ? &taken->once : &taken->whole;
	if (item->lost) return &taken->whole;
	if (item->origin) return denied_of(item, taken);
	return hides_more(plan, item) ? &taken->parts : NULL;
}

static struct taken collect(struct withdrawn *withdrawn) {
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	struct taken taken = {.shows = is_shown, .context = withdrawn};
	read_mounts(withdrawn->options.init, &info);
	read_mounts(getpid(), &taken.host);
	for (size_t i = 0; i < withdrawn->count; i++) {
		struct item *item = &withdrawn->items[i];
		if (item->origin) judge_origin(withdrawn, item);
		struct taken_mounts *mounts = withdrawn_of(withdrawn, item, &info, &taken);
		item->swept = mounts != NULL;
		if (!mounts) continue;
		const struct taken_mount mount = {
			.id = item->mount, .device = item->device, .written = item->written, .calls = item->calls};
		CLEANUP_FREE char *now = path_now(item);
		taken_add(mounts, &mount, now ? now : item->path);
		taken.written |= item->written;
	}
	for (size_t i = 0; i < withdrawn->cover_count; i++) {
		struct cover *cover = &withdrawn->covers[i];
		cover->swept = !is_shown(withdrawn, cover->path, cover->written);
		if (cover->swept) strings_add(cover->written ? &taken.read_only : &taken.covered, cover->path);
	}
	return taken;
}

static void take_replaced(struct withdrawn *withdrawn, struct taken *taken) {
	for (size_t i = 0; i < withdrawn->replaced.count; i++)
		if (!is_shown(withdrawn, withdrawn->replaced.items[i], true))
			strings_add(&taken->replaced, withdrawn->replaced.items[i]);
	strings_finish(&withdrawn->replaced_swept);
	withdrawn->replaced_swept = withdrawn->replaced;
	withdrawn->replaced = (struct strings){0};
}

static char *holders_text(const struct holders *holders) {
	struct string line = {0};
	for (size_t i = 0; i < holders->count && i < HOLDERS_SHOWN; i++) {
		const struct holder *holder = &holders->items[i];
		CLEANUP_FREE char *command = text_visible_cut(holder->command, 40);
		CLEANUP_FREE char *path = text_visible_cut(holder->path, PATH_COLUMNS);
		string_appendf(&line, "%s%d %s (%s)", i > 0 ? ", " : "", holder->pid, command, path);
	}
	if (holders->all > HOLDERS_SHOWN) string_appendf(&line, " and %zu more", holders->all - HOLDERS_SHOWN);
	return string_steal(&line);
}

static void say(const struct holders *ended, const struct holders *left) {
	CLEANUP_FREE char *gone = holders_text(ended), *still = holders_text(left);
	if (ended->all > 0)
		log_notice("ended %zu process%s that held what is not allowed any more: %s", ended->all,
			   ended->all == 1 ? "" : "es", gone);
	if (left->all > 0) log_notice("not allowed any more, but still open in %s", still);
}

static void turn_after(struct withdrawn *withdrawn, int ms) {
	const struct timeval delay = {.tv_usec = ms * 1000};
	evtimer_add(withdrawn->turn, &delay);
}

/* False: nobody waits for one. */
static bool begin(struct withdrawn *withdrawn) {
	bool any = false, kill = false;
	for (struct ending *ending = withdrawn->endings; ending; ending = ending->next) {
		ending->swept = ending->in_force;
		any |= ending->swept;
		kill |= ending->swept && ending->kill;
	}
	if (!any) return false;
	struct taken taken = collect(withdrawn);
	take_replaced(withdrawn, &taken);
	withdrawn->sweep = sweep_new(withdrawn->options.init, &taken, kill);
	return true;
}

static void answer(struct withdrawn *withdrawn, const struct holders *left, const struct holders *ended) {
	for (struct ending **at = &withdrawn->endings; *at;) {
		struct ending *ending = *at;
		if (!ending->swept) {
			at = &ending->next;
			continue;
		}
		if (ending->settle > 0) session_settled(withdrawn->options.session, ending->settle, left, ended);
		*at = ending->next;
		withdrawn->told -= ending->told;
		if (ending->done) ending->done(ending->argument);
		free(ending);
	}
}

/* What was ended may have written there before. */
static void record_replaced(const struct withdrawn *withdrawn) {
	for (size_t i = 0; i < withdrawn->replaced_swept.count; i++)
		session_event(withdrawn->options.session, "finding", NULL, withdrawn->replaced_swept.items[i], 0, NULL,
			      json_pack("{s:s}", "what", "protected"));
}

static void finish(struct withdrawn *withdrawn) {
	const struct holders *left = sweep_left(withdrawn->sweep), *ended = sweep_ended(withdrawn->sweep);
	say(ended, left);
	if (ended->all > 0) record_replaced(withdrawn);
	answer(withdrawn, left, ended);
	if (left->all == 0) forget(withdrawn, false);
	sweep_free(withdrawn->sweep);
	withdrawn->sweep = NULL;
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct withdrawn *withdrawn = argument;
	(void)fd, (void)what;
	if (!withdrawn->sweep && !begin(withdrawn)) return;
	const enum sweep_state state = sweep_turn(withdrawn->sweep);
	if (state == SWEEP_DONE) finish(withdrawn);
	turn_after(withdrawn, state == SWEEP_LATER ? SWEEP_PAUSE_MS : 0);
}

/* Looking through all processes takes its time: first the masks of the new plan are looked after. */
static void settle_soon(void *argument) {
	struct ending *ending = argument;
	ending->in_force = true;
	if (!ending->withdrawn->sweep) turn_after(ending->withdrawn, 0);
}

static struct ending *add_ending(struct withdrawn *withdrawn, bool kill, int64_t settle) {
	struct ending *ending = mem_new(struct ending);
	*ending = (struct ending){.next = withdrawn->endings, .withdrawn = withdrawn, .kill = kill, .settle = settle};
	withdrawn->endings = ending;
	live_when(withdrawn->options.live, settle_soon, ending);
	return ending;
}

/* The kernel gives a lease (fcntl(2)) on what nobody has open to write, in a message or by a map either. Who opens it
 * to write at this moment waits until the lease is closed, and the signal of that is one that does nothing. */
static bool is_written(const char *path) {
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0) return errno != ENOENT;
	if (!S_ISREG(status.st_mode)) return S_ISDIR(status.st_mode);
	return fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0;
}

void withdrawn_replaced(struct withdrawn *withdrawn, const char *path) {
	const bool waits = withdrawn->replaced.count > 0;
	if (strings_contain(&withdrawn->replaced, path) || !is_written(path)) return;
	strings_add(&withdrawn->replaced, path);
	if (!waits) add_ending(withdrawn, false, 0);
}

/* Likewise what is read-only from now on; not what was awaited: the tool may have made that by right, until now. */
static bool withdraws_writing(const struct withdrawn *withdrawn, const struct mount *mount) {
	return mount_shows(mount) && mount->kind != MOUNT_WRITE && mount->kind != MOUNT_PIN &&
	       !strings_contain(&withdrawn->awaited, mount->path);
}

/* What is hidden within a tree that stays may be held as well as what was taken whole; not what the tool made itself,
 * where a node came to lie over it. Of what is hidden because the host has made it (arrivals.h) no broker tells. */
void withdrawn_follow(struct withdrawn *withdrawn, const struct plan *plan, const struct steps *steps) {
	bool more = false;
	forget_leaving(withdrawn);
	for (size_t i = 0; i < steps->count; i++) {
		const struct mount *mount = &steps->items[i].mount;
		const bool hides = mount_hides(mount);
		if (steps->items[i].kind != STEP_PUT || !is_of_host(plan, mount->on)) continue;
		if (!hides && !withdraws_writing(withdrawn, mount)) continue;
		add_cover(withdrawn, mount->path, !hides);
		more |= hides;
	}
	note_awaited(withdrawn, plan);
	if (more && live_hid(withdrawn->options.live)) add_ending(withdrawn, false, 0);
}

void withdrawn_end(struct withdrawn *withdrawn, const struct session_ended *ended) {
	if (ended->count == 0 && ended->settle == 0) return; /* nothing ended: rules or denials */
	withdrawn->told++;
	add_ending(withdrawn, ended->kill, ended->settle)->told = true;
}

bool withdrawn_is_awaited(struct withdrawn *withdrawn) {
	return withdrawn->told > 0;
}

void withdrawn_when(struct withdrawn *withdrawn, void (*done)(void *argument), void *argument) {
	struct ending *ending = add_ending(withdrawn, false, 0);
	ending->done = done;
	ending->argument = argument;
}

void withdrawn_gone(struct withdrawn *withdrawn) {
	static const struct holders none = {0};
	const struct holders *ended = withdrawn->sweep ? sweep_ended(withdrawn->sweep) : &none;
	say(ended, &none);
	answer(withdrawn, &none, ended);
	sweep_free(withdrawn->sweep);
	withdrawn->sweep = NULL;
	for (struct ending *ending = withdrawn->endings; ending; ending = ending->next) ending->swept = true;
	answer(withdrawn, &none, &none);
}

void withdrawn_free(struct withdrawn *withdrawn) {
	if (!withdrawn) return;
	for (struct ending *ending = withdrawn->endings, *next; ending; ending = next) {
		next = ending->next;
		free(ending);
	}
	event_free(withdrawn->turn);
	sweep_free(withdrawn->sweep);
	forget(withdrawn, true);
	forget_leaving(withdrawn);
	free(withdrawn->leaving);
	free(withdrawn->items);
	free(withdrawn->covers);
	strings_finish(&withdrawn->awaited);
	strings_finish(&withdrawn->replaced);
	strings_finish(&withdrawn->replaced_swept);
	free(withdrawn);
}
