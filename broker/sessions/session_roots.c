#include "session_roots.h"

#include "base/string.h"
#include "schema/limits.h"
#include "session_rules.h"
#include "store/roots.h"

/* False: there is no room for it. */
static bool add(struct strings *roots, const char *path) {
	if (strings_contain(roots, path)) return true;
	if (roots->count == LIMIT_ROOTS) return false;
	strings_add(roots, path);
	return true;
}

int session_first_roots(struct session *session, const struct session_open *wish, struct error *error) {
	CLEANUP_STRINGS struct strings known = {0};
	add(&session->roots, session->root);
	add(&session->roots, wish->cwd);
	int r = roots_of(session->broker->store, session->subject.project, &known, error);
	for (size_t i = 0; i < known.count; i++) add(&session->roots, known.items[i]);
	for (size_t i = 0; i < wish->roots.count; i++) add(&session->roots, wish->roots.items[i]);
	return r;
}

static int record(const struct session *session, const struct strings *found, const struct strings *gone,
		  struct error *error) {
	struct store *store = session->broker->store;
	const char *project = session->subject.project;
	int r = broker_begin(session->broker, STORE_NORMAL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < gone->count; i++) r = roots_remove(store, project, gone->items[i], error);
	for (size_t i = 0; r == 0 && i < found->count; i++) r = roots_add(store, project, found->items[i], error);
	if (r == 0) return broker_commit(session->broker, error);
	broker_rollback(session->broker);
	return r;
}

int session_add_roots(struct session *session, const struct strings *found, const struct strings *gone, bool *ret_kept,
		      struct error *error) {
	const size_t before = session->roots.count;
	int r = record(session, found, gone, error);
	if (r < 0) return r;
	for (size_t i = 0; i < found->count; i++) ret_kept[i] = add(&session->roots, found->items[i]);
	return session->roots.count > before ? session_renew_rules(session, error) : 0;
}
