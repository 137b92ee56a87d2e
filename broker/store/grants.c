/*
 * Theory of operation.
 *
 * A request's target has a handful of index keys (grant_key.h). For each, and for the permissions whose grants count
 * for it, one seek tells whether anybody has a grant there, and then one for each combination of the subject's own
 * values and "any" yields the candidates (an IN would build a table of its values each time); grant_best.h chooses. The
 * result is remembered in a small table, thrown away whole whenever any grant changes
 * (`epoch`); only the clocks are looked at each time.
 *
 * A path's keys are itself and the folders above it, thousands perhaps, and few of them have a grant. So these are not
 * asked for one by one: the last key at or before the path, in the order of bytes, is one of them, or says which are
 * none. Between a folder and what lies in it there are only keys that begin with the folder's name; a folder with
 * which the key found does not begin is no key. The next seek is from the deepest with which it does.
 */
#include "store/grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "grant_best.h"
#include "grants_parts.h"
#include "schema/limits.h"

static int load_networks(struct grants *grants, struct error *error) {
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_NETWORKS);
	int step;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) grant_networks_add(&grants->networks, store_column(rows, 0));
	int r = step == SQLITE_DONE ? 0 : store_error(grants->store, error, "reading the grants");
	sqlite3_reset(rows);
	return r;
}

int grants_open(struct store *store, const struct clock *clock, struct grants **ret_grants, struct error *error) {
	struct grants *grants = mem_new(struct grants);
	grants->store = store;
	grants->clock = clock;
	grants->epoch = 1;
	TAILQ_INIT(&grants->masses);
	int r = load_networks(grants, error);
	if (r < 0) {
		grants_free(grants);
		return r;
	}
	*ret_grants = grants;
	return 0;
}

void grants_free(struct grants *grants) {
	if (!grants) return;
	for (size_t i = 0; i < CACHE_SIZE; i++) {
		string_finish(&grants->cache[i].key);
		grant_finish(&grants->cache[i].grant);
	}
	free(grants);
}

void grants_changed(struct grants *grants) {
	grants->epoch++;
}

/* Writing */

/* A lookup reads all that are alike, so there is an end to how many these can be. */
static int check_alike(struct grants *grants, const struct grant *grant, const char *key, struct error *error) {
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_ALIKE);
	store_bind_text(row, 1, grant->permission.name);
	store_bind_text(row, 2, key);
	store_bind_text(row, 3, grant->project ? grant->project : "");
	store_bind_text(row, 4, grant->profile ? grant->profile : "");
	grants_bind_session(row, 5, grant->session);
	store_bind_integer(row, 6, LIMIT_GRANTS_ALIKE - 1);
	int step = sqlite3_step(row), r = 0;
	if (step == SQLITE_ROW)
		r = error_set(error, E2BIG,
			      "%d grants for the same place, profile and project are in force already: revoke some of "
			      "them (sbx grants), or grant what covers them all",
			      LIMIT_GRANTS_ALIKE);
	else if (step != SQLITE_DONE)
		r = store_error(grants->store, error, "counting the grants");
	sqlite3_reset(row);
	return r;
}

int grants_insert(struct grants *grants, struct grant *grant, const struct pattern *pattern, bool active,
		  struct error *error) {
	CLEANUP_FREE char *key = grant_key_of_pattern(&grant->permission, pattern);
	int r = active ? check_alike(grants, grant, key, error) : 0;
	if (r < 0) return r;
	sqlite3_stmt *insert = store_statement(grants->store, STORE_GRANT_INSERT);
	store_bind_integer(insert, 1, active);
	store_bind_text(insert, 2, grant->permission.name);
	store_bind_text(insert, 3, key);
	store_bind_text(insert, 4, pattern_text(pattern));
	store_bind_text(insert, 5, effect_name(grant->effect));
	store_bind_text(insert, 6, grant->profile ? grant->profile : "");
	store_bind_text(insert, 7, grant->project ? grant->project : "");
	grants_bind_session(insert, 8, grant->session);
	store_bind_text(insert, 9, lifetime_name(grant->lifetime));
	store_bind_integer(insert, 10, grant->created_ms);
	store_bind_integer(insert, 11, grant->expires_ms);
	store_bind_integer(insert, 12, grant->expires_boot_ms);
	store_bind_text(insert, 13, grant->boot_id);
	store_bind_text(insert, 14, grant_origin_name(grant->origin));
	store_bind_integer(insert, 15, grant->prompt);
	store_bind_text(insert, 16, grant->reason);
	store_bind_integer(insert, 17, grant->uses);
	store_bind_integer(insert, 18, grant->last_used_ms);
	store_bind_text(insert, 19, grant->resolved);
	r = store_run(grants->store, insert, error, "writing a grant");
	grants_changed(grants);
	if (r < 0) return r;
	grant->id = store_last_id(grants->store);
	free(grant->pattern);
	grant->pattern = string_copy(pattern_text(pattern));
	if (grant->permission.kind == PERMISSION_NET_ACCESS) grant_networks_add(&grants->networks, key);
	return 0;
}

int grants_end(struct grants *grants, int64_t id, struct error *error) {
	sqlite3_stmt *end = store_statement(grants->store, STORE_GRANT_END);
	store_bind_integer(end, 1, id);
	grants_changed(grants);
	return store_run(grants->store, end, error, "ending a grant");
}

int grants_revoke(struct grants *grants, int64_t id, const char *by, struct error *error) {
	struct moment now;
	clock_read(grants->clock, &now);
	sqlite3_stmt *revoke = store_statement(grants->store, STORE_GRANT_REVOKE);
	store_bind_integer(revoke, 1, id);
	store_bind_integer(revoke, 2, now.wall_ms);
	store_bind_text(revoke, 3, by);
	grants_changed(grants);
	return store_run(grants->store, revoke, error, "revoking a grant");
}

static int write_use(struct grants *grants, int64_t id, int64_t count, int64_t last_ms, struct error *error) {
	sqlite3_stmt *use = store_statement(grants->store, STORE_GRANT_USE);
	store_bind_integer(use, 1, id);
	store_bind_integer(use, 2, count);
	store_bind_integer(use, 3, last_ms);
	grants_changed(grants);
	return store_run(grants->store, use, error, "counting a grant's use");
}

int grants_use(struct grants *grants, const struct grant *grant, struct error *error) {
	struct moment now;
	clock_read(grants->clock, &now);
	return write_use(grants, grant->id, 1, now.wall_ms, error);
}

void grants_count_use(struct grants *grants, const struct grant *grant) {
	struct moment now;
	clock_read(grants->clock, &now);
	for (size_t i = 0; i < grants->use_count; i++) {
		if (grants->uses[i].grant != grant->id) continue;
		grants->uses[i].count++;
		grants->uses[i].last_ms = now.wall_ms;
		return;
	}
	if (grants->use_count == USES_MAX) grants_flush(grants);
	grants->uses[grants->use_count++] = (struct use){grant->id, 1, now.wall_ms};
}

/* Only statistics: when they can't be written they are lost, the history has every decision. */
void grants_flush(struct grants *grants) {
	if (grants->use_count == 0) return;
	if (store_begin(grants->store, STORE_NORMAL, NULL) == 0) {
		int r = 0;
		for (size_t i = 0; r == 0 && i < grants->use_count; i++)
			r = write_use(grants, grants->uses[i].grant, grants->uses[i].count, grants->uses[i].last_ms,
				      NULL);
		if (r == 0)
			store_commit(grants->store, NULL);
		else
			store_rollback(grants->store);
	}
	grants->use_count = 0;
}

/* Looking up */

/* Which stored permissions count for a request, and with which effect (NULL = both): writing implies reading, and
 * what may not be read may not be written (design section 4). */
struct counting {
	struct permission permission;
	const char *effect;
};
enum { COUNTING_MAX = 2 };

static size_t counting_for(const struct request *request, struct counting counting[COUNTING_MAX]) {
	counting[0] = (struct counting){request->permission, NULL};
	if (request->permission.kind == PERMISSION_FS_READ)
		counting[1] = (struct counting){permission_of(PERMISSION_FS_WRITE), "allow"};
	else if (request->permission.kind == PERMISSION_FS_WRITE)
		counting[1] = (struct counting){permission_of(PERMISSION_FS_READ), "deny"};
	else
		return 1;
	return 2;
}

/* Most keys of a target have no grant of anybody: one seek says so. */
static bool key_is_used(struct grants *grants, const char *permission, const char *key) {
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_KEY);
	store_bind_text(row, 1, permission);
	store_bind_text(row, 2, key);
	bool used = sqlite3_step(row) != SQLITE_DONE; /* an error is told by who reads on */
	sqlite3_reset(row);
	return used;
}

static bool counts_once(const struct request *request) {
	return !request->view && !request_opens_folder(request);
}

static int find_of_subject(struct grants *grants, const struct request *request, const struct counting *counting,
			   const char *key, const char *project, const char *profile, int64_t session,
			   struct grant_best *best, struct error *error) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_GRANT_LIST struct grant_list list = {0};
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_LOOKUP);
	store_bind_text(rows, 1, counting->permission.name);
	store_bind_text(rows, 2, key);
	store_bind_text(rows, 3, project);
	store_bind_text(rows, 4, profile);
	grants_bind_session(rows, 5, session);
	store_bind_text(rows, 6, counting->effect);
	store_bind_integer(rows, 7, LIMIT_GRANTS_ALIKE + 1);
	int r = grant_rows_collect(grants->store, rows, &list, error);
	if (r == 0 && list.count > LIMIT_GRANTS_ALIKE)
		r = error_set(error, E2BIG, "more than %d grants lie at %s: revoke some", LIMIT_GRANTS_ALIKE, key);
	struct moment now;
	clock_read(grants->clock, &now);
	for (size_t i = 0; i < list.count; i++) {
		const struct grant *grant = &list.items[i];
		const bool once = grant->lifetime == LIFETIME_ONCE && grant->effect == EFFECT_ALLOW;
		if (grants_is_ending(grants, grant) || (once && !counts_once(request))) continue;
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		if (pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) == 0)
			grant_best_offer(best, grant, pattern, request->target, &now);
	}
	return r;
}

/* With the subject's own values and with any. */
static int find_by_key(struct grants *grants, const struct request *request, const struct counting *counting,
		       const char *key, struct grant_best *best, struct error *error) {
	const char *const projects[] = {request->subject.project, ""};
	const char *const profiles[] = {request->subject.profile, ""};
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(projects); i++) {
		for (size_t j = 0; r == 0 && j < ARRAY_LENGTH(profiles); j++) {
			if (!projects[i] || !profiles[j]) continue;
			r = find_of_subject(grants, request, counting, key, projects[i], profiles[j], 0, best, error);
			if (r == 0 && request->session != 0)
				r = find_of_subject(grants, request, counting, key, projects[i], profiles[j],
						    request->session, best, error);
		}
	}
	return r;
}

/* The last key at or before `path`, or NULL. */
static int last_key(struct grants *grants, const char *permission, const char *path, char **ret_key,
		    struct error *error) {
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_KEY_BEFORE);
	store_bind_text(row, 1, permission);
	store_bind_text(row, 2, path);
	int step = sqlite3_step(row), r = 0;
	*ret_key = NULL;
	if (step == SQLITE_ROW)
		*ret_key = string_copy(store_column(row, 0));
	else if (step != SQLITE_DONE)
		r = store_error(grants->store, error, "looking for a grant");
	sqlite3_reset(row);
	return r;
}

/* To the folder above, in place; false when it was the root. */
static bool cut_name(char *path) {
	if (strcmp(path, "/") == 0) return false;
	const char *slash = strrchr(path, '/');
	size_t size = slash && slash > path ? (size_t)(slash - path) : 1;
	path[0] = '/'; /* a target that is no path has the root above it, too */
	path[size] = '\0';
	return true;
}

static int find_by_path(struct grants *grants, const struct request *request, const struct counting *counting,
			struct grant_best *best, struct error *error) {
	const size_t size = strlen(request->target);
	CLEANUP_FREE char *path = mem_array(char, size + 2); /* with room for the root */
	memcpy(path, request->target, size);
	int r = 0;
	for (bool more = true; r == 0 && more;) {
		CLEANUP_FREE char *key = NULL;
		r = last_key(grants, counting->permission.name, path, &key, error);
		if (r < 0 || !key) break;
		if (string_equal(key, path)) {
			r = find_by_key(grants, request, counting, path, best, error);
			more = cut_name(path);
			continue;
		}
		do more = cut_name(path);
		while (more && !string_starts(key, path));
	}
	return r;
}

static int find_by_keys(struct grants *grants, const struct request *request, const struct counting *counting,
			struct grant_best *best, struct error *error) {
	CLEANUP_STRINGS struct strings keys = {0};
	int r = 0;
	grant_keys_of_target(&request->permission, request->target, &grants->networks, &keys);
	for (size_t i = 0; r == 0 && i < keys.count; i++)
		if (key_is_used(grants, counting->permission.name, keys.items[i]))
			r = find_by_key(grants, request, counting, keys.items[i], best, error);
	return r;
}

static int visit_patterns(struct grants *grants, sqlite3_stmt *rows, const char *host,
			  void (*visit)(void *context, uint16_t first, uint16_t last), void *context,
			  struct error *error) {
	static const struct pattern_scope nothing = {.home = NULL};
	const struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	int step, count = 0;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW && count++ < LIMIT_GRANTS_ALIKE) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		uint16_t first, last;
		if (pattern_compile(&permission, store_column(rows, 0), &nothing, &pattern, NULL) == 0 &&
		    pattern_ports(pattern, host, &first, &last))
			visit(context, first, last);
	}
	if (step == SQLITE_ROW)
		return error_set(error, E2BIG, "more than %d grants lie at %s", LIMIT_GRANTS_ALIKE, host);
	return step == SQLITE_DONE ? 0 : store_error(grants->store, error, "looking for grants");
}

int grants_visit_ports(struct grants *grants, const char *host,
		       void (*visit)(void *context, uint16_t first, uint16_t last), void *context,
		       struct error *error) {
	CLEANUP_STRINGS struct strings keys = {0};
	grant_keys_of_host(host, &grants->networks, &keys);
	int r = 0;
	for (size_t i = 0; r == 0 && i < keys.count; i++) {
		CLEANUP_FREE char *end = string_format("%s!", keys.items[i]);
		sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_PATTERNS);
		store_bind_text(rows, 1, permission_of(PERMISSION_NET_ACCESS).name);
		store_bind_text(rows, 2, keys.items[i]);
		store_bind_text(rows, 3, end);
		store_bind_integer(rows, 4, LIMIT_GRANTS_ALIKE + 1);
		r = visit_patterns(grants, rows, host, visit, context, error);
		sqlite3_reset(rows);
	}
	return r;
}

static int find_in_store(struct grants *grants, const struct request *request, struct grant_best *best,
			 struct error *error) {
	struct counting counting[COUNTING_MAX];
	size_t count = counting_for(request, counting);
	bool path = permission_is_of_path(&request->permission);
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = path ? find_by_path(grants, request, &counting[i], best, error)
			 : find_by_keys(grants, request, &counting[i], best, error);
	return r;
}

static void append_part(struct string *key, const char *text) {
	if (text) string_append(key, text);
	string_append_char(key, '\0'); /* can't be in any part */
}

static void cache_key(const struct request *request, struct string *key) {
	string_append_bytes(key, (const char *)&request->session, sizeof request->session);
	append_part(key, request->permission.name);
	append_part(key, request->target);
	append_part(key, request->subject.profile);
	append_part(key, request->subject.project);
	append_part(key, counts_once(request) ? NULL : "view");
}

static struct cached *cache_slot(struct grants *grants, const struct string *key) {
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a; a collision costs a lookup, no more */
	for (size_t i = 0; i < key->size; i++) hash = (hash ^ (unsigned char)key->data[i]) * UINT64_C(0x100000001b3);
	return &grants->cache[(hash ^ hash >> 32) % CACHE_SIZE];
}

static bool cache_holds(const struct cached *slot, uint64_t epoch, const struct string *key) {
	return slot->epoch == epoch && slot->key.size == key->size && memcmp(slot->key.data, key->data, key->size) == 0;
}

/* What can't be read denies. */
static void find_failed(const struct request *request, const struct error *error, struct grant *ret_grant,
			struct pattern_rank *ret_rank) {
	*ret_grant = (struct grant){.permission = request->permission,
				    .pattern = string_copy(request->target),
				    .effect = EFFECT_DENY,
				    .lifetime = LIFETIME_ONCE,
				    .reason = string_copy(error->message)};
	*ret_rank = (struct pattern_rank){UINT32_MAX, UINT32_MAX};
}

bool grants_find(void *context, const struct request *request, struct grant *ret_grant, struct pattern_rank *ret_rank) {
	struct grants *grants = context;
	CLEANUP_STRING struct string key = {0};
	cache_key(request, &key);
	struct cached *slot = cache_slot(grants, &key);
	struct moment now;
	clock_read(grants->clock, &now);
	/* An ended one is looked up again: another may stand behind it. */
	if (!cache_holds(slot, grants->epoch, &key) || (slot->found && grant_has_expired(&slot->grant, &now))) {
		struct grant_best best = {0};
		struct error error = ERROR_NONE;
		if (find_in_store(grants, request, &best, &error) < 0) {
			if (best.found) grant_finish(&best.grant);
			find_failed(request, &error, ret_grant, ret_rank);
			return true;
		}
		string_finish(&slot->key);
		grant_finish(&slot->grant);
		*slot = (struct cached){grants->epoch, key, best.found, best.grant, best.rank};
		key = (struct string){0};
	}
	if (!slot->found) return false;
	grant_copy(ret_grant, &slot->grant);
	*ret_rank = slot->rank;
	return true;
}
