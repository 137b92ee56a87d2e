#include "store/writable.h"

#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

static bool is_tree(struct store *store, const char *path) {
	sqlite3_stmt *find = store_statement(store, STORE_WRITABLE_FIND);
	store_bind_text(find, 1, path);
	const int step = sqlite3_step(find);
	struct error error = ERROR_NONE;
	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		store_error(store, &error, "looking up what sandboxes may write");
		log_error("%s", error.message);
	}
	sqlite3_reset(find);
	return step != SQLITE_DONE;
}

bool writable_has(struct store *store, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!is_tree(store, at)) {
		if (strcmp(at, "/") == 0) return false;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
	return true;
}

int writable_add(struct store *store, const char *path, struct error *error) {
	sqlite3_stmt *insert = store_statement(store, STORE_WRITABLE_INSERT);
	store_bind_text(insert, 1, path);
	return store_run(store, insert, error, "recording what a sandbox may write");
}
