#include "made.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "sandbox/walk.h"

static void writable_trees(const struct plan *plan, struct strings *trees) {
	for (size_t i = 0; i < plan->count; i++) { /* shallow before deep */
		const struct mount *mount = &plan->mounts[i];
		if (mount->kind == MOUNT_WRITE && string_equal(mount->path, mount->source) &&
		    !path_is_below_any(mount->path, (const char *const *)trees->items, trees->count))
			strings_add(trees, mount->path);
	}
}

/* What matches now, sorted. */
static void find_matches(const struct view *view, const struct strings *trees, struct strings *matches) {
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	CLEANUP_STRINGS struct strings sockets = {0};
	CLEANUP_PATTERNS struct patterns patterns = {0};
	struct error error = ERROR_NONE;
	for (size_t i = 0; i < view->path_count; i++)
		if (view_path_masks(&view->paths[i]))
			patterns_add(&patterns, PERMISSION_FS_WRITE, view->paths[i].path, &scope, NULL);
	const struct walk walk = {.trees = trees, .patterns = &patterns};
	if (walk_trees(&walk, matches, &sockets, &error) < 0)
		log_warning("not all that the command may have made was looked at: %s", error.message);
	strings_sort(matches);
}

void made_find(const struct finds *finds, const struct view *view, const struct plan *plan,
	       const struct layout_judge *judge, struct strings *ret_paths) {
	CLEANUP_STRINGS struct strings trees = {0}, matches = {0}, known = {0}, fresh = {0};
	writable_trees(plan, &trees);
	find_matches(view, &trees, &matches);
	strings_subtract(&finds->matches, &finds->arrived, &known);
	for (size_t i = 0; i < plan->missing.count; i++) strings_add(&known, plan->missing.items[i]);
	strings_sort(&known);
	strings_subtract(&matches, &known, &fresh);
	struct layout_mode *modes = mem_array(struct layout_mode, fresh.count + 1); /* absent, if nobody says */
	if (fresh.count > 0) judge->resolve(judge->context, &fresh, modes, NULL);
	for (size_t i = 0; i < fresh.count; i++)
		if (modes[i].mode != VIEW_WRITE) strings_add(ret_paths, fresh.items[i]);
	free(modes);
}
