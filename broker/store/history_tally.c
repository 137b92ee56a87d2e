#include "history_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

enum { LOOK_BACK = 64 };

void tallies_finish(struct tallies *tallies) {
	for (size_t i = 0; i < tallies->count; i++) {
		free(tallies->items[i].profile);
		free(tallies->items[i].project);
	}
	free(tallies->items);
	*tallies = (struct tallies){0};
}

static bool detail_says_shown(const char *detail) {
	json_t *json = detail ? json_loads(detail, 0, NULL) : NULL;
	bool shown = string_equal(json_string_value(json_object_get(json, "state")), "shown");
	json_decref(json);
	return shown;
}

/* One, but for denials that were recorded together (flood.h). */
static int64_t count_decisions(const struct row *row) {
	if (row->permission || !row->detail) return 1;
	json_t *json = json_loads(row->detail, 0, NULL);
	int64_t count = json_integer_value(json_object_get(json, "count"));
	json_decref(json);
	return count > 0 ? count : 1;
}

/* What the row counts as; false when as nothing. Of the details those that STORE_EVENT_DIGEST reads, too. */
static bool count_row(const struct row *row, int64_t counts[TALLY_COUNT]) {
	const char *kind = row->kind ? row->kind : "";
	int64_t decisions = strcmp(kind, "decision") == 0 ? count_decisions(row) : 0;
	memset(counts, 0, TALLY_COUNT * sizeof *counts);
	counts[TALLY_SESSIONS] = strcmp(kind, "session-start") == 0;
	counts[TALLY_DECISIONS] = decisions;
	counts[TALLY_ASKED] = strcmp(kind, "prompt") == 0 && detail_says_shown(row->detail);
	if (string_equal(row->verdict, "deny")) counts[TALLY_DENIED] = strcmp(kind, "connection") == 0 ? 1 : decisions;
	for (int i = 0; i < TALLY_COUNT; i++)
		if (counts[i] != 0) return row->profile != NULL;
	return false;
}

static struct tally *find(struct tallies *tallies, int64_t session, int64_t quarter, const char *profile,
			  const char *project) {
	/* It is mostly one of the last. One that isn't found is made twice, which adds up to the same. */
	size_t end = tallies->count > LOOK_BACK ? tallies->count - LOOK_BACK : 0;
	for (size_t i = tallies->count; i-- > end;) {
		struct tally *tally = &tallies->items[i];
		if (tally->session == session && tally->quarter == quarter && strcmp(tally->profile, profile) == 0 &&
		    strcmp(tally->project, project) == 0)
			return tally;
	}
	tallies->items = array_grow(tallies->items, tallies->count, sizeof *tallies->items);
	tallies->items[tallies->count] = (struct tally){.session = session,
							.quarter = quarter,
							.profile = string_copy(profile),
							.project = string_copy(project)};
	return &tallies->items[tallies->count++];
}

void tallies_add_row(struct tallies *tallies, const struct row *row) {
	int64_t counts[TALLY_COUNT], quarter = quarter_of(row->time_ms);
	const char *project = row->project ? row->project : "";
	if (!count_row(row, counts)) return;
	struct tally *all = find(tallies, 0, quarter, row->profile, project);
	for (int i = 0; i < TALLY_COUNT; i++) all->counts[i] += counts[i];
	if (row->session == 0) return;
	struct tally *own = find(tallies, row->session, quarter, row->profile, project);
	for (int i = 0; i < TALLY_COUNT; i++) own->counts[i] += counts[i];
}

static int find_subject(struct history *history, const struct tally *tally, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *row = store_statement(history->store, STORE_SUBJECT_FIND);
	store_bind_text(row, 1, tally->profile);
	store_bind_text(row, 2, tally->project);
	int step = sqlite3_step(row), r = 0;
	if (step == SQLITE_ROW)
		*ret_id = sqlite3_column_int64(row, 0);
	else if (step != SQLITE_DONE)
		r = store_error(history->store, error, "reading the history's tallies");
	sqlite3_reset(row);
	if (step != SQLITE_DONE) return r;
	sqlite3_stmt *insert = store_statement(history->store, STORE_SUBJECT_INSERT);
	store_bind_text(insert, 1, tally->profile);
	store_bind_text(insert, 2, tally->project);
	r = store_run(history->store, insert, error, "writing the history's tallies");
	*ret_id = store_last_id(history->store);
	return r;
}

static int write_tally(struct history *history, const struct tally *tally, int sign, struct error *error) {
	int64_t subject = 0;
	int r = find_subject(history, tally, &subject, error);
	if (r < 0) return r;
	sqlite3_stmt *add = store_statement(history->store, STORE_TALLY_ADD);
	store_bind_integer(add, 1, tally->session);
	store_bind_integer(add, 2, tally->quarter);
	store_bind_integer(add, 3, subject);
	for (int i = 0; i < TALLY_COUNT; i++) store_bind_integer(add, 4 + i, sign * tally->counts[i]);
	r = store_run(history->store, add, error, "writing the history's tallies");
	if (r < 0 || sign > 0) return r;
	sqlite3_stmt *empty = store_statement(history->store, STORE_TALLY_REMOVE);
	store_bind_integer(empty, 1, tally->session);
	store_bind_integer(empty, 2, tally->quarter);
	store_bind_integer(empty, 3, subject);
	return store_run(history->store, empty, error, "writing the history's tallies");
}

int tallies_write(struct history *history, const struct tallies *tallies, int sign, struct error *error) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < tallies->count; i++) r = write_tally(history, &tallies->items[i], sign, error);
	return r;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return hash;
}

uint64_t tally_digest(const struct tally *tally) {
	uint64_t digest = 0;
	for (int64_t i = 0; i < TALLY_COUNT; i++) {
		uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), &tally->session, sizeof tally->session);
		hash = mix(hash, &tally->quarter, sizeof tally->quarter);
		hash = mix(hash, tally->profile, strlen(tally->profile) + 1);
		hash = mix(hash, tally->project, strlen(tally->project) + 1);
		hash = mix(hash, &i, sizeof i);
		digest += hash * (uint64_t)tally->counts[i];
	}
	return digest;
}
