#include "roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "schema/limits.h"

void roots_finish(struct roots *roots) {
	strings_finish(&roots->left);
}

static bool is_gone(const char *path) {
	struct stat status;
	CLEANUP_FREE char *git = path_join(path, ".git");
	return lstat(git, &status) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* What an earlier session has found and is no repository any more; the broker knows which of them count besides. */
static void find_gone(struct roots *roots, const struct view *view, struct strings *gone) {
	for (size_t i = 0; !roots->looked && i < view->roots.count; i++)
		if (is_gone(view->roots.items[i])) strings_add(gone, view->roots.items[i]);
	roots->looked = true;
}

static void find_new(const struct roots *roots, const struct view *view, const struct strings *found,
		     struct strings *fresh) {
	for (size_t i = 0; i < found->count; i++)
		if (!strings_contain(&view->roots, found->items[i]) && !strings_contain(&roots->left, found->items[i]))
			strings_add(fresh, found->items[i]);
}

/* Which of the broker's bounds (sessions/session_roots.h) it was for the first one. */
static char *bound_of_first(const struct roots *roots) {
	if (strlen(roots->left.items[0]) > LIMIT_ROOT)
		return string_format("its path is longer than %d bytes", LIMIT_ROOT);
	if (!roots->first_found) return string_format("%d such folders are the most", LIMIT_ROOTS);
	return string_format("of repositories that are found %d are the most, of all such folders %d",
			     LIMIT_ROOTS_FOUND, LIMIT_ROOTS);
}

static void note_left(const struct roots *roots, struct strings *notes) {
	if (roots->left.count == 0) return;
	CLEANUP_FREE char *first = text_visible_cut(roots->left.items[0], 200);
	CLEANUP_FREE char *bound = bound_of_first(roots);
	strings_addf(
		notes,
		"what programs of yours obey is not protected in %zu of the folders that somebody works in, of which "
		"the first is %s: %s",
		roots->left.count, first, bound);
}

static bool note_kept(struct roots *roots, const struct strings *paths, const bool *kept, bool found) {
	bool any = false;
	for (size_t i = 0; i < paths->count; i++) {
		any |= kept[i];
		if (kept[i]) continue;
		if (roots->left.count == 0) roots->first_found = found;
		strings_add(&roots->left, paths->items[i]);
	}
	return any;
}

int roots_check(struct roots *roots, struct session *session, const struct view *view, const struct finds *finds,
		struct strings *notes, struct error *error) {
	CLEANUP_STRINGS struct strings trees = {0}, found = {0}, gone = {0};
	find_new(roots, view, &finds->work, &trees);
	find_new(roots, view, &finds->nested, &found);
	find_gone(roots, view, &gone);
	if (trees.count + found.count + gone.count == 0) return 0;
	const struct session_roots_told told = {&trees, &found, &gone};
	CLEANUP_FREE bool *kept = mem_array(bool, trees.count + found.count + 1);
	int r = session_roots(session, &told, kept, error);
	if (r < 0) return r;
	bool any = note_kept(roots, &trees, kept, false);
	any |= note_kept(roots, &found, kept + trees.count, true);
	note_left(roots, notes);
	return any ? -EAGAIN : 0;
}
