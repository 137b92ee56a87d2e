#include "session_roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "schema/limits.h"
#include "session_rules.h"
#include "store/roots.h"

/* False: there is no room for it. */
static bool add(struct session *session, const char *path, bool found) {
	struct strings *roots = &session->roots;
	if (strings_contain(roots, path)) return true;
	if (roots->count == LIMIT_ROOTS || strlen(path) > LIMIT_ROOT) return false;
	if (found && session->repositories.count == LIMIT_ROOTS_FOUND) return false;
	if (found) strings_add(&session->repositories, path);
	strings_add(roots, path);
	return true;
}

int session_first_roots(struct session *session, const struct session_open *wish, struct error *error) {
	CLEANUP_STRINGS struct strings known = {0};
	add(session, session->root, false);
	add(session, wish->cwd, false);
	for (size_t i = 0; i < wish->roots.count; i++) add(session, wish->roots.items[i], false);
	int r = roots_of(session->broker->store, session->subject.project, &known, error);
	for (size_t i = 0; i < known.count; i++) add(session, known.items[i], true);
	return r;
}

static void drop(struct strings *list, const struct strings *paths) {
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (strings_contain(paths, list->items[i]))
			free(list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

static void drop_gone(struct session *session, const struct strings *gone) {
	CLEANUP_STRINGS struct strings found = {0};
	for (size_t i = 0; i < gone->count; i++)
		if (strings_contain(&session->repositories, gone->items[i])) strings_add(&found, gone->items[i]);
	drop(&session->roots, &found);
	drop(&session->repositories, &found);
}

static int record(const struct session *session, const struct session_roots *told, const bool *kept,
		  struct error *error) {
	struct store *store = session->broker->store;
	const char *project = session->subject.project;
	int r = broker_begin(session->broker, STORE_NORMAL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < told->gone.count; i++)
		r = roots_remove(store, project, told->gone.items[i], error);
	for (size_t i = 0; r == 0 && i < told->found.count; i++)
		if (kept[i]) r = roots_add(store, project, told->found.items[i], error);
	if (r == 0) return broker_commit(session->broker, error);
	broker_rollback(session->broker);
	return r;
}

static void keep_all(struct session *session, const struct strings *paths, bool found, bool *ret_kept) {
	for (size_t i = 0; i < paths->count; i++) ret_kept[i] = add(session, paths->items[i], found);
}

int session_add_roots(struct session *session, const struct session_roots *told, bool *ret_kept, struct error *error) {
	CLEANUP_STRINGS struct strings before = {0};
	bool *kept_found = ret_kept + told->trees.count;
	int r = 0;
	for (size_t i = 0; i < session->roots.count; i++) strings_add(&before, session->roots.items[i]);
	drop_gone(session, &told->gone);
	keep_all(session, &told->trees, false, ret_kept);
	keep_all(session, &told->found, true, kept_found);
	if (!strings_equal(&before, &session->roots)) r = session_renew_rules(session, error);
	if (r < 0) return r;
	for (size_t i = 0; i < told->trees.count + told->found.count; i++) { /* as many as there are rules for */
		const struct strings *list = i < told->trees.count ? &told->trees : &told->found;
		ret_kept[i] &= strings_contain(&session->roots,
					       list->items[i < told->trees.count ? i : i - told->trees.count]);
	}
	return record(session, told, kept_found, error);
}
