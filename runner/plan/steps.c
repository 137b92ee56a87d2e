/*
 * Theory of operation. What is mounted is a tree: each mount lies on another one (mount.on), at a path. The mounts of
 * the new plan, the goals, are a tree by their paths. Going down both, a goal that lies on what stays is looked for at
 * its path; what isn't found is put on top of what is there. What is mounted and is no goal
 *   - goes with what it lies on, when that is taken;
 *   - stays when a goal covers it and it shows no more than the new plan shows at that place;
 *   - stays, exposed, when it shows more but the goal that covers it lies on it, since the two can't be told apart;
 *   - is taken otherwise: covered ones without anybody seeing it, and what is in sight before anything is put.
 * Taking a restriction that lies on a tree of the host bares that tree. Where the new plan restricts something in there
 * that isn't put yet, the tree is put anew instead, over the old one, as a whole: that is one move.
 *
 * The order: make read-only; take; put, in sight and below pins; take what the put ones have covered; make writable;
 * tell what is exposed.
 *
 * A pin that is put while the sandbox runs (`late`) covers the folder that it is, and who has that folder open, or
 * stands in it, stays below the pin, and sees what a walk from there leads to. So what restricts something in it is put
 * twice: before the pin is put, to lie below it; and what comes while the pin is there, by a walk from the place that
 * the pin covers (PUT_UNDER), which no path leads to. Which pins somebody is below, nobody can know, so each late one
 * counts, also one that is covered itself. What lies below a pin is a covered mount like others, but for one thing:
 * when nothing at its path is restricted any more, it is taken, for the pin will have it put there again. What was
 * hidden and may be read now, in a tree that may be written, is put on what hides it. It stays hidden where only a part
 * of it may be: what is to hide the rest can't be put below it, and taking it first would bare the rest.
 */
#include "steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"

struct goal {
	struct mount *mount; /* of the new plan */
	struct goal *above;  /* the goal it lies on, NULL = the root */
	struct thing *there; /* it is mounted already */
	bool anew;           /* put it even so */
};

enum fate {
	FATE_GOAL,
	FATE_STAY,      /* covered */
	FATE_TAKE,      /* before anything is put */
	FATE_TAKE_LATE, /* after what covers it was put */
	FATE_GONE,      /* with what it lies on */
};

/* What is mounted. */
struct thing {
	const struct mount *mount; /* of the old plan */
	struct thing *on;
	struct goal *goal;
	enum fate fate;
	enum mount_kind kind; /* WRITE can become READ */
	bool seen;            /* it, or what lies on it, is in sight */
	bool open;            /* it stays, and shows more than the new plan */
};

struct change {
	struct goal *goals; /* by path */
	size_t goal_count;
	struct thing *things; /* by path, at one path the lower first */
	size_t thing_count;
	struct steps *steps;
	const struct strings *once; /* of the new plan */
	struct mount *under;        /* below new pins */
	size_t under_count;
};

/* How much of the host a kind lets through. */
static int openness(enum mount_kind kind) {
	static const int values[] = {
		[MOUNT_READ] = 1, [MOUNT_HELD] = 1,    [MOUNT_WRITE] = 2,     [MOUNT_PIN] = 2,  [MOUNT_FRESH] = 0,
		[MOUNT_OWN] = 0,  [MOUNT_LINK] = 0,    [MOUNT_HIDE_FILE] = 0, [MOUNT_PROC] = 0, [MOUNT_HIDE_FOLDER] = 0,
		[MOUNT_DEV] = 0,  [MOUNT_CURTAIN] = 0, [MOUNT_TEXT] = 0,
	};
	static_assert(ARRAY_LENGTH(values) == MOUNT_KIND_COUNT, "every kind of mount");
	return values[kind];
}

static bool restricts(enum mount_kind kind) {
	return kind == MOUNT_READ || kind == MOUNT_HELD || kind == MOUNT_HIDE_FILE || kind == MOUNT_HIDE_FOLDER ||
	       kind == MOUNT_CURTAIN;
}

/* What a sandbox begins with: it is covered, never taken for something shown. */
static bool is_ground(enum mount_kind kind) {
	return kind == MOUNT_CURTAIN || kind == MOUNT_FRESH || kind == MOUNT_OWN || kind == MOUNT_PROC ||
	       kind == MOUNT_DEV;
}

static bool can_change_in_place(enum mount_kind kind) {
	return kind == MOUNT_READ || kind == MOUNT_WRITE;
}

/*
 * The two trees.
 */

static int compare_things(const void *a, const void *b) {
	const struct thing *one = a, *two = b;
	int order = path_compare(one->mount->path, two->mount->path);
	if (order != 0) return order;
	return one->mount->id < two->mount->id ? -1 : one->mount->id > two->mount->id; /* what lies on it came later */
}

static int compare_ids(const void *a, const void *b) {
	const struct thing *one = *(struct thing *const *)a, *two = *(struct thing *const *)b;
	return one->mount->id < two->mount->id ? -1 : one->mount->id > two->mount->id;
}

static void find_what_they_lie_on(struct change *change) {
	struct thing **by_id = mem_array(struct thing *, change->thing_count + 1);
	for (size_t i = 0; i < change->thing_count; i++) by_id[i] = &change->things[i];
	qsort(by_id, change->thing_count, sizeof(struct thing *), compare_ids);
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct mount key = {.id = change->things[i].mount->on};
		const struct thing wanted = {.mount = &key}, *address = &wanted;
		struct thing **found =
			bsearch(&address, by_id, change->thing_count, sizeof(struct thing *), compare_ids);
		change->things[i].on = found ? *found : NULL;
	}
	free(by_id);
}

static void collect_things(struct change *change, const struct plan *before) {
	change->things = mem_array(struct thing, before ? before->count + before->below_count + 1 : 1);
	if (!before) return;
	for (size_t i = 0; i < before->count; i++)
		change->things[change->thing_count++] = (struct thing){.mount = &before->mounts[i], .seen = true};
	for (size_t i = 0; i < before->below_count; i++)
		change->things[change->thing_count++] = (struct thing){.mount = &before->below[i]};
	qsort(change->things, change->thing_count, sizeof *change->things, compare_things);
	find_what_they_lie_on(change);
	for (size_t i = 0; i < change->thing_count; i++)
		for (struct thing *at = change->things[i].seen ? change->things[i].on : NULL; at; at = at->on)
			at->seen = true;
}

static void collect_goals(struct change *change, struct plan *after) {
	change->goals = mem_array(struct goal, after->count + 1);
	change->goal_count = after->count;
	struct goal *above = NULL;
	for (size_t i = 0; i < after->count; i++) {
		struct goal *goal = &change->goals[i];
		while (above && !path_is_below(after->mounts[i].path, above->mount->path)) above = above->above;
		*goal = (struct goal){.mount = &after->mounts[i], .above = above};
		above = goal;
	}
}

/* The first goal that isn't before `path`. */
static size_t first_goal(const struct change *change, const char *path) {
	size_t low = 0, high = change->goal_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (path_compare(change->goals[middle].mount->path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The goal at `path` or nearest above it, or NULL. */
static struct goal *goal_over(const struct change *change, const char *path) {
	size_t index = first_goal(change, path);
	if (index < change->goal_count && string_equal(change->goals[index].mount->path, path))
		return &change->goals[index];
	struct goal *goal = index > 0 ? &change->goals[index - 1] : NULL;
	while (goal && !path_is_below(path, goal->mount->path)) goal = goal->above;
	return goal;
}

/* The goals below `path`, without one at it: [*ret_first, end). */
static size_t goals_below(const struct change *change, const char *path, size_t *ret_first) {
	size_t at = first_goal(change, path);
	if (at < change->goal_count && string_equal(change->goals[at].mount->path, path)) at++;
	*ret_first = at;
	while (at < change->goal_count && path_is_below(change->goals[at].mount->path, path)) at++;
	return at;
}

static size_t first_thing(const struct change *change, const char *path) {
	size_t low = 0, high = change->thing_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (path_compare(change->things[middle].mount->path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What lies on `on` (NULL: the root) at `path`, or NULL. */
static struct thing *thing_on(const struct change *change, const struct thing *on, const char *path) {
	for (size_t i = first_thing(change, path); i < change->thing_count; i++) {
		struct thing *thing = &change->things[i];
		if (!string_equal(thing->mount->path, path)) return NULL;
		if (thing->on == on && thing != on) return thing;
	}
	return NULL;
}

/*
 * Goals.
 */

/* Is it what the goal wants, but perhaps for being writable? */
static bool is_same(const struct mount *there, const struct mount *wanted) {
	bool in_place = can_change_in_place(there->kind) && can_change_in_place(wanted->kind);
	if (there->kind != wanted->kind && !in_place) return false;
	if (!string_equal(there->source, wanted->source)) return false;
	if (there->kind == MOUNT_CURTAIN || there->kind == MOUNT_HIDE_FOLDER) return there->mode == wanted->mode;
	return there->inode == 0 || wanted->inode == 0 ||
	       (there->inode == wanted->inode && there->device == wanted->device);
}

/* Is what the goal lies on a tree of the host? There a restriction can't be taken before another is put. */
static bool lies_on_host(const struct goal *goal) {
	return goal->above && openness(goal->above->mount->kind) > 0;
}

/* What is on top at the goal's path and makes way: it isn't wanted and bares nothing. */
static void clear_way(const struct change *change, const struct goal *goal, struct thing *lowest) {
	if (lies_on_host(goal)) return;
	const char *path = goal->mount->path;
	bool covers = openness(goal->mount->kind) > 0 && !goal->anew;
	for (struct thing *at = lowest; at; at = thing_on(change, at, path)) {
		if (goal->anew || (covers && is_ground(at->kind))) continue;
		at->fate = FATE_TAKE;
		return;
	}
}

static void seek_goal(const struct change *change, struct goal *goal) {
	if (goal->above && !goal->above->there) return; /* it is put with that one */
	const char *path = goal->mount->path;
	const struct thing *on = goal->above ? goal->above->there : NULL;
	struct thing *lowest = thing_on(change, on, path), *found = NULL;
	for (struct thing *at = lowest; at && !goal->anew; at = thing_on(change, at, path))
		if (is_same(at->mount, goal->mount)) found = at;
	if (!found) {
		clear_way(change, goal, lowest);
		return;
	}
	goal->there = found;
	found->goal = goal;
	found->fate = FATE_GOAL;
	struct thing *over = thing_on(change, found, path);
	if (over) over->fate = FATE_TAKE;
}

/*
 * What is no goal.
 */

static bool is_covered(const struct change *change, const struct thing *thing) {
	if (thing->on && thing->on->fate == FATE_STAY) return true;
	const struct goal *over = goal_over(change, thing->mount->path);
	return over && (!thing->on || thing->on->goal != over);
}

/* Does a goal lie on that very thing, at the same path? Then it can't be taken alone. */
static bool carries_goal(const struct change *change, const struct thing *thing) {
	const char *path = thing->mount->path;
	const struct goal *goal = goal_over(change, path);
	if (!goal || !string_equal(goal->mount->path, path)) return false;
	const struct thing *lowest = thing;
	while (lowest->on && string_equal(lowest->on->mount->path, path) && lowest->on->fate != FATE_GOAL)
		lowest = lowest->on;
	return goal->above ? goal->above->there && goal->above->there == lowest->on : !lowest->on;
}

static bool lies_in(const struct thing *thing, const struct thing *tree) {
	while (thing && thing != tree) thing = thing->on;
	return thing != NULL;
}

/* Does a restriction of its path come on a new pin, and on the thing itself for who is below that? Taking it would show
 * them what it lies on. */
static bool carries_under_pin(const struct change *change, const struct thing *thing) {
	const struct goal *goal = goal_over(change, thing->mount->path), *at = goal ? goal->above : NULL;
	if (!at || !string_equal(goal->mount->path, thing->mount->path) || !restricts(goal->mount->kind)) return false;
	bool pinned = false;
	for (; at && at->mount->kind == MOUNT_PIN && !at->there; at = at->above) pinned = true;
	return pinned && at && at->there && lies_in(thing->on, at->there);
}

static bool may_stay(const struct change *change, struct thing *thing);

/* Does it lie in the covered `tree`, not over all of it, and stay there when that stays? */
static bool stays_in(const struct change *change, struct thing *thing, const struct thing *tree) {
	const struct thing *at = thing;
	while (at && at->on != tree) at = at->on;
	if (!at || string_equal(at->mount->path, tree->mount->path)) return false;
	for (; thing != tree; thing = thing->on)
		if (thing->fate != FATE_GOAL && !may_stay(change, thing)) return false;
	return true;
}

/* How open the covered `tree` is at `path`. */
static int openness_in(const struct change *change, const struct thing *tree, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!string_equal(at, tree->mount->path)) {
		struct thing *top = NULL;
		for (size_t i = first_thing(change, at); i < change->thing_count; i++) {
			if (!string_equal(change->things[i].mount->path, at)) break;
			if (stays_in(change, &change->things[i], tree)) top = &change->things[i];
		}
		if (top) return openness(top->kind);
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
	return openness(tree->kind);
}

/* What of the host the new plan shows at a covered thing's path, as the thing does: 0 when it shows something else. */
static int openness_after(const struct change *change, const struct thing *thing) {
	const struct mount *mount = thing->mount;
	const struct goal *goal = goal_over(change, mount->path);
	if (!goal || !mount->source || !goal->mount->source) return 0;
	bool own_path =
		string_equal(mount->path, mount->source) && string_equal(goal->mount->path, goal->mount->source);
	bool same = string_equal(mount->path, goal->mount->path) && string_equal(mount->source, goal->mount->source);
	return own_path || same ? openness(goal->mount->kind) : 0;
}

/* Was it restricted for who is below a pin, and nothing is by now? */
static bool is_lifted(const struct change *change, const struct thing *thing) {
	const struct goal *pin = goal_over(change, thing->mount->path);
	if (!restricts(thing->kind) || !thing->on || !thing->on->goal || !pin || pin->mount->kind != MOUNT_PIN)
		return false;
	size_t first, end = goals_below(change, thing->mount->path, &first);
	return pin != thing->on->goal && first == end;
}

/* May what is covered stay? Makes it read-only where that is needed. */
static bool may_stay(const struct change *change, struct thing *thing) {
	if (!can_change_in_place(thing->kind) && thing->kind != MOUNT_PIN) return !is_lifted(change, thing);
	int after = openness_after(change, thing);
	if (after < openness(thing->kind)) thing->kind = MOUNT_READ;
	if (after == 0) return false;
	size_t first, end = goals_below(change, thing->mount->path, &first);
	/* a mask that was lifted, for who is inside already */
	int around = thing->on ? openness(thing->on->kind) : 0;
	if (around > openness(thing->kind) && after >= around && first == end) return false;
	for (size_t i = first; i < end; i++) {
		const struct mount *mount = change->goals[i].mount;
		if (openness(mount->kind) < openness(thing->kind) &&
		    openness_in(change, thing, mount->path) > openness(mount->kind))
			return false;
	}
	return true;
}

/* The tree that it lies on, when taking it would show, for a moment, more of that than either plan does; or NULL. */
static struct goal *bared_tree(const struct change *change, const struct thing *thing) {
	if (!thing->on || !thing->on->goal) return NULL;
	int before = openness(thing->on->mount->kind), after = openness(thing->on->goal->mount->kind);
	int shown = before < after ? before : after;
	size_t first, end = goals_below(change, thing->mount->path, &first);
	for (size_t i = first; i < end; i++)
		if (!change->goals[i].there && openness(change->goals[i].mount->kind) < shown) return thing->on->goal;
	return NULL;
}

/* False when a tree has to be put anew: then all begins again. */
static bool settle_thing(const struct change *change, struct thing *thing) {
	if (thing->goal) return true;
	if (thing->on && thing->on->fate != FATE_GOAL && thing->on->fate != FATE_STAY) {
		thing->fate = FATE_GONE;
		return true;
	}
	if (thing->fate != FATE_TAKE && is_covered(change, thing)) {
		bool stays = may_stay(change, thing);
		if (!stays && (carries_goal(change, thing) || carries_under_pin(change, thing))) {
			if (openness(thing->kind) == 2) thing->kind = MOUNT_READ;
			thing->open = stays = true;
		}
		thing->fate = stays ? FATE_STAY : thing->seen ? FATE_TAKE_LATE : FATE_TAKE;
		return true;
	}
	bool lasts = is_ground(thing->kind) && thing->kind != MOUNT_CURTAIN;
	thing->fate = lasts ? FATE_STAY : FATE_TAKE;
	struct goal *bared = lasts ? NULL : bared_tree(change, thing);
	if (!bared) return true;
	bared->anew = true;
	return false;
}

static bool settle(struct change *change) {
	for (size_t i = 0; i < change->goal_count; i++) change->goals[i].there = NULL;
	for (size_t i = 0; i < change->thing_count; i++) {
		struct thing *thing = &change->things[i];
		thing->goal = NULL;
		thing->fate = FATE_STAY;
		thing->kind = thing->mount->kind;
		thing->open = false;
	}
	for (size_t i = 0; i < change->goal_count; i++) seek_goal(change, &change->goals[i]);
	for (size_t i = 0; i < change->thing_count; i++)
		if (!settle_thing(change, &change->things[i])) return false;
	return true;
}

/*
 * The steps.
 */

static void add_step(struct change *change, enum step_kind kind, const struct mount *mount) {
	struct steps *steps = change->steps;
	steps->items = array_grow(steps->items, steps->count, sizeof *steps->items);
	steps->items[steps->count++] = (struct step){.kind = kind, .mount = mount_copy(mount)};
}

static void add_restrictions(struct change *change) {
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct thing *thing = &change->things[i];
		bool stays = thing->fate == FATE_STAY || thing->fate == FATE_GOAL;
		enum mount_kind kind = thing->goal ? thing->goal->mount->kind : thing->kind;
		if (stays && openness(thing->mount->kind) == 2 && kind == MOUNT_READ)
			add_step(change, STEP_READ_ONLY, thing->mount);
	}
}

/* What a call alone may write stays with who has it. */
static bool is_once(const struct change *change, const char *path) {
	for (size_t i = 0; i < change->once->count; i++)
		if (path_is_below(path, change->once->items[i])) return true;
	return false;
}

/* Is it a read-only part of what may be written as a whole by now? */
static bool is_freed(const struct change *change, const struct thing *thing) {
	size_t first, end = goals_below(change, thing->mount->path, &first);
	return thing->mount->kind == MOUNT_READ && openness_after(change, thing) == 2 && first == end &&
	       !is_once(change, thing->mount->path);
}

static enum step_kind step_away(const struct change *change, const struct thing *thing) {
	if (thing->kind == MOUNT_LINK) return STEP_REMOVE_LINK;
	return is_freed(change, thing) ? STEP_RELEASE : STEP_TAKE;
}

static void add_takes(struct change *change, enum fate fate, bool seen) {
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct thing *thing = &change->things[i];
		if (thing->fate == fate && thing->seen == seen)
			add_step(change, step_away(change, thing), thing->mount);
	}
}

/* On top of what is left at its path. */
static uint32_t what_it_lies_on(const struct change *change, const struct goal *goal) {
	uint32_t id = goal->above ? goal->above->mount->id : 0;
	if (goal->above && !goal->above->there) return id;
	const struct thing *on = goal->above ? goal->above->there : NULL;
	for (const struct thing *at = on; (at = thing_on(change, at, goal->mount->path)) && at->fate == FATE_STAY;)
		id = at->mount->id;
	return id;
}

/* Somebody may be in there. */
static bool is_new_pin(const struct change *change, const struct goal *goal) {
	return change->thing_count > 0 && goal->mount->kind == MOUNT_PIN && !goal->there && goal->above &&
	       goal->above->there;
}

/* Whoever is below the pin isn't asked. */
static struct mount under_mount(const struct mount *mount, uint32_t id, uint32_t on) {
	struct mount under = mount_copy(mount);
	under.id = id;
	under.on = on;
	if (under.kind == MOUNT_CURTAIN) under.kind = S_ISDIR(under.mode) ? MOUNT_HIDE_FOLDER : MOUNT_HIDE_FILE;
	if (under.kind == MOUNT_HIDE_FILE || under.kind == MOUNT_HIDE_FOLDER) under.mode = 0;
	return under;
}

/* What lies on `on` at `path` when all that goes first is gone. */
static const struct thing *left_on(const struct change *change, const struct thing *on, const char *path) {
	const struct thing *thing = thing_on(change, on, path);
	return thing && thing->fate != FATE_TAKE && thing->fate != FATE_GONE ? thing : NULL;
}

/* What a walk to `path` ends in then that has come to `at`, by the first bytes of it; NULL: the root, or what is to go.
 */
static const struct thing *thing_ahead(const struct change *change, const struct thing *at, size_t from,
				       const char *path) {
	const struct thing *over;
	for (size_t size = from + 1; size <= strlen(path); size++) {
		if (path[size] != '/' && path[size] != '\0') continue;
		CLEANUP_FREE char *prefix = string_copy_bytes(path, size);
		for (; (over = left_on(change, at, prefix)); at = over)
			if (over->fate == FATE_TAKE_LATE) return NULL;
	}
	return at;
}

static int openness_then(const struct thing *thing) {
	return openness(thing->goal ? thing->goal->mount->kind : thing->kind);
}

/* Of what is hidden, the very thing and nothing that is restricted in it. */
static bool can_be_shown(const struct change *change, size_t goal, const struct thing *hidden) {
	const char *path = change->goals[goal].mount->path;
	const bool more = goal + 1 < change->goal_count && path_is_below(change->goals[goal + 1].mount->path, path);
	return !more && string_equal(hidden->mount->path, path);
}

/* What was put below a pin last, and what it lies in that was put there as well. */
struct put {
	const struct goal *goal;
	uint32_t id;
	enum mount_kind kind;
};

static void put_under(struct change *change, const struct mount *pin, const struct thing *from, enum step_kind kind,
		      uint32_t *last_id) {
	size_t first, end = goals_below(change, pin->path, &first), depth = 0;
	struct put *puts = mem_array(struct put, end - first + 1);
	for (size_t i = first; from && i < end; i++) {
		const struct goal *goal = &change->goals[i];
		const struct mount *mount = goal->mount;
		while (depth > 0 && !path_is_below(mount->path, puts[depth - 1].goal->mount->path)) depth--;
		const struct put *in = depth > 0 ? &puts[depth - 1] : NULL;
		const struct thing *on = in ? NULL : thing_ahead(change, from, strlen(pin->path), mount->path);
		if (!restricts(mount->kind) || (!in && !on)) continue;
		const int there = in ? openness(in->kind) : openness_then(on), wanted = openness(mount->kind);
		if (there == wanted || (there < wanted && (in || !can_be_shown(change, i, on)))) continue;
		struct mount under = under_mount(mount, ++*last_id, in ? in->id : on->mount->id);
		puts[depth++] = (struct put){goal, under.id, under.kind};
		add_step(change, kind, &under);
		change->steps->items[change->steps->count - 1].under = pin->id;
		change->under = array_grow(change->under, change->under_count, sizeof *change->under);
		change->under[change->under_count++] = under;
	}
	free(puts);
}

/* Where a pin is to come. */
static void put_under_new(struct change *change, struct mount *pin, uint32_t *last_id) {
	const struct thing *from = thing_ahead(change, left_on(change, NULL, "/"), 0, pin->path);
	pin->late = true;
	put_under(change, pin, from, STEP_PUT, last_id);
}

/* Where pins were put earlier. */
static void add_unders(struct change *change, uint32_t *last_id) {
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct thing *thing = &change->things[i];
		if (!thing->mount->late || (thing->fate != FATE_GOAL && thing->fate != FATE_STAY)) continue;
		if (thing->goal) thing->goal->mount->late = true;
		put_under(change, thing->mount, thing->on, STEP_PUT_UNDER, last_id);
	}
}

static void add_puts(struct change *change, uint32_t *last_id) {
	for (size_t i = 0; i < change->goal_count; i++) {
		struct goal *goal = &change->goals[i];
		if (is_new_pin(change, goal)) put_under_new(change, goal->mount, last_id);
		if (goal->there) {
			goal->mount->id = goal->there->mount->id;
			goal->mount->on = goal->there->mount->on;
			continue;
		}
		goal->mount->on = what_it_lies_on(change, goal);
		goal->mount->id = ++*last_id;
		add_step(change, STEP_PUT, goal->mount);
	}
}

static void add_freedoms(struct change *change) {
	for (size_t i = 0; i < change->goal_count; i++) {
		const struct goal *goal = &change->goals[i];
		if (goal->there && goal->there->mount->kind == MOUNT_READ && goal->mount->kind == MOUNT_WRITE)
			add_step(change, STEP_WRITABLE, goal->mount);
	}
}

/* Does it, or one that ".." leads to from it, show more? From the root of a mount ".." leads to what lies over all that
 * is mounted at its path (follow_dotdot of fs/namei.c, since Linux 5.7). */
static bool is_exposed(const struct thing *thing) {
	if (thing->fate != FATE_STAY || thing->kind == MOUNT_LINK) return false;
	while (!thing->open && thing->on && !string_equal(thing->mount->path, thing->on->mount->path))
		thing = thing->on;
	return thing->open;
}

static void add_tells(struct change *change) {
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct thing *thing = &change->things[i];
		if (is_exposed(thing) && !thing->mount->exposed) add_step(change, STEP_TELL, thing->mount);
	}
}

/* A plan that was in force once knows of others, which may be gone. */
static void keep_below(const struct change *change, struct plan *after) {
	for (size_t i = 0; i < after->below_count; i++) mount_finish(&after->below[i]);
	after->below_count = 0;
	for (size_t i = 0; i < change->thing_count; i++) {
		const struct thing *thing = &change->things[i];
		if (thing->fate != FATE_STAY) continue;
		struct mount copy = mount_copy(thing->mount);
		copy.kind = thing->kind;
		copy.exposed = is_exposed(thing);
		after->below = array_grow(after->below, after->below_count, sizeof *after->below);
		after->below[after->below_count++] = copy;
	}
	for (size_t i = 0; i < change->under_count; i++) {
		after->below = array_grow(after->below, after->below_count, sizeof *after->below);
		after->below[after->below_count++] = change->under[i];
	}
}

void plan_changes(const struct plan *before, struct plan *after, struct steps *ret_steps) {
	*ret_steps = (struct steps){0};
	struct change change = {.steps = ret_steps, .once = &after->once};
	collect_things(&change, before);
	collect_goals(&change, after);
	while (!settle(&change)) {
	}
	after->last_id = before ? before->last_id : 0;
	add_restrictions(&change);
	add_takes(&change, FATE_TAKE, false);
	add_takes(&change, FATE_TAKE, true);
	add_puts(&change, &after->last_id);
	add_unders(&change, &after->last_id);
	add_takes(&change, FATE_TAKE_LATE, true);
	add_freedoms(&change);
	add_tells(&change);
	keep_below(&change, after);
	free(change.under);
	free(change.goals);
	free(change.things);
}

void steps_finish(struct steps *steps) {
	for (size_t i = 0; i < steps->count; i++) mount_finish(&steps->items[i].mount);
	free(steps->items);
	*steps = (struct steps){0};
}
