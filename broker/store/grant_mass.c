#include <stdlib.h>

#include "base/memory.h"
#include "grants_parts.h"
#include "schema/limits.h"

void grants_mass_begin(struct grants *grants, struct grant_mass *mass) {
	TAILQ_INSERT_TAIL(&grants->masses, mass, link);
	grants_changed(grants);
}

void grants_mass_end(struct grants *grants, struct grant_mass *mass) {
	TAILQ_REMOVE(&grants->masses, mass, link);
	grants_changed(grants);
}

static int compare_ids(const void *a, const void *b) {
	const int64_t *one = a, *other = b;
	return (*one > *other) - (*one < *other);
}

static bool mass_has(const struct grant_mass *mass, const struct grant *grant) {
	if (grant->id > mass->last) return false;
	switch (mass->what) {
	case GRANT_MASS_ALLOWS:
		return grant->effect == EFFECT_ALLOW;
	case GRANT_MASS_PROFILE:
		return string_equal(grant->profile, mass->profile);
	case GRANT_MASS_SESSION:
		return grant->session == mass->session;
	case GRANT_MASS_SESSIONS:
		return grant->session != 0;
	case GRANT_MASS_LISTED:
		return bsearch(&grant->id, mass->ids, mass->id_count, sizeof *mass->ids, compare_ids) != NULL;
	}
	return true;
}

/* In one of the masses, or in one of those that began before `end`. */
static bool is_ending_before(const struct grants *grants, const struct grant *grant, const struct grant_mass *end) {
	const struct grant_mass *mass;
	TAILQ_FOREACH(mass, &grants->masses, link) {
		if (mass == end) return false;
		if (mass_has(mass, grant)) return true;
	}
	return false;
}

bool grants_is_ending(const struct grants *grants, const struct grant *grant) {
	return is_ending_before(grants, grant, NULL);
}

int grants_last_id(struct grants *grants, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *row = store_statement(grants->store, STORE_GRANT_LAST);
	int r = sqlite3_step(row) == SQLITE_ROW ? 0 : store_error(grants->store, error, "reading the grants");
	if (r == 0) *ret_id = sqlite3_column_int64(row, 0);
	sqlite3_reset(row);
	return r;
}

/* The statement's rows from *cursor on, LIMIT_ENDING of them looked at. */
static int read_mass(struct grants *grants, const struct grant_mass *mass, sqlite3_stmt *rows, int64_t *cursor,
		     struct grant_list *list, struct error *error) {
	int step = SQLITE_DONE, r = 0, seen = 0;
	while (r == 0 && seen < LIMIT_ENDING && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct grant grant = {0};
		r = grant_row_read(rows, &grant, error);
		if (r < 0) break;
		*cursor = grant.id;
		seen++;
		if (mass_has(mass, &grant) && !is_ending_before(grants, &grant, mass))
			grant_list_take(list, &grant);
		else
			grant_finish(&grant);
	}
	if (r == 0 && step != SQLITE_ROW && step != SQLITE_DONE)
		r = store_error(grants->store, error, "reading the grants");
	if (seen < LIMIT_ENDING) *cursor = 0;
	sqlite3_reset(rows);
	return r;
}

int grants_mass_page(struct grants *grants, const struct grant_mass *mass, int64_t *cursor, struct grant_list *list,
		     struct error *error) {
	static const enum store_statement statements[] = {[GRANT_MASS_PROFILE] = STORE_GRANT_OF_PROFILE,
							  [GRANT_MASS_SESSION] = STORE_GRANT_OF_SESSION,
							  [GRANT_MASS_SESSIONS] = STORE_GRANT_OF_SESSIONS};
	sqlite3_stmt *rows;
	if (mass->what == GRANT_MASS_ALLOWS || mass->what == GRANT_MASS_LISTED) {
		rows = store_statement(grants->store, STORE_GRANT_IN_FORCE);
		store_bind_integer(rows, 1, *cursor);
		store_bind_integer(rows, 2, mass->last + 1);
	} else {
		rows = store_statement(grants->store, statements[mass->what]);
		if (mass->what == GRANT_MASS_PROFILE) store_bind_text(rows, 1, mass->profile);
		if (mass->what == GRANT_MASS_SESSION) store_bind_integer(rows, 1, mass->session);
		if (mass->what != GRANT_MASS_SESSIONS) store_bind_integer(rows, 2, *cursor);
		store_bind_integer(rows, 3, mass->last);
		store_bind_integer(rows, 4, LIMIT_ENDING);
	}
	return read_mass(grants, mass, rows, cursor, list, error);
}
