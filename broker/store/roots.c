#include "store/roots.h"

#include "schema/limits.h"

int roots_of(struct store *store, const char *project, struct strings *roots, struct error *error) {
	sqlite3_stmt *find = store_statement(store, STORE_ROOTS_OF);
	int step;
	store_bind_text(find, 1, project);
	store_bind_integer(find, 2, LIMIT_ROOTS_FOUND);
	while ((step = sqlite3_step(find)) == SQLITE_ROW) strings_add(roots, store_column(find, 0));
	const int r = step == SQLITE_DONE ? 0 : store_error(store, error, "looking up the roots of a project");
	sqlite3_reset(find);
	return r;
}

int roots_add(struct store *store, const char *project, const char *path, struct error *error) {
	sqlite3_stmt *insert = store_statement(store, STORE_ROOTS_INSERT);
	store_bind_text(insert, 1, project);
	store_bind_text(insert, 2, path);
	store_bind_integer(insert, 3, LIMIT_ROOTS_FOUND);
	return store_run(store, insert, error, "recording a root of a project");
}

int roots_remove(struct store *store, const char *project, const char *path, struct error *error) {
	sqlite3_stmt *delete = store_statement(store, STORE_ROOTS_DELETE);
	store_bind_text(delete, 1, project);
	store_bind_text(delete, 2, path);
	return store_run(store, delete, error, "forgetting a root of a project");
}
