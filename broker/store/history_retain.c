/*
 * Theory of operation.
 *
 * Rows go from the start, as many as are older than `keep`, at most a block a step, and with them in one transaction
 * what was derived from them, the grants whose end and the sessions whose end they told, and the anchor moves to the
 * last one taken: whenever the process ends, the chain holds from the anchor on. Nothing else refers to a grant after
 * its end or to a session after its own. The table's last row always stays, for the next to follow.
 *
 * A run goes on until the first row that is young enough; then one event says how many rows went and what the anchor
 * is, so that an anchor moved by somebody else shows (history_verify.c). `removed` counts across steps and ends of the
 * process until that event is written. Runs are a day apart, or a 24th of `keep` if that is less. Rows that didn't
 * follow the one before them are noted in the event too: with them goes the last trace of what was done to them.
 *
 * The wall clock is not believed at once, or one set ahead by mistake would take all. Retention has a clock of its own
 * that follows it: set back at once, ahead by what has passed since the last look, of that at most a quarter of `keep`
 * and at most eight days (a machine that was off), and by up to a day a minute while sbxd runs. So a year of history
 * takes six hours of a wrong clock to go, which somebody will have noticed, and after a long holiday the clocks agree
 * within the hour.
 *
 * A row dated in the future (written while the clock was ahead) goes with the due row after it, if that is less than a
 * block away; otherwise it is kept until it is due, and what is behind it as well.
 *
 * Free pages of the file are used again; it doesn't shrink.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "history_block.h"
#include "history_tally.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000, GAP_MOST_MS = INT64_C(8) * 24 * 3600 * 1000,
		     FOLLOW_MS = INT64_C(24) * 60 * 1000, /* a look a second makes it a day a minute */
	KEEP_CLOCK_MS = INT64_C(10) * 60 * 1000;

static int64_t least(int64_t a, int64_t b) {
	return a < b ? a : b;
}

/* Where the clock starts: at the newest row, or now if there is none. */
static int start_clock(struct history *history, int64_t wall_ms, struct error *error) {
	sqlite3_stmt *newest = store_statement(history->store, STORE_EVENT_READ);
	store_bind_integer(newest, 1, history->stored.seq);
	int step = sqlite3_step(newest), r = 0;
	history->clock.seen_ms = history->clock.now_ms = wall_ms;
	if (step == SQLITE_ROW)
		history->clock.now_ms = least(wall_ms, sqlite3_column_int64(newest, 1));
	else if (step != SQLITE_DONE)
		r = store_error(history->store, error, "reading the history");
	sqlite3_reset(newest);
	return r;
}

static void follow_clock(struct history_clock *clock, int64_t wall_ms, int64_t keep_ms) {
	int64_t gap = wall_ms - clock->seen_ms, most = least(keep_ms / 4, GAP_MOST_MS);
	if (gap < 0) gap = 0;
	clock->now_ms = least(wall_ms, clock->now_ms + least(gap, most) + FOLLOW_MS);
	clock->seen_ms = wall_ms;
}

int history_retain_look(struct history *history, int64_t wall_ms, int64_t keep_ms, struct error *error) {
	int r = history->clock.now_ms == 0 ? start_clock(history, wall_ms, error) : 0;
	history->keep_ms = keep_ms;
	if (r < 0 || keep_ms == 0) return r;
	follow_clock(&history->clock, wall_ms, keep_ms);
	int64_t since = wall_ms - history->kept_clock.seen_ms;
	return since < 0 || since >= KEEP_CLOCK_MS ? history_retain_keep_clock(history, error) : 0;
}

bool history_retain_is_due(const struct history *history) {
	int64_t since = history->clock.now_ms - history->clock.run_ms;
	return history->keep_ms > 0 && history->clock.now_ms > 0 && history->stored.seq > history->anchor_seq + 1 &&
	       (history->removed > 0 || since < 0 || since >= least(DAY_MS, history->keep_ms / 24));
}

static int write_clock(struct history *history, struct error *error) {
	sqlite3_stmt *clock = store_statement(history->store, STORE_UPKEEP_CLOCK);
	store_bind_integer(clock, 1, history->clock.now_ms);
	store_bind_integer(clock, 2, history->clock.seen_ms);
	store_bind_integer(clock, 3, history->clock.run_ms);
	return store_run(history->store, clock, error, "writing what retention knows of the time");
}

int history_retain_keep_clock(struct history *history, struct error *error) {
	if (memcmp(&history->clock, &history->kept_clock, sizeof history->clock) == 0) return 0;
	int r = store_begin(history->store, STORE_NORMAL, error);
	if (r < 0) return r;
	r = write_clock(history, error);
	if (r < 0)
		store_rollback(history->store);
	else
		r = store_commit(history->store, error);
	if (r == 0) history->kept_clock = history->clock;
	return r;
}

/* What a step takes. */
struct removal {
	int64_t count, last; /* rows, and the last of them: the next anchor */
	char hash[HASH_HEX_SIZE];
	int64_t bad;
	struct tallies tallies;
	struct ended {
		enum store_statement remove; /* a session or a grant */
		int64_t id;
		int64_t before_ms; /* only if it was over before then; 0 = in any case */
	} * ended;                 /* whose end is among the rows */
	size_t ended_count;
};

static void removal_finish(struct removal *removal) {
	tallies_finish(&removal->tallies);
	free(removal->ended);
}

static int64_t cutoff(const struct history *history) {
	return history->clock.now_ms - history->keep_ms;
}

/* A grant ends with an event, but for one for a single use: that is over when it was used. Where a session has many
 * they end after it, and it goes with the last of them. */
static void note_end(struct removal *removal, const struct row *row, int64_t cutoff_ms) {
	const struct {
		const char *kind;
		struct ended end;
	} kinds[] = {{"session-end", {STORE_SESSION_REMOVE, row->session, 0}},
		     {"expire", {STORE_GRANT_REMOVE, row->grant, 0}},
		     {"revoke", {STORE_GRANT_REMOVE, row->grant, 0}},
		     {"grant", {STORE_GRANT_REMOVE, row->grant, cutoff_ms}},
		     {"use", {STORE_GRANT_REMOVE, row->grant, cutoff_ms}},
		     {"expire", {STORE_SESSION_REMOVE, row->session, cutoff_ms}},
		     {"revoke", {STORE_SESSION_REMOVE, row->session, cutoff_ms}}};
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		if (!string_equal(row->kind, kinds[i].kind) || kinds[i].end.id == 0) continue;
		removal->ended = array_grow(removal->ended, removal->ended_count, sizeof *removal->ended);
		removal->ended[removal->ended_count++] = kinds[i].end;
	}
}

/* How many rows from the anchor on are due, of a block's worth; true when that was all there is to take. */
static int find_due(struct history *history, int64_t *ret_last, bool *ret_all, struct error *error) {
	int64_t high = least(history->anchor_seq + BLOCK_ROWS, history->stored.seq - 1);
	sqlite3_stmt *rows = store_statement(history->store, STORE_EVENT_DIGEST);
	store_bind_integer(rows, 1, history->anchor_seq);
	store_bind_integer(rows, 2, high);
	int step;
	*ret_last = history->anchor_seq;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t time_ms = sqlite3_column_int64(rows, 1);
		if (time_ms < cutoff(history))
			*ret_last = sqlite3_column_int64(rows, 0);
		else if (time_ms <= history->clock.now_ms)
			break;
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	*ret_all = *ret_last < history->anchor_seq + BLOCK_ROWS;
	return r;
}

static int read_due(struct history *history, int64_t last, struct removal *removal, struct error *error) {
	sqlite3_stmt *rows = store_statement(history->store, STORE_EVENT_VERIFY);
	store_bind_integer(rows, 1, history->anchor_seq);
	store_bind_integer(rows, 2, BLOCK_ROWS);
	int64_t expected = history->anchor_seq + 1;
	hash_copy(removal->hash, history->anchor_hash);
	int step = SQLITE_ROW;
	while (removal->last < last && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		const struct row row = row_of_statement(rows);
		if (row_check(rows, expected, removal->hash) && removal->bad == 0) removal->bad = expected;
		hash_copy(removal->hash, store_column(rows, COLUMN_HASH));
		expected = row.seq + 1;
		removal->last = row.seq;
		removal->count++;
		if (row.seq <= history->tallied_seq) tallies_add_row(&removal->tallies, &row);
		note_end(removal, &row, cutoff(history));
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	return r;
}

static int remove_ended(struct history *history, const struct ended *ended, struct error *error) {
	sqlite3_stmt *remove = store_statement(history->store, ended->remove);
	store_bind_integer(remove, 1, ended->id);
	store_bind_integer(remove, 2, ended->before_ms);
	return store_run(history->store, remove, error, "removing old rows");
}

static int remove_rows(struct history *history, const struct removal *removal, struct error *error) {
	sqlite3_stmt *remove = store_statement(history->store, STORE_EVENT_REMOVE);
	store_bind_integer(remove, 1, history->anchor_seq);
	store_bind_integer(remove, 2, removal->last);
	int r = store_run(history->store, remove, error, "removing old rows");
	if (r == 0) r = tallies_write(history, &removal->tallies, -1, error);
	for (int64_t block = block_of(history->anchor_seq + 1); r == 0 && block_last_seq(block) <= removal->last;
	     block++)
		if (block_last_seq(block) <= history->indexed_seq) r = block_remove(history, block, error);
	/* A grant that is in force stays, and so does the session that one belongs to. */
	for (size_t i = 0; r == 0 && i < removal->ended_count; i++)
		r = remove_ended(history, &removal->ended[i], error);
	return r;
}

static int write_marks(struct history *history, const struct removal *removal, int64_t removed, struct error *error) {
	sqlite3_stmt *anchor = store_statement(history->store, STORE_STATE_ANCHOR);
	store_bind_integer(anchor, 1, removal->last);
	store_bind_text(anchor, 2, removal->hash);
	int r = store_run(history->store, anchor, error, "writing where the history begins");
	if (r < 0) return r;
	sqlite3_stmt *upkeep = store_statement(history->store, STORE_UPKEEP_REMOVED);
	store_bind_integer(upkeep, 1, removed);
	return store_run(history->store, upkeep, error, "writing where the history begins");
}

static int record_run(struct history *history, const struct removal *removal, int64_t removed, int64_t bad,
		      struct error *error) {
	char stamp[CLOCK_STAMP_SIZE];
	CLEANUP_FREE char *keep = duration_format(history->keep_ms), *why = string_format("older than %s", keep);
	stamp_format(cutoff(history), stamp);
	struct event event = {.time_ms = history->clock.seen_ms,
			      .kind = EVENT_POLICY,
			      .verdict = -1,
			      .by = (char *)"retention",
			      .why = why,
			      .detail =
				      json_pack("{s:I, s:s, s:I, s:s}", "removed", (json_int_t)removed, "before", stamp,
						"anchor", (json_int_t)removal->last, "anchor_hash", removal->hash)};
	if (bad != 0) json_object_set_new(event.detail, "bad", json_integer(bad));
	int r = history_append(history, &event, error);
	json_decref(event.detail);
	return r;
}

/* Within a transaction. */
static int take(struct history *history, const struct removal *removal, bool all, struct error *error) {
	int64_t removed = history->removed + removal->count, bad = history->bad ? history->bad : removal->bad;
	int r = removal->count > 0 ? remove_rows(history, removal, error) : 0;
	if (r == 0) r = write_marks(history, removal, all ? 0 : removed, error);
	if (r == 0 && all && removed > 0) r = record_run(history, removal, removed, bad, error);
	return r < 0 ? r : write_clock(history, error);
}

int history_retain(struct history *history, struct history_run *ret_run, struct error *error) {
	__attribute__((cleanup(removal_finish))) struct removal removal = {.last = history->anchor_seq};
	bool all = false;
	int64_t last = 0, before_ms = history->clock.run_ms;
	*ret_run = (struct history_run){0};
	int r = find_due(history, &last, &all, error);
	if (r == 0) r = read_due(history, last, &removal, error);
	if (r < 0) return r;
	if (all) history->clock.run_ms = history->clock.now_ms;
	if (removal.count == 0 && history->removed == 0) return 0; /* nothing to write down */
	r = store_begin(history->store, STORE_NORMAL, error);
	if (r == 0) r = take(history, &removal, all, error);
	if (r == 0) r = store_commit(history->store, error);
	if (r < 0) {
		store_rollback(history->store);
		history_rolled_back(history);
		history->clock.run_ms = before_ms;
		return r;
	}
	history_committed(history);
	history->anchor_seq = removal.last;
	hash_copy(history->anchor_hash, removal.hash);
	history->kept_clock = history->clock;
	history->removed += removal.count;
	if (history->bad == 0) history->bad = removal.bad;
	if (!all) return 0;
	*ret_run = (struct history_run){history->removed, history->anchor_hash, history->anchor_seq};
	history->removed = history->bad = 0;
	return 0;
}
