#include "sight.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/string.h"
#include "schema/home.h"
#include "schema/patterns.h"

enum { SIGHT_LINKS = 40 }; /* as the kernel's MAXSYMLINKS (path_resolution(7)) */

struct sights {
	const struct view *view;
	const struct mount **mounts, **coming; /* by path */
	size_t mount_count, coming_count;
	struct strings missing;    /* sorted */
	struct patterns programs;  /* that are asked about */
	struct patterns denied;    /* programs */
	struct patterns masks;     /* names like these are not made unasked */
	struct strings names;      /* of all masks, in small letters and sorted */
	struct patterns shapes;    /* "/NAME": likewise */
	bool any_name;             /* likewise: whatever it is called */
	struct strings mask_names; /* sorted: of masks in writable trees; of git's files the git directory's */
	const struct programs_linked *linked;
	const struct plan *plan;
};

static int compare_mounts(const void *a, const void *b) {
	return strcmp((*(const struct mount *const *)a)->path, (*(const struct mount *const *)b)->path);
}

/* The broker has compiled them, too. */
static void compile_patterns(struct sights *sights) {
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	const struct view *view = sights->view;
	for (size_t i = 0; i < view->program_count; i++) {
		const struct view_program *program = &view->programs[i];
		if (program->mode == VIEW_ASK && view->doorbell != VIEW_DOORBELL_NONE)
			patterns_add(&sights->programs, PERMISSION_PROC_SPAWN, program->pattern, &scope, NULL);
		if (program->mode == VIEW_ABSENT)
			patterns_add(&sights->denied, PERMISSION_PROC_SPAWN, program->pattern, &scope, NULL);
	}
	for (size_t i = 0; i < view->path_count; i++)
		if (view_path_masks(&view->paths[i]))
			patterns_add(&sights->masks, PERMISSION_FS_WRITE, view->paths[i].path, &scope, NULL);
}

static const struct mount **by_path(const struct plan *plan) {
	const struct mount **mounts = mem_array(const struct mount *, plan->count + 1);
	for (size_t i = 0; i < plan->count; i++) mounts[i] = &plan->mounts[i];
	qsort(mounts, plan->count, sizeof(void *), compare_mounts);
	return mounts;
}

/* A list sorted by path, whatever is in it. */
struct list {
	const void *items;
	size_t count;
	const char *(*path)(const void *items, size_t index);
};

static const char *path_of_mount(const void *items, size_t index) {
	return ((const struct mount *const *)items)[index]->path;
}

static const char *path_of_text(const void *items, size_t index) {
	return ((char *const *)items)[index];
}

/* The first whose path isn't before the first `size` bytes of `path`. */
static size_t lower_bound(const struct list *list, const char *path, size_t size) {
	size_t low = 0, high = list->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *other = list->path(list->items, middle);
		if (strncmp(other, path, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has(const struct list *list, size_t index, const char *path, size_t size) {
	const char *other = index < list->count ? list->path(list->items, index) : NULL;
	return other && strncmp(other, path, size) == 0 && other[size] == '\0';
}

/* The one at the first `size` bytes of `path` or nearest above; -1 when there is none. Of equal paths the first. */
static ptrdiff_t nearest_to(const struct list *list, const char *path, size_t size) {
	for (;;) {
		size_t index = lower_bound(list, path, size);
		if (has(list, index, path, size)) return (ptrdiff_t)index;
		if (size <= 1) return -1;
		while (size > 1 && path[size - 1] != '/') size--;
		if (size > 1) size--;
	}
}

static ptrdiff_t nearest(const struct list *list, const char *path) {
	return nearest_to(list, path, strlen(path));
}

/* Is one of them the first `size` bytes of `path` or below? */
static bool reaches_at(const struct list *list, const char *path, size_t size) {
	if (size == 1) return list->count > 0;
	size_t index = lower_bound(list, path, size);
	if (has(list, index, path, size)) return true;
	/* "/a-b" lies between "/a" and "/a/b" */
	for (; index < list->count; index++) {
		const char *other = list->path(list->items, index);
		if (strncmp(other, path, size) != 0 || other[size] > '/') return false;
		if (other[size] == '/') return true;
	}
	return false;
}

static bool reaches(const struct list *list, const char *path) {
	return reaches_at(list, path, strlen(path));
}

enum view_mode sight_rule(const struct view *view, const char *path, bool *ret_ask_write) {
	const struct view_path *entry = view_at(view, path);
	*ret_ask_write = entry && entry->ask_write;
	return entry ? entry->mode : VIEW_ABSENT;
}

/* Is more said of the path itself than of the place that a rule's link leads to? */
static bool has_own_rule(const struct view_path *own, const char *place) {
	if (!own || !path_is_below(own->path, place)) return false;
	return own->mode < VIEW_READ || !string_equal(own->path, place);
}

/* The name by which a rule that names a link asks about what lies at the path, in `name`; NULL: none does. */
static const char *name_asked(const struct sights *sights, const struct view *view, const char *path,
			      char name[PATH_MAX]) {
	const struct programs_linked *asked = &sights->plan->asked;
	const struct view_path *own = asked->places.count > 0 ? view_at(view, path) : NULL;
	for (size_t i = 0; i < asked->places.count; i++) {
		const char *place = asked->places.items[i];
		bool ask_write;
		if (!path_is_below(path, place) || has_own_rule(own, place)) continue;
		const int size = snprintf(name, PATH_MAX, "%s%s", asked->names.items[i], path + strlen(place));
		if (size < PATH_MAX && sight_rule(view, name, &ask_write) == VIEW_ASK) return name;
	}
	return NULL;
}

enum view_mode sights_rule(const struct sights *sights, const struct view *view, const char *path,
			   bool *ret_ask_write) {
	char name[PATH_MAX];
	return sight_rule(view, name_asked(sights, view, path, name) ? name : path, ret_ask_write);
}

/* ASK: by the view, which also knows what lies behind a node that was hung for a part of it. */
static enum view_mode mode_of_mount(const struct mount *mount, enum view_mode rule) {
	static const enum view_mode modes[] = {
		[MOUNT_READ] = VIEW_READ,     [MOUNT_WRITE] = VIEW_WRITE, [MOUNT_PIN] = VIEW_WRITE,
		[MOUNT_FRESH] = VIEW_WRITE,   [MOUNT_OWN] = VIEW_WRITE,   [MOUNT_HIDE_FOLDER] = VIEW_ASK,
		[MOUNT_HIDE_FILE] = VIEW_ASK, [MOUNT_LINK] = VIEW_READ,   [MOUNT_HELD] = VIEW_READ,
		[MOUNT_CURTAIN] = VIEW_ASK,   [MOUNT_PROC] = VIEW_WRITE,  [MOUNT_DEV] = VIEW_WRITE,
		[MOUNT_TEXT] = VIEW_READ,
	};
	static_assert(ARRAY_LENGTH(modes) == MOUNT_KIND_COUNT, "every kind of mount");
	const enum view_mode mode = mount ? modes[mount->kind] : VIEW_ASK;
	if (mode != VIEW_ASK) return mode;
	return rule == VIEW_ABSENT ? VIEW_ABSENT : VIEW_ASK;
}

size_t sights_locked(const char *path) {
	static const char *const locks[] = {"config.lock", "config.worktree.lock", ".gitmodules.lock",
					    ".gitconfig.lock"};
	const char *name = path_name(path);
	for (size_t i = 0; i < ARRAY_LENGTH(locks); i++)
		if (string_equal(name, locks[i])) return strlen(path) - strlen(".lock");
	return 0;
}

/* Is it in a writable tree of the host's, and does a pattern mask it? An entry of the view at least as close as the
 * pattern's match counts: the broker has judged its path by all rules and grants. */
static bool is_masked_name(const struct sights *sights, const struct mount *mount, const char *path) {
	if (!mount || (mount->kind != MOUNT_WRITE && mount->kind != MOUNT_PIN)) return false;
	for (size_t i = 0; i < sights->masks.count; i++) {
		struct pattern_rank rank;
		if (!pattern_match(sights->masks.items[i], path, &rank)) continue;
		const struct view_path *entry = view_at(sights->view, path);
		if (!entry || path_depth(entry->path) < rank.depth) return true;
	}
	return false;
}

/* A tree of the host's that may be written, by the host's own name. */
static bool is_hosts_tree(const struct mount *mount) {
	return mount && (mount->kind == MOUNT_WRITE || mount->kind == MOUNT_PIN) &&
	       string_equal(mount->path, mount->source);
}

/* The home's folder, or in a home that lasts one that many programs share. */
static bool is_homes_own(const struct mount *mount, const char *path) {
	return mount->kind == MOUNT_OWN ? home_has_folder(mount->path, path) : string_equal(mount->path, path);
}

/* In a folder of the sandbox's own. What a tool keeps by a name with a dot is its own, also where the host's is mounted
 * in it (~/.cargo/bin), unless the host's by that name may be written. */
static bool would_be_lost(const struct sights *sights, const struct mount *mount, const char *path, bool given) {
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	if (!mount || (mount->kind != MOUNT_FRESH && mount->kind != MOUNT_OWN) || mount_is_given(mount)) return false;
	const size_t top = strlen(mount->path), folder = (size_t)(strrchr(path, '/') - path);
	if (folder < top || (path[top + 1] == '.' && !given)) return false;
	return folder == top ? given || mount->kind == MOUNT_OWN : reaches_at(&mounts, path, folder);
}

/* The length of the path of a mask that lies in such a tree; else 0. */
static size_t mask_length(const struct sights *sights, const struct mount *mount, enum view_mode mode) {
	if (!mount || mode == VIEW_WRITE || mount->kind == MOUNT_LINK) return 0;
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	const size_t parent = (size_t)(strrchr(mount->path, '/') - mount->path);
	const ptrdiff_t above = nearest_to(&mounts, mount->path, parent > 0 ? parent : 1);
	return above >= 0 && is_hosts_tree(sights->mounts[above]) ? strlen(mount->path) : 0;
}

static void add_mask_name(struct sights *sights, const char *path) {
	static const char *const gits[] = {"hooks", "config", "config.worktree", "commondir", "gitdir", "attributes"};
	const char *name = path_name(path);
	if (strstr(path, "/.git/")) return; /* `.git` is one */
	for (size_t i = 0; i < ARRAY_LENGTH(gits); i++) {
		if (!string_equal(name, gits[i])) continue;
		CLEANUP_FREE char *folder = path_parent(path);
		strings_add(&sights->mask_names, path_name(folder));
		return;
	}
	strings_add(&sights->mask_names, name);
}

static void find_mask_names(struct sights *sights) {
	strings_add(&sights->mask_names, ".git");
	for (size_t i = 0; i < sights->missing.count; i++) add_mask_name(sights, sights->missing.items[i]);
	for (size_t i = 0; i < sights->mount_count; i++) {
		const struct mount *mount = sights->mounts[i];
		const bool own = mount->kind == MOUNT_WRITE || mount->kind == MOUNT_PIN || mount->kind == MOUNT_FRESH ||
				 mount->kind == MOUNT_OWN;
		if (!own && mask_length(sights, mount, VIEW_READ) > 0) add_mask_name(sights, mount->path);
	}
	strings_sort(&sights->mask_names);
}

/* The one that is `used`, or the first; NULL: there is none. */
static const char *link_to_program(const struct sights *sights, const char *path, const char *used) {
	const struct programs_linked *linked = sights->linked;
	const char *first = NULL;
	for (size_t i = 0; i < linked->places.count; i++) {
		if (!string_equal(linked->places.items[i], path)) continue;
		if (string_equal(linked->names.items[i], used)) return linked->names.items[i];
		if (!first) first = linked->names.items[i];
	}
	return first;
}

const char *sights_program(const struct sights *sights, const char *path, const char *used) {
	const char *name = patterns_match(&sights->programs, path) ? NULL : link_to_program(sights, path, used);
	return name ? name : path;
}

/* A mask that the host lacks may be named by a link that leads there. */
static char *name_of_missing(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->missing_names.count; i++) {
		const char *place = plan->missing.items[i];
		if (path_is_below(path, place))
			return string_format("%s%s", plan->missing_names.items[i], path + strlen(place));
	}
	return NULL;
}

char *sights_name(const struct sights *sights, const struct need *need, const char *used) {
	if (need->permission == PERMISSION_PROC_SPAWN) return string_copy(sights_program(sights, need->path, used));
	char *missing = need->permission == PERMISSION_FS_WRITE ? name_of_missing(sights->plan, need->path) : NULL;
	if (missing) return missing;
	char name[PATH_MAX];
	const bool files = need->permission == PERMISSION_FS_READ || need->permission == PERMISSION_FS_WRITE;
	return string_copy(files && name_asked(sights, sights->view, need->path, name) ? name : need->path);
}

/* Whether the folder is case-folded (ext4's +F) nobody asks. */
static void add_name(struct sights *sights, const char *path) {
	CLEANUP_FREE char *name = string_copy(path_name(path));
	for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
	strings_add(&sights->names, name);
	strings_addf(&sights->names, "%s.lock", name);
}

/* The name that a pattern ends in. */
static void add_shape(struct sights *sights, const char *pattern) {
	const struct pattern_scope scope = {.uid = getuid()};
	const char *name = path_name(pattern);
	CLEANUP_FREE char *shape = string_format("/%s", name);
	if (*name && !name[strcspn(name, "*?[]{}\\")])
		add_name(sights, name);
	else if (!*name || patterns_add(&sights->shapes, PERMISSION_FS_WRITE, shape, &scope, NULL) < 0)
		sights->any_name = true;
}

/* Is a mask that is missing at or above what is mounted? Then its name isn't among those that are compared. */
static bool has_missing_above(const struct sights *sights) {
	const struct list missing = {sights->missing.items, sights->missing.count, path_of_text};
	bool above = false;
	for (size_t i = 0; i < sights->mount_count && !above; i++)
		above = nearest(&missing, sights->mounts[i]->path) >= 0;
	return above;
}

/* What sights_plain compares with. */
static void name_masks(struct sights *sights) {
	const struct view *view = sights->view;
	for (size_t i = 0; i < sights->missing.count; i++) add_name(sights, sights->missing.items[i]);
	for (size_t i = 0; i < view->path_count; i++)
		if (view_path_masks(&view->paths[i])) add_shape(sights, view->paths[i].path);
	for (size_t i = 0; i < sights->mount_count; i++)
		if (mask_length(sights, sights->mounts[i], mode_of_mount(sights->mounts[i], VIEW_ASK)) > 0)
			add_name(sights, sights->mounts[i]->path);
	strings_sort(&sights->names);
	sights->any_name |= has_missing_above(sights);
}

static void add_missing(struct sights *sights, const struct plan *plan) {
	for (size_t i = 0; i < plan->missing.count; i++) strings_add(&sights->missing, plan->missing.items[i]);
}

struct sights *sights_new(const struct plan *plan, const struct plan *coming, const struct view *view) {
	static const struct plan none = {0};
	if (!coming) coming = &none;
	struct sights *sights = mem_new(struct sights);
	*sights = (struct sights){.view = view,
				  .linked = &plan->linked,
				  .plan = plan,
				  .mounts = by_path(plan),
				  .mount_count = plan->count,
				  .coming = by_path(coming),
				  .coming_count = coming->count};
	add_missing(sights, plan);
	add_missing(sights, coming); /* a tree may be there before this is replaced, and a call go on by it */
	strings_sort(&sights->missing);
	find_mask_names(sights);
	compile_patterns(sights);
	name_masks(sights);
	return sights;
}

void sights_free(struct sights *sights) {
	if (!sights) return;
	patterns_finish(&sights->programs);
	patterns_finish(&sights->denied);
	patterns_finish(&sights->masks);
	patterns_finish(&sights->shapes);
	free(sights->mounts);
	free(sights->coming);
	strings_finish(&sights->missing);
	strings_finish(&sights->names);
	strings_finish(&sights->mask_names);
	free(sights);
}

/* Does a pattern's last name match, one with wildcards? */
static bool has_masks_shape(const struct sights *sights, const char *name, size_t size) {
	char path[NAME_MAX + 2] = "/";
	if (sights->shapes.count == 0 || size > NAME_MAX) return false;
	memcpy(path + 1, name, size);
	path[size + 1] = '\0';
	return patterns_match(&sights->shapes, path);
}

/* May a mask be called so? */
static bool is_masks_name(const struct sights *sights, const char *name, size_t size) {
	char small[NAME_MAX + 1];
	const struct list names = {sights->names.items, sights->names.count, path_of_text};
	if (size > NAME_MAX) return true;
	for (size_t i = 0; i < size; i++) small[i] = (char)tolower((unsigned char)name[i]);
	small[size] = '\0';
	return has(&names, lower_bound(&names, small, size + 1), small, size) || has_masks_shape(sights, name, size);
}

static bool has_masks_name(const struct sights *sights, const char *names) {
	for (const char *at = names; *(at += strspn(at, "/"));) {
		const size_t size = strcspn(at, "/");
		if (is_masks_name(sights, at, size)) return true;
		at += size;
	}
	return false;
}

/* From where on the names of a path may be a mask's. What a pattern masks at or above the mount's own path it masks in
 * all of the mount, unless the view says something that is closer (is_masked_name). */
static size_t begin_of_names(const struct sights *sights, const struct mount *mount, const char *path) {
	const struct view_path *entry = view_at(sights->view, path);
	const size_t top = strlen(mount->path), said = entry ? strlen(entry->path) : 0;
	return said < top ? said : top;
}

bool sights_plain(const struct sights *sights, const char *path) {
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	const struct list missing = {sights->missing.items, sights->missing.count, path_of_text};
	const ptrdiff_t index = nearest(&mounts, path);
	const struct mount *mount = index < 0 ? NULL : sights->mounts[index];
	if (!mount || mode_of_mount(mount, VIEW_ASK) != VIEW_WRITE || sights->any_name) return false;
	if (string_equal(mount->path, path)) return false; /* it may go as its mount does (host_make.h) */
	bool ask_write;
	const bool given = sights_rule(sights, sights->view, path, &ask_write) == VIEW_WRITE;
	if (would_be_lost(sights, mount, path, given)) return false;
	if (reaches(&missing, path)) return false;
	return !has_masks_name(sights, path + begin_of_names(sights, mount, path));
}

/* Is it the lock of a file that is masked, or would be if it were there? */
static bool is_masked_lock(const struct sights *sights, const char *path) {
	char file[PATH_MAX];
	const size_t size = sights_locked(path);
	if (size == 0 || size >= sizeof file) return false;
	memcpy(file, path, size);
	file[size] = '\0';
	const struct sight sight = sights_at(sights, file);
	return sight.masked_missing || sight.masked_name || sight.mask == size;
}

/* Does the view speak of that very path, or a pattern that masks? */
static bool has_own_word(const struct sights *sights, const char *path) {
	const struct view_path *entry = view_at(sights->view, path);
	return (entry && string_equal(entry->path, path)) || patterns_match(&sights->masks, path);
}

struct sight sights_at(const struct sights *sights, const char *path) {
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	const struct list coming = {sights->coming, sights->coming_count, path_of_mount};
	const struct list missing = {sights->missing.items, sights->missing.count, path_of_text};
	const struct list names = {sights->mask_names.items, sights->mask_names.count, path_of_text};
	const char *name = path_name(path);
	ptrdiff_t index = nearest(&mounts, path);
	const struct mount *mount = index < 0 ? NULL : sights->mounts[index];
	bool ask_write;
	const enum view_mode rule = sights_rule(sights, sights->view, path, &ask_write);
	struct sight sight = {.mode = mode_of_mount(mount, rule),
			      .leads = reaches(&mounts, path) || reaches(&coming, path),
			      .program = patterns_match(&sights->programs, path) || link_to_program(sights, path, NULL),
			      .denied = patterns_match(&sights->denied, path),
			      .masked_missing = nearest(&missing, path) >= 0,
			      .hosts = is_hosts_tree(mount),
			      .mask_name = has(&names, lower_bound(&names, name, strlen(name)), name, strlen(name)) ||
					   has_masks_shape(sights, name, strlen(name))};
	sight.given = rule == VIEW_WRITE;
	sight.lost = would_be_lost(sights, mount, path, sight.given);
	sight.masked_name = !sight.masked_missing && is_masked_name(sights, mount, path);
	sight.masked_lock = sight.hosts && is_masked_lock(sights, path);
	sight.own_name = sight.hosts && has_own_word(sights, path);
	sight.like_mask = sight.mode == VIEW_ASK && has_masks_name(sights, path);
	/* with a curtain, what the host has would be a node */
	sight.own_or_asked = rule == VIEW_ASK && mount && (mount->kind == MOUNT_FRESH || mount->kind == MOUNT_OWN) &&
			     !is_homes_own(mount, path);
	/* a node on a program that is seen: no rule for files speaks of it */
	if (mount && mount->kind == MOUNT_CURTAIN && sight.program) sight.mode = VIEW_ASK;
	sight.visible = sight.program && sight.mode == VIEW_ASK && rule != VIEW_ASK;
	sight.above_missing = !sight.masked_missing && reaches(&missing, path);
	sight.mask = mask_length(sights, mount, sight.mode);
	sight.above_mask = is_hosts_tree(mount) && reaches(&mounts, path);
	/* where the view says read: what is shown although it asks (the command's place) is as it is */
	sight.ask_write = ask_write && rule == VIEW_READ && sight.mode == VIEW_READ;
	if (mount && mount->kind == MOUNT_TEXT) sight.ask_write = false;
	return sight;
}

/* Of the names below the folder in the list the first that takes something away there. */
static const char *first_below(const struct list *list, bool (*takes)(const void *items, size_t index),
			       const char *folder) {
	const size_t size = strlen(folder);
	for (size_t i = lower_bound(list, folder, size); i < list->count; i++) {
		const char *name = list->path(list->items, i);
		if (strncmp(name, folder, size) != 0) break;
		if (name[size] == '/' && takes(list->items, i)) return name;
	}
	return NULL;
}

static bool takes_as_mount(const void *items, size_t index) {
	const struct mount *mount = ((const struct mount *const *)items)[index];
	return mount->kind != MOUNT_WRITE && mount->kind != MOUNT_PIN;
}

static bool takes_as_missing(const void *items, size_t index) {
	(void)items, (void)index;
	return true;
}

const char *sights_mask_below(const struct sights *sights, const char *folder) {
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	const struct list missing = {sights->missing.items, sights->missing.count, path_of_text};
	const char *name = first_below(&missing, takes_as_missing, folder);
	return name ? name : first_below(&mounts, takes_as_mount, folder);
}

bool sights_give(const struct sights *sights, const struct need *need) {
	const struct sight sight = sights_at(sights, need->path);
	switch (need->permission) {
	case PERMISSION_PROC_SPAWN:
		return !sight.program && !sight.denied && sight.mode >= VIEW_READ;
	case PERMISSION_FS_READ:
		return sight.mode >= VIEW_READ && !sight.own_or_asked;
	case PERMISSION_FS_WRITE:
		if (sight.lost && !sight.given) return false;
		return sight.mode == VIEW_WRITE && !sight.own_or_asked && !sight.masked_missing && !sight.masked_name;
	case PERMISSION_FS_LINK:
	case PERMISSION_NET_ACCESS:
	case PERMISSION_NET_LISTEN:
	case PERMISSION_IPC_CONNECT:
	case PERMISSION_ENV_READ:
	case PERMISSION_CUSTOM:
		break;
	}
	return false;
}

/* One link on the way; NULL when there is none. */
static char *follow(const struct sights *sights, const char *path, bool last) {
	const struct list mounts = {sights->mounts, sights->mount_count, path_of_mount};
	ptrdiff_t index = nearest(&mounts, path);
	const struct mount *mount = index < 0 ? NULL : sights->mounts[index];
	if (!mount || mount->kind != MOUNT_LINK || (!last && string_equal(mount->path, path))) return NULL;
	CLEANUP_FREE char *folder = path_parent(mount->path);
	CLEANUP_FREE char *text = string_format("%s%s", mount->source, path + strlen(mount->path));
	char *followed;
	return path_normalise(folder, text, &followed, NULL) == 0 ? followed : NULL;
}

char *sights_resolve(const struct sights *sights, const char *path, bool last) {
	char *resolved = string_copy(path);
	for (int links = 0; links < SIGHT_LINKS; links++) {
		char *next = follow(sights, resolved, last);
		if (!next) break;
		free(resolved);
		resolved = next;
	}
	return resolved;
}
