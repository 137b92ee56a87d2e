#include "call_needs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/string.h"
#include "plan/sight.h"
#include "sandbox/filter.h"

/* One call that is judged. */
struct judge {
	const struct call *call;
	const struct call_world *world;
	struct call_needs *needs;
	bool hidden;    /* there is no curtain: what it would hold is held here */
	bool programs;  /* rules speak of them */
	bool like_mask; /* the name that is looked at is made, and may be a mask's */
};

static bool exists(const struct judge *judge, const char *path) {
	return judge->world->exists(judge->world->context, path);
}

/* Without a curtain nothing stands where it would have a node: whether there would be one, the host knows. A name that
 * is to be made is in a folder that the host has. */
static bool would_be_asked(const struct judge *judge, const char *path, bool makes) {
	if (exists(judge, path)) return true;
	if (!makes) return false;
	CLEANUP_FREE char *folder = path_parent(path);
	const struct sight around = judge->world->sight(judge->world->context, folder);
	return (around.mode == VIEW_ASK || around.own_or_asked) && exists(judge, folder);
}

/* What the curtain holds goes on in the tree that comes to be there. A name that may be masked in it is held before it
 * comes to the curtain, and judged once more (needs_more in traps.c); and a call that makes a link, which the runner
 * carries out (links.h), the curtain can't hold. */
static bool holds_hidden(const struct judge *judge) {
	return judge->hidden || judge->like_mask || judge->call->text;
}

static void note_made(struct judge *judge, const char *path, bool makes) {
	judge->like_mask = makes && judge->world->sight(judge->world->context, path).like_mask;
}

static struct sight sight_of(const struct judge *judge, const char *path, bool makes) {
	struct sight sight = judge->world->sight(judge->world->context, path);
	if (!(sight.mode == VIEW_ASK && holds_hidden(judge)) && !(sight.own_or_asked && judge->hidden)) return sight;
	if (would_be_asked(judge, path, makes))
		sight.mode = VIEW_ASK;
	else if (sight.mode == VIEW_ASK)
		sight.mode = VIEW_ABSENT;
	return sight;
}

static void add(struct judge *judge, enum permission_kind permission, const char *path, bool by_folder) {
	struct call_needs *needs = judge->needs;
	for (size_t i = 0; i < needs->count; i++)
		if (needs->items[i].permission == permission && strcmp(needs->items[i].path, path) == 0) return;
	if (needs->count == NEEDS_MAX) return;
	needs->items[needs->count++] = (struct need){.permission = permission, .path = path, .by_folder = by_folder};
}

/* `path` is taken over. */
static void add_owned(struct judge *judge, enum permission_kind permission, char *path, bool by_folder) {
	const size_t before = judge->needs->count;
	add(judge, permission, path, by_folder);
	if (judge->needs->count == before)
		free(path);
	else
		judge->needs->owned[before] = path;
}

static void add_folder(struct judge *judge, const char *path) {
	add_owned(judge, PERMISSION_FS_WRITE, path_parent(path), true);
}

/* May what is at `path`, or a folder's names, be changed if somebody allows it? */
static bool change_is_asked(const struct judge *judge, const struct sight *sight) {
	return (sight->mode == VIEW_READ && sight->ask_write) || (sight->mode == VIEW_ASK && holds_hidden(judge));
}

static bool is_asked(const struct sight *sight) {
	return sight->program && sight->mode >= VIEW_READ;
}

/* One that is denied the broker refuses, whatever its file may have to be asked for. */
static bool is_judged(const struct sight *sight) {
	return is_asked(sight) || (sight->denied && sight->mode >= VIEW_ASK);
}

/* What a rule's name matches may be a folder of libraries (/usr/lib/python3), and a shell tries each folder of PATH. */
static bool is_judged_program(const struct judge *judge, const struct sight *sight, const char *path) {
	return is_judged(sight) && judge->world->is_program(judge->world->context, path);
}

/* A mask is gone when the host has removed what it lay on, and is put back once something is there (masks.h). */
static bool is_torn_off(const struct judge *judge, const struct sight *sight, const char *path) {
	if (sight->mask == 0) return false;
	CLEANUP_FREE char *place = string_copy_bytes(path, sight->mask);
	return !exists(judge, place);
}

/* May the name not be made unasked? */
static bool is_masked(const struct judge *judge, const struct sight *sight, const char *path) {
	return sight->masked_missing || sight->masked_name || sight->masked_lock || is_torn_off(judge, sight, path);
}

/* What lies at a lock's name becomes the masked file: that one is asked about. */
static void add_masked(struct judge *judge, const struct sight *sight, const char *path) {
	if (sight->masked_lock)
		add_owned(judge, PERMISSION_FS_WRITE, string_copy_bytes(path, sights_locked(path)), false);
	else
		add(judge, PERMISSION_FS_WRITE, path, false);
}

/* May what is renamed or linked to the path bring a masked name along? */
static bool may_bring(const struct judge *judge, const struct sight *sight, const char *path) {
	const struct call *call = judge->call;
	const bool exchanges = call->makes[0] && call->makes[1];
	if (!call->brings) return false;
	return sight->above_missing ||
	       (sight->above_mask && (exchanges || judge->world->vacant(judge->world->context, path)));
}

/* What is put in a folder's place may have a masked name in it, now or when somebody has put one there by the folder
 * itself: the first is asked about, since the folder may be written. */
static void add_mask_below(struct judge *judge, const char *folder) {
	const struct call_world *world = judge->world;
	const char *name = world->mask_below ? world->mask_below(world->context, folder) : folder;
	const size_t before = judge->needs->count;
	if (!name) return;
	add_owned(judge, PERMISSION_FS_WRITE, string_copy(name), false);
	const bool moves = judge->call->class == CALL_NAMES && !judge->call->text;
	if (judge->needs->count > before) judge->needs->items[before].brought = moves;
}

/* What the host has made since the plan was made has no mask yet that would stand for itself. */
static bool is_masked_open(const struct judge *judge, const struct sight *sight, const char *path) {
	const struct call *call = judge->call;
	if (call->nameless || !(call->create || call->write) || !is_masked(judge, sight, path)) return false;
	return call->create || exists(judge, path);
}

static bool lands(const struct judge *judge, const char *path) {
	return judge->world->lands(judge->world->context, path);
}

/* What would be made in the sandbox's own folders where nobody looks for it is made on the host. True: it is so. A link
 * is asked about by where it leads (links.h). */
static bool is_lost(struct judge *judge, const struct sight *sight, const char *path) {
	if (!sight->lost || !lands(judge, path)) return false;
	judge->needs->made = true;
	if (!sight->given && !judge->call->text) {
		add(judge, PERMISSION_FS_WRITE, path, false);
		judge->needs->items[judge->needs->count - 1].made = true;
	}
	return true;
}

static void judge_open(struct judge *judge, const char *path) {
	const struct call *call = judge->call;
	note_made(judge, path, call->create);
	const struct sight sight = sight_of(judge, path, call->create);
	if (call->create && !call->nameless && is_lost(judge, &sight, path)) return;
	if (is_masked_open(judge, &sight, path)) {
		add_masked(judge, &sight, path);
	} else if (call->create && !call->nameless && sight.above_missing && !exists(judge, path)) {
		add_mask_below(judge, path); /* as a file `.git` leads to another one */
	} else if ((call->write || call->create) && change_is_asked(judge, &sight)) {
		const bool there = call->nameless || exists(judge, path);
		if (call->nameless)
			add(judge, PERMISSION_FS_WRITE, path, true);
		else if (!there && call->create)
			add_folder(judge, path);
		else if (there && call->write) /* else the kernel says ENOENT, whatever is answered */
			add(judge, PERMISSION_FS_WRITE, path, false);
	}
	if (judge->needs->count > 0 || !judge->hidden) return;
	if (sight.mode == VIEW_ASK) {
		add(judge, PERMISSION_FS_READ, path, false);
		judge->needs->items[0].listing = call->listing;
	} else if (judge->programs && !call->write && is_judged_program(judge, &sight, path)) {
		add(judge, PERMISSION_PROC_SPAWN, path, false); /* "ld.so PROGRAM" reads it, as the curtain would see */
	}
}

/* Behind its links, and what its `#!` line or ELF header names: the first that is asked about. A file without a name
 * (memfd_create(2)) has these, too: its path is empty. */
static void judge_interpreters(struct judge *judge, const char *path) {
	CLEANUP_STRINGS struct strings programs = {0};
	if (!judge->programs) return;
	judge->world->programs(judge->world->context, path, &programs);
	for (size_t i = 0; i < programs.count; i++) {
		const struct sight sight = sight_of(judge, programs.items[i], false);
		if (!is_judged_program(judge, &sight, programs.items[i])) continue;
		add_owned(judge, PERMISSION_PROC_SPAWN, string_copy(programs.items[i]), false);
		return;
	}
}

static void judge_execute(struct judge *judge, const char *path) {
	const struct sight sight = sight_of(judge, path, false);
	if (sight.mode == VIEW_ASK && judge->hidden) add(judge, PERMISSION_FS_READ, path, false);
	if ((sight.program && judge->needs->count > 0) || (judge->programs && is_judged_program(judge, &sight, path)))
		add(judge, PERMISSION_PROC_SPAWN, path, false);
	else if (sight.mode >= VIEW_READ)
		judge_interpreters(judge, path);
}

/* What `.` and `..` name is there: the kernel makes nothing by them (EEXIST, EBUSY; link_path_walk's LAST_NORM in
 * fs/namei.c), though a masked name may be missing below. */
static bool is_made(const struct call *call, size_t which) {
	size_t size;
	const char *last = call->ways[which] ? path_last(call->ways[which], &size) : NULL;
	const bool dots = last && ((size == 1 && *last == '.') || (size == 2 && strncmp(last, "..", 2) == 0));
	return call->makes[which] && !dots;
}

/* What is there already comes to the host as it comes to any other file system: it is copied (rename(2), link(2)). What
 * is no file or folder could be shown by no mount. */
static bool judge_lost(struct judge *judge, const struct sight *sight, const char *path) {
	const struct call *call = judge->call;
	const bool brought = call->makes[1];
	if (!brought && !call->special) return is_lost(judge, sight, path);
	if (!lands(judge, path)) return false;
	judge->needs->code = brought ? EXDEV : EROFS;
	return true;
}

/* A file that the run has made on the host is a mount point, which the kernel would call busy. The runner removes it,
 * as long as the view lets the run write it. */
static bool is_made_here(const struct judge *judge, const char *path) {
	const struct call *call = judge->call;
	if (call->makes[1] || !call->removes[0] || !judge->world->made(judge->world->context, path)) return false;
	const struct sight sight = judge->world->sight(judge->world->context, path);
	return sight.hosts && sight.mode == VIEW_WRITE;
}

/* A folder of the sandbox's own with mounts in it is where the plan says, or what is in them would be judged by another
 * name. */
static bool is_scaffolding(const struct judge *judge, const struct sight *sight) {
	const struct call *call = judge->call;
	return call->makes[1] && sight->leads && !sight->hosts && sight->mode == VIEW_WRITE;
}

/* A name that comes or goes changes its folder; one that is a mount point of its own (a mask) has to go first. */
static void judge_name(struct judge *judge, size_t which, const char *path) {
	const bool makes = is_made(judge->call, which);
	if (is_made_here(judge, path)) {
		judge->needs->made = true;
		return;
	}
	note_made(judge, path, makes);
	const struct sight sight = sight_of(judge, path, makes);
	if (judge->call->removes[which] && is_scaffolding(judge, &sight)) {
		judge->needs->code = EBUSY;
		return;
	}
	/* EEXIST: `mv FOLDER ROOT/` tries that first */
	if (makes && judge->call->exclusive && sight.hosts && exists(judge, path)) return;
	if (makes && is_masked(judge, &sight, path)) {
		add_masked(judge, &sight, path);
		return;
	}
	if (makes && sight.lost && judge_lost(judge, &sight, path)) return;
	if (makes && may_bring(judge, &sight, path)) add_mask_below(judge, path);
	if (!change_is_asked(judge, &sight)) return;
	CLEANUP_FREE char *folder = path_parent(path);
	const struct sight around = sight_of(judge, folder, false);
	if (around.mode == VIEW_WRITE)
		add(judge, PERMISSION_FS_WRITE, path, false);
	else if (change_is_asked(judge, &around))
		add_folder(judge, path);
}

static void judge_change(struct judge *judge, const char *path) {
	const struct sight sight = sight_of(judge, path, false);
	const bool masked = is_masked(judge, &sight, path) && exists(judge, path);
	/* also what is hidden behind the curtain, which gets these calls under a lock and can't hold them */
	if (masked)
		add_masked(judge, &sight, path);
	else if (sight.mode == VIEW_ASK || change_is_asked(judge, &sight))
		add(judge, PERMISSION_FS_WRITE, path, false);
}

/* By a descriptor of the tree that the mask lies in, which may be written: the mask doesn't stand for itself. */
static bool is_masked_since(const struct judge *judge, const struct sight *sight, size_t which) {
	return judge->call->by_object[which] && sight->mask > 0;
}

static bool is_changed(const struct call *call) {
	return call->class == CALL_CHANGE || (call->class == CALL_OPEN && call->write);
}

/* True: that is all that it may need. What is covered by something else counts by its mask alone. */
static bool judge_object(struct judge *judge, size_t which, const char *path) {
	const struct call *call = judge->call;
	if (!call->by_object[which]) return false;
	const struct sight sight = judge->world->sight(judge->world->context, path);
	if (!is_masked_since(judge, &sight, which) || !is_changed(call))
		return call->covered[which] && !call_links(call);
	add(judge, PERMISSION_FS_WRITE, path, false);
	return true;
}

/* Another name of a file that a mask's name stands for, or that was granted by its own, would outlive both: as from one
 * file system to another. */
static void judge_linked(struct judge *judge, const char *path) {
	const struct sight sight = judge->world->sight(judge->world->context, path);
	const bool masked = sight.hosts && (sight.own_name || is_masked(judge, &sight, path));
	if (masked || is_masked_since(judge, &sight, 0)) judge->needs->code = EXDEV;
}

static bool is_kernels(const char *path) {
	static const char *const trees[] = {"/proc", "/sys", "/dev"};
	return path_is_below_any(path, trees, ARRAY_LENGTH(trees));
}

void call_needs_find(const struct call *call, unsigned wanted, const struct call_world *world,
		     struct call_needs *ret_needs) {
	*ret_needs = (struct call_needs){.count = 0};
	struct judge judge = {.call = call,
			      .world = world,
			      .needs = ret_needs,
			      .hidden = wanted & TRAPS_OPENS,
			      .programs = wanted & TRAPS_PROGRAMS};
	for (size_t i = 0; i < CALL_PATHS; i++) {
		const char *path = call->paths[i];
		if (call->class == CALL_EXECUTE && i == 0 && !path) judge_interpreters(&judge, "");
		if (!path || (is_kernels(path) && call->class != CALL_EXECUTE)) continue;
		if (judge_object(&judge, i, path)) continue;
		switch (call->class) {
		case CALL_OPEN:
			judge_open(&judge, path);
			break;
		case CALL_EXECUTE:
			judge_execute(&judge, path);
			break;
		case CALL_NAMES:
			if (i == 0 && call_links(call)) judge_linked(&judge, path);
			if (call->makes[i] || call->removes[i]) judge_name(&judge, i, path);
			break;
		case CALL_CHANGE:
			judge_change(&judge, path);
			break;
		case CALL_LOOK:
		case CALL_OTHER:
			break;
		}
	}
}

static bool is_among(const struct call_needs *needs, const struct need *need) {
	for (size_t i = 0; i < needs->count; i++)
		if (needs->items[i].permission == need->permission && string_equal(needs->items[i].path, need->path))
			return true;
	return false;
}

void call_needs_take_others(struct call_needs *needs, struct call_needs *from) {
	struct call_needs others = {.count = 0};
	for (size_t i = 0; i < from->count; i++) {
		if (is_among(needs, &from->items[i])) continue;
		others.owned[others.count] = STEAL(from->owned[i]);
		others.items[others.count++] = from->items[i];
	}
	call_needs_finish(needs);
	*needs = others;
}

void call_needs_finish(struct call_needs *needs) {
	for (size_t i = 0; i < NEEDS_MAX; i++) free(needs->owned[i]);
	*needs = (struct call_needs){.count = 0};
}
