#include "made.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "finds/walk.h"

enum {
	MADE_TOLD = 100, /* are recorded at once, the others are counted at the end */
	MADE_SAID = 5,   /* of them with a line */
	MADE_COLUMNS = 200,
};

struct made {
	struct made_options options;
	struct strings missing; /* of the last plan, in its order */
	struct strings unasked; /* that were missing, for the end: no more than rules name by a path */
	struct strings told;    /* the first of them */
};

struct made *made_new(const struct made_options *options) {
	struct made *made = mem_new(struct made);
	made->options = *options;
	return made;
}

void made_free(struct made *made) {
	if (!made) return;
	strings_finish(&made->missing);
	strings_finish(&made->unasked);
	strings_finish(&made->told);
	free(made);
}

const struct strings *made_told(const struct made *made) {
	return &made->told;
}

/* While it runs */

static void tell(struct made *made, const char *path) {
	CLEANUP_FREE char *shown = text_visible_cut(path, MADE_COLUMNS);
	strings_add(&made->unasked, path);
	if (made->told.count == MADE_TOLD) return;
	strings_add(&made->told, path);
	session_event(made->options.session, "finding", NULL, path, 0, NULL, json_pack("{s:s}", "what", "protected"));
	if (made->told.count > MADE_SAID) return;
	log_warning("%s has been made, and nobody was asked: if it wasn't you, look at it before a program on the host "
		    "uses it",
		    shown);
}

/* Also a link to nowhere: what it leads to may come later. Where the rule's name is masked and what is missing is
 * another one, a link on its way leads there (plan.h). */
static bool is_made(const struct plan *plan, const char *path) {
	struct stat status;
	const bool led = strings_contain(&plan->missing_names, path) && !strings_contain(&plan->missing, path);
	return led || lstat(path, &status) == 0;
}

/* The plan shows a link that leads to what is masked, wherever that is, as read-only (MOUNT_HELD). */
static bool is_unasked(const struct made *made, const struct plan *plan, const char *path) {
	return plan_show(plan, path) == SHOW_READ && is_made(plan, path) &&
	       !strings_contain(made->options.allowed, path) && !strings_contain(&made->unasked, path);
}

static void copy(const struct strings *from, struct strings *to) {
	for (size_t i = 0; i < from->count; i++) strings_add(to, from->items[i]);
}

/* Nearly all plans lack what the one before lacked, in the same order. */
void made_follow(struct made *made, const struct plan *plan) {
	if (strings_equal(&made->missing, &plan->missing)) return;
	CLEANUP_STRINGS struct strings before = made->missing, missing = {0}, there = {0};
	made->missing = (struct strings){0};
	copy(&plan->missing, &made->missing);
	copy(&plan->missing, &missing);
	strings_sort(&before);
	strings_sort(&missing);
	strings_subtract(&before, &missing, &there);
	for (size_t i = 0; i < there.count; i++)
		if (is_unasked(made, plan, there.items[i])) tell(made, there.items[i]);
}

/* At the end */

static void writable_trees(const struct plan *plan, struct strings *trees) {
	for (size_t i = 0; i < plan->count; i++) { /* shallow before deep */
		const struct mount *mount = &plan->mounts[i];
		if (mount->kind == MOUNT_WRITE && string_equal(mount->path, mount->source) &&
		    !path_is_below_any(mount->path, (const char *const *)trees->items, trees->count))
			strings_add(trees, mount->path);
	}
}

/* By the patterns of the walk at the start, so that what that knows of the folders holds (known.h). */
static int walk_again(const struct finds *finds, const struct view *view, const struct pattern_scope *scope,
		      const struct strings *trees, struct strings *matches, struct error *error) {
	CLEANUP_STRINGS struct strings sockets = {0};
	CLEANUP_PATTERNS struct patterns patterns = {0};
	CLEANUP_FREE char *known = finds->state ? path_join(finds->state, FINDS_KNOWN) : NULL;
	const struct walk walk = {.trees = trees, .patterns = &patterns, .known = known, .known_stays = true};
	for (size_t i = 0; i < view->path_count; i++)
		if (view->paths[i].pattern)
			patterns_add(&patterns, PERMISSION_FS_READ, view->paths[i].path, scope, NULL);
	return walk_trees(&walk, matches, &sockets, error);
}

/* What masks match now, sorted. */
static void find_matches(const struct finds *finds, const struct view *view, const struct strings *trees,
			 struct strings *matches) {
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	CLEANUP_STRINGS struct strings all = {0};
	CLEANUP_PATTERNS struct patterns masks = {0};
	struct walk masking = {.patterns = &masks};
	struct error error = ERROR_NONE;
	for (size_t i = 0; i < view->path_count; i++)
		if (view_path_masks(&view->paths[i]))
			patterns_add(&masks, PERMISSION_FS_WRITE, view->paths[i].path, &scope, NULL);
	if (masks.count == 0) return;
	if (walk_again(finds, view, &scope, trees, &all, &error) < 0)
		log_warning("not all that the command may have made was looked at: %s", error.message);
	walk_prepare(&masking);
	for (size_t i = 0; i < all.count; i++)
		if (walk_finds(&masking, all.items[i])) strings_add(matches, all.items[i]);
	walk_finish(&masking);
	strings_sort(matches);
}

/* Of those that were masked by their path only these are new: since then a mask has kept the tool from others. */
static void add_unasked(const struct made *made, const struct plan *plan, struct strings *ret_paths) {
	for (size_t i = 0; i < made->unasked.count; i++)
		if (is_made(plan, made->unasked.items[i])) strings_add(ret_paths, made->unasked.items[i]);
}

void made_find(const struct made *made, const struct view *view, const struct plan *plan,
	       const struct layout_judge *judge, struct strings *ret_paths) {
	CLEANUP_STRINGS struct strings trees = {0}, matches = {0}, known = {0}, fresh = {0};
	const struct finds *finds = made->options.finds;
	writable_trees(plan, &trees);
	find_matches(finds, view, &trees, &matches);
	strings_subtract(&finds->matches, &finds->arrived, &known);
	for (size_t i = 0; i < plan->missing.count; i++) strings_add(&known, plan->missing.items[i]);
	strings_sort(&known);
	strings_subtract(&matches, &known, &fresh);
	struct layout_mode *modes = mem_array(struct layout_mode, fresh.count + 1); /* absent, if nobody says */
	if (fresh.count > 0) judge->resolve(judge->context, &fresh, modes, NULL);
	for (size_t i = 0; i < fresh.count; i++)
		if (modes[i].mode != VIEW_WRITE) strings_add(ret_paths, fresh.items[i]);
	free(modes);
	add_unasked(made, plan, ret_paths);
}
