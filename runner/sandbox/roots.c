#include "roots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/limits.h"

void roots_finish(struct roots *roots) {
	strings_finish(&roots->left);
}

static void find_gone(struct roots *roots, const struct view *view, struct strings *gone) {
	struct stat status;
	for (size_t i = 0; !roots->looked && i < view->roots.count; i++)
		if (lstat(view->roots.items[i], &status) < 0 && errno == ENOENT)
			strings_add(gone, view->roots.items[i]);
	roots->looked = true;
}

static void find_new(const struct roots *roots, const struct view *view, const struct strings *found,
		     struct strings *fresh) {
	for (size_t i = 0; i < found->count; i++)
		if (!strings_contain(&view->roots, found->items[i]) && !strings_contain(&roots->left, found->items[i]))
			strings_add(fresh, found->items[i]);
}

static void note_left(const struct roots *roots, struct strings *notes) {
	if (roots->left.count == 0) return;
	CLEANUP_FREE char *first = text_visible_cut(roots->left.items[0], 200);
	strings_addf(
		notes,
		"of the folders that somebody works in %d are the most in which what programs of yours obey is kept: "
		"it is not in %zu more, of which the first is %s",
		LIMIT_ROOTS, roots->left.count, first);
}

int roots_check(struct roots *roots, struct session *session, const struct view *view, const struct strings *found,
		struct strings *notes, struct error *error) {
	CLEANUP_STRINGS struct strings fresh = {0}, gone = {0};
	find_new(roots, view, found, &fresh);
	find_gone(roots, view, &gone);
	if (fresh.count == 0 && gone.count == 0) return 0;
	CLEANUP_FREE bool *kept = mem_array(bool, fresh.count + 1);
	int r = session_roots(session, &fresh, &gone, kept, error);
	if (r < 0) return r;
	bool any = false;
	for (size_t i = 0; i < fresh.count; i++) {
		any |= kept[i];
		if (!kept[i]) strings_add(&roots->left, fresh.items[i]);
	}
	note_left(roots, notes);
	return any ? -EAGAIN : 0;
}
