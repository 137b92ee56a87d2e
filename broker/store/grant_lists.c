#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "grants_parts.h"
#include "schema/limits.h"

int grants_read(struct grants *grants, int64_t id, struct grant *ret_grant, bool *ret_active, struct error *error) {
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_READ);
	store_bind_integer(row, 1, id);
	int step = sqlite3_step(row), r;
	if (step == SQLITE_ROW) {
		r = grant_row_read(row, ret_grant, error);
		if (r == 0)
			*ret_active =
				sqlite3_column_int(row, GRANT_ROW_COLUMNS) != 0 && !grants_is_ending(grants, ret_grant);
	} else if (step == SQLITE_DONE) {
		r = error_set(error, ENOENT, "there is no grant %lld", (long long)id);
	} else {
		r = store_error(grants->store, error, "reading a grant");
	}
	sqlite3_reset(row);
	return r;
}

/* What a view needs of one effect and one combination of the subject's values and "any"; 1 when there is no more room.
 */
static int collect_for_view(struct grants *grants, const char *project, const char *profile, int64_t session,
			    enum effect effect, int *scanned, struct grant_list *list, struct error *error) {
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_OF_SUBJECT);
	store_bind_text(rows, 1, project);
	store_bind_text(rows, 2, profile);
	grants_bind_session(rows, 3, session);
	store_bind_text(rows, 4, effect_name(effect));
	struct moment now;
	clock_read(grants->clock, &now);
	int step = SQLITE_DONE, r = 0;
	while (r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct grant grant = {0};
		if (list->count == LIMIT_VIEW_PATHS || ++*scanned > LIMIT_SCAN) {
			r = 1;
			break;
		}
		r = grant_row_read(rows, &grant, error);
		if (r < 0) break;
		if (grants_is_ending(grants, &grant) || grant_has_expired(&grant, &now))
			grant_finish(&grant);
		else
			grant_list_take(list, &grant);
	}
	if (r == 0 && step != SQLITE_DONE) r = store_error(grants->store, error, "reading the grants");
	sqlite3_reset(rows);
	return r;
}

int grants_of_subject(struct grants *grants, const struct subject *subject, int64_t session, struct grant_list *list,
		      bool *ret_cut, struct error *error) {
	static const enum effect effects[] = {EFFECT_DENY, EFFECT_ALLOW};
	const char *const projects[] = {subject->project, ""}, *const profiles[] = {subject->profile, ""};
	const int64_t sessions[] = {session, 0};
	int scanned = 0, r = 0;
	for (size_t i = 0; i < 2 * 2 * 2 * 2 && r == 0; i++) {
		const char *project = projects[i >> 1 & 1], *profile = profiles[i >> 2 & 1];
		if (!project || !profile || (session == 0 && !(i & 1))) continue;
		r = collect_for_view(grants, project, profile, sessions[i & 1], effects[i >> 3], &scanned, list, error);
		if (r == 1 && effects[i >> 3] == EFFECT_DENY)
			return error_set(error, E2BIG,
					 "more than %d denials hold for this profile and project: revoke some",
					 LIMIT_VIEW_PATHS);
	}
	*ret_cut = r == 1;
	return r < 0 ? r : 0;
}

static void take_matching(const struct grants *grants, const struct pattern *pattern, struct grant_list *found,
			  struct grant_list *list) {
	static const struct pattern_scope nothing = {.home = NULL};
	const char *target = pattern_target(pattern);
	for (size_t i = 0; i < found->count; i++) {
		struct grant *grant = &found->items[i];
		CLEANUP_PATTERN struct pattern *other = NULL;
		if (grants_is_ending(grants, grant)) continue;
		bool matches = strcmp(grant->pattern, pattern_text(pattern)) == 0;
		if (!matches && target &&
		    pattern_compile(&grant->permission, grant->pattern, &nothing, &other, NULL) == 0)
			matches = pattern_match(other, target, NULL);
		if (matches) grant_list_take(list, grant);
	}
}

/* Under which those that cover the pattern are kept. */
static void keys_covering(const struct grants *grants, const struct permission *permission,
			  const struct pattern *pattern, struct strings *keys) {
	if (pattern_is_literal(pattern))
		grant_keys_of_target(permission, pattern_target(pattern), &grants->networks, keys);
	else
		strings_take(keys, grant_key_of_pattern(permission, pattern));
}

/* By a link on its path, when it was given. */
static bool leads_to(const struct grant *grant, const struct pattern *pattern) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *there = NULL;
	CLEANUP_FREE char *quoted = grant->resolved ? pattern_quote(&grant->permission, grant->resolved) : NULL;
	return quoted && pattern_compile(&grant->permission, quoted, &nothing, &there, NULL) == 0 &&
	       pattern_overlaps(there, pattern);
}

/* An allow lets something of it through whatever its form. A denial is meant where it covers all of it: one that keeps
 * only a part is another matter. */
static bool is_meant(const struct grant *grant, const struct permission *permission, const struct pattern *pattern) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *own = NULL;
	if (pattern_compile(&grant->permission, grant->pattern, &nothing, &own, NULL) < 0) return false;
	if (grant->effect == EFFECT_ALLOW) return pattern_overlaps(own, pattern) || leads_to(grant, pattern);
	return permission_equal(&grant->permission, permission) && pattern_restricts_all(own, pattern);
}

/* Takes the grant. */
static int consider(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		    struct grant *grant, struct grant_list *list, struct error *error) {
	const bool meant = !grants_is_ending(grants, grant) && is_meant(grant, permission, pattern) &&
			   !grant_list_has(list, grant->id);
	if (meant && list->count < LIMIT_SCAN) {
		grant_list_take(list, grant);
		return 0;
	}
	grant_finish(grant);
	return meant ? error_set(error, E2BIG, "more than %d grants lie there: name a profile or ids", LIMIT_SCAN) : 0;
}

static int collect_reaching(struct grants *grants, const struct permission *of, const struct permission *permission,
			    const struct pattern *pattern, struct grant_list *list, struct error *error) {
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_OF_PERMISSION);
	store_bind_text(rows, 1, of->name);
	int step = SQLITE_DONE, r = 0;
	while (r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct grant grant = {0};
		r = grant_row_read(rows, &grant, error);
		if (r == 0) r = consider(grants, permission, pattern, &grant, list, error);
	}
	if (r == 0 && step != SQLITE_DONE) r = store_error(grants->store, error, "reading the grants");
	sqlite3_reset(rows);
	return r;
}

int grants_reaching(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		    struct grant_list *list, struct error *error) {
	const struct permission write = permission_of(PERMISSION_FS_WRITE);
	int r = collect_reaching(grants, permission, permission, pattern, list, error);
	/* Writing implies reading. */
	if (r == 0 && permission->kind == PERMISSION_FS_READ)
		r = collect_reaching(grants, &write, permission, pattern, list, error);
	return r;
}

static int collect_near(struct grants *grants, enum store_statement which, const struct permission *permission,
			const char *first, const char *end, enum effect effect, struct grant_list *list,
			struct error *error) {
	sqlite3_stmt *rows = store_statement(grants->store, which);
	store_bind_text(rows, 1, permission->name);
	store_bind_integer(rows, 2, GRANTS_NEAR_MAX);
	store_bind_text(rows, 3, effect_name(effect));
	if (first) store_bind_text(rows, 4, first);
	if (end) store_bind_text(rows, 5, end);
	return grant_rows_collect(grants->store, rows, list, error);
}

int grants_covering(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		    enum effect effect, struct grant_list *list, struct error *error) {
	CLEANUP_STRINGS struct strings keys = {0};
	CLEANUP_GRANT_LIST struct grant_list found = {0};
	keys_covering(grants, permission, pattern, &keys);
	int r = 0;
	for (size_t i = 0; r == 0 && i < keys.count; i++)
		r = collect_near(grants, STORE_GRANT_AT, permission, keys.items[i], NULL, effect, &found, error);
	if (r == 0) take_matching(grants, pattern, &found, list);
	return r;
}

int grants_near(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		enum effect effect, struct grant_list *list, struct error *error) {
	CLEANUP_GRANT_SPAN struct grant_span span;
	CLEANUP_GRANT_LIST struct grant_list found = {0};
	grant_span_of_pattern(permission, pattern, &span);
	int r = 0;
	if (span.anywhere)
		r = collect_near(grants, STORE_GRANT_ANYWHERE, permission, NULL, NULL, effect, &found, error);
	if (r == 0 && span.key)
		r = collect_near(grants, STORE_GRANT_AT, permission, span.key, NULL, effect, &found, error);
	if (r == 0 && span.first)
		r = collect_near(grants, STORE_GRANT_BETWEEN, permission, span.first, span.end, effect, &found, error);
	for (size_t i = 0; r == 0 && i < found.count; i++)
		if (!grants_is_ending(grants, &found.items[i])) grant_list_take(list, &found.items[i]);
	return r;
}

int grants_expired(struct grants *grants, struct grant_list *list, struct error *error) {
	static const enum store_statement clocks[] = {STORE_GRANT_EXPIRED_WALL, STORE_GRANT_EXPIRED_BOOT};
	struct moment now;
	clock_read(grants->clock, &now);
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(clocks) && list->count < LIMIT_ENDING; i++) {
		sqlite3_stmt *rows = store_statement(grants->store, clocks[i]);
		store_bind_integer(rows, 1, now.wall_ms);
		store_bind_integer(rows, 2, LIMIT_ENDING - (int64_t)list->count);
		if (clocks[i] == STORE_GRANT_EXPIRED_BOOT) {
			store_bind_text(rows, 3, now.boot_id);
			store_bind_integer(rows, 4, now.boot_ms);
		}
		r = grant_rows_collect(grants->store, rows, list, error);
	}
	return r;
}

int grants_denied_in(struct grants *grants, int64_t session, struct grant_list *list, struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list found = {0};
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_DENIED_IN);
	struct moment now;
	clock_read(grants->clock, &now);
	store_bind_integer(rows, 1, session);
	int r = grant_rows_collect(grants->store, rows, &found, error);
	for (size_t i = 0; r == 0 && i < found.count; i++)
		if (!grant_has_expired(&found.items[i], &now)) grant_list_take(list, &found.items[i]);
	return r;
}

int grants_spent(struct grants *grants, bool revoked, struct grant_list *list, struct error *error) {
	sqlite3_stmt *rows = store_statement(grants->store, STORE_GRANT_SPENT);
	store_bind_integer(rows, 1, LIMIT_SCAN);
	store_bind_integer(rows, 2, revoked);
	return grant_rows_collect(grants->store, rows, list, error);
}

static int read_minimum(struct grants *grants, sqlite3_stmt *row, int64_t *ret_value, struct error *error) {
	int r = sqlite3_step(row) == SQLITE_ROW ? 0 : store_error(grants->store, error, "reading when grants end");
	if (r == 0) *ret_value = sqlite3_column_int64(row, 0);
	sqlite3_reset(row);
	return r;
}

int grants_next_expiry(struct grants *grants, int64_t *ret_wall_ms, int64_t *ret_boot_ms, struct error *error) {
	struct moment now;
	clock_read(grants->clock, &now);
	int r = read_minimum(grants, store_statement(grants->store, STORE_GRANT_NEXT_WALL), ret_wall_ms, error);
	if (r < 0) return r;
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_NEXT_BOOT);
	store_bind_text(row, 1, now.boot_id);
	return read_minimum(grants, row, ret_boot_ms, error);
}

int grants_list(struct grants *grants, bool newest, bool ended_too, int64_t cursor,
		bool (*wanted)(const void *context, const struct grant *grant), const void *context, json_t *items,
		int64_t *ret_next, struct error *error) {
	static const enum store_statement statements[2][2] = {{STORE_GRANT_IN_FORCE, STORE_GRANT_IN_FORCE_BACK},
							      {STORE_GRANT_LIST, STORE_GRANT_LIST_BACK}};
	sqlite3_stmt *rows = store_statement(grants->store, statements[ended_too][newest]);
	struct moment now;
	clock_read(grants->clock, &now);
	store_bind_integer(rows, 1, newest ? 0 : cursor);
	store_bind_integer(rows, 2, newest && cursor > 0 ? cursor : INT64_MAX);
	size_t bytes = 0;
	int64_t last = 0;
	int step, r = 0;
	*ret_next = 0;
	for (int scanned = 0; (step = sqlite3_step(rows)) == SQLITE_ROW; scanned++) {
		CLEANUP_GRANT struct grant grant = {0};
		bool full = scanned == LIMIT_SCAN || json_array_size(items) == LIMIT_PAGE;
		bool in_force = sqlite3_column_int(rows, GRANT_ROW_COLUMNS) != 0;
		if (!full && (r = grant_row_read(rows, &grant, error)) == 0 && wanted(context, &grant) &&
		    (ended_too ||
		     (in_force && !grants_is_ending(grants, &grant) && !grant_has_expired(&grant, &now)))) {
			json_t *json = grant_to_json(&grant);
			bytes += json_dumpb(json, NULL, 0, JSON_COMPACT) + 1;
			full = bytes > LIMIT_PAGE_BYTES && json_array_size(items) > 0;
			if (!full) json_array_append(items, json);
			json_decref(json);
		}
		if (full) *ret_next = last;
		if (full || r < 0) break;
		last = sqlite3_column_int64(rows, 0);
	}
	if (r == 0 && step != SQLITE_ROW && step != SQLITE_DONE)
		r = store_error(grants->store, error, "reading the grants");
	sqlite3_reset(rows);
	return r;
}
