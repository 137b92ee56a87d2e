/*
 * Theory of operation.
 *
 * The rows are read in order, a block a call, so that nobody waits long: each must follow the one before, the first the
 * anchor, the last must be the head. What is derived from them is made once more on the way and compared: a block's
 * index with what is stored, and made anew where it says less; of the tallies a digest that adds up (history_tally.h),
 * since the rows of a quarter of an hour may be anywhere. After the last row the stored tallies are added up the same
 * way, some thousand a call; if the sums differ all tallies are made anew. If in the meantime rows were counted or
 * taken away by retention the sums can't be compared: then it is tried again.
 *
 * Each run of retention has left an event with its anchor; the newest must be the anchor that is stored, or the rows
 * between were taken by somebody else.
 *
 * The state of such a walk is its caller's (a client's), who may have begun another since: it is known by its cursor.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "history_block.h"
#include "history_tally.h"

enum { TALLY_PAGE = 2000, TRIES_MOST = 5 };

/* What the row after `seq` must follow: the anchor's hash or that row's. */
static int previous_hash(struct history *history, int64_t seq, char ret_hash[HASH_HEX_SIZE], struct error *error) {
	if (seq == history->anchor_seq) {
		hash_copy(ret_hash, history->anchor_hash);
		return 0;
	}
	sqlite3_stmt *read = store_statement(history->store, STORE_EVENT_READ);
	store_bind_integer(read, 1, seq);
	int r = 0;
	if (sqlite3_step(read) == SQLITE_ROW)
		hash_copy(ret_hash, store_column(read, COLUMN_HASH));
	else
		r = error_set(error, EINVAL, "there is no row %lld in the history to go on from", (long long)seq);
	sqlite3_reset(read);
	return r;
}

static int waiting_hash(struct history *history, int64_t seq, char ret_hash[HASH_HEX_SIZE]) {
	CLEANUP_WAITING struct waiting waiting = {0};
	int r = waiting_read(history, &waiting, NULL);
	if (r == 0) hash_copy(ret_hash, waiting.rows[seq - history->stored.seq - 1].hash);
	return r;
}

bool history_has_taken(const struct history *history, int64_t seq) {
	return seq < history->anchor_seq;
}

const char *history_check_head(struct history *history, int64_t seq, const char *hash) {
	char found[HASH_HEX_SIZE];
	if (seq > history->committed.seq) return "the history ends before this row: it was cut off";
	if (seq > history->stored.seq ? waiting_hash(history, seq, found) < 0
				      : previous_hash(history, seq, found, NULL) < 0)
		return "this row is missing";
	return strcmp(found, hash) == 0 ? NULL : "this row has another hash: it or one before it was changed";
}

/* One call's part of the walk. */
struct stretch {
	int64_t seq; /* the last row that was good */
	char previous[HASH_HEX_SIZE];
	struct block *block; /* its rows, when the index should have them; else NULL */
	struct tallies tallies;
	int64_t recorded_anchor; /* by the last event of retention among its rows; 0 = there was none */
	const char *bad;         /* what is wrong with the row after `seq` */
	bool ended;              /* there are no more rows */
};

static void stretch_finish(struct stretch *stretch) {
	block_free(stretch->block);
	tallies_finish(&stretch->tallies);
}

static int64_t anchor_in(const struct row *row) {
	if (!string_equal(row->kind, "policy") || !string_equal(row->by, "retention") || !row->detail) return 0;
	json_t *detail = json_loads(row->detail, 0, NULL);
	int64_t anchor = json_integer_value(json_object_get(detail, "anchor"));
	json_decref(detail);
	return anchor;
}

static int read_stretch(struct history *history, struct stretch *stretch, struct error *error) {
	int64_t first = stretch->seq + 1, block = block_of(first), end = block_last_seq(block);
	bool whole = first == block_first_seq(block) || stretch->seq == history->anchor_seq;
	if (whole && end <= history->indexed_seq) stretch->block = block_new(block);
	sqlite3_stmt *rows = store_statement(history->store, STORE_EVENT_VERIFY);
	store_bind_integer(rows, 1, stretch->seq);
	store_bind_integer(rows, 2, end - stretch->seq);
	int step = SQLITE_ROW;
	while (stretch->seq < end && !stretch->bad && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		const struct row row = row_of_statement(rows);
		stretch->bad = row_check(rows, stretch->seq + 1, stretch->previous);
		if (stretch->bad) break;
		stretch->seq = row.seq;
		if (stretch->block) block_add(stretch->block, &row);
		tallies_add_row(&stretch->tallies, &row);
		int64_t anchor = anchor_in(&row);
		if (anchor != 0) stretch->recorded_anchor = anchor;
	}
	stretch->ended = step == SQLITE_DONE;
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	return r;
}

static int rebuild_block(struct history *history, const struct block *block, struct error *error) {
	int r = store_begin(history->store, STORE_NORMAL, error);
	if (r < 0) return r;
	r = block_rewrite(history, block, error);
	if (r == 0) return store_commit(history->store, error);
	store_rollback(history->store);
	return r;
}

static int compare_block(struct history *history, const struct block *block, struct history_check *check,
			 struct error *error) {
	int r = block_is_stored(history, block, error);
	if (r != 0) return r < 0 ? r : 0;
	check->rebuilt_first = block_first_seq(block->number);
	check->rebuilt_last = block_last_seq(block->number);
	return rebuild_block(history, block, error);
}

/* The end: is it the head, and was the beginning moved by retention alone? */
static void check_ends(const struct history *history, const struct history_walk *walk, const struct stretch *stretch,
		       struct history_check *check) {
	if (stretch->seq < history->stored.seq) {
		check->bad = stretch->seq + 1;
		check->what = "the rows from here on are missing: the history was cut off";
	} else if (strcmp(stretch->previous, history->stored.hash) != 0) {
		check->bad = stretch->seq;
		check->what = "the last row is not the one that was written last";
	} else if (walk && walk->anchor_seq == history->anchor_seq &&
		   walk->recorded_anchor + history->removed != history->anchor_seq &&
		   (walk->recorded_anchor != 0 || history->removed == 0)) {
		check->bad = walk->recorded_anchor + history->removed + 1;
		check->what = "the rows from here on are missing, up to where the history begins: retention has not "
			      "taken them away";
	}
}

static int forget_tallies(struct history *history, struct error *error) {
	int r = store_begin(history->store, STORE_NORMAL, error);
	if (r < 0) return r;
	r = store_run(history->store, store_statement(history->store, STORE_TALLY_FORGET), error,
		      "forgetting the history's tallies");
	if (r == 0) {
		sqlite3_stmt *upkeep = store_statement(history->store, STORE_UPKEEP_DIGEST);
		store_bind_integer(upkeep, 1, history->indexed_seq);
		store_bind_integer(upkeep, 2, history->anchor_seq);
		r = store_run(history->store, upkeep, error, "forgetting the history's tallies");
	}
	if (r == 0) r = store_commit(history->store, error);
	if (r < 0) {
		store_rollback(history->store);
		return r;
	}
	history->tallied_seq = history->anchor_seq;
	return 0;
}

/* Adds up some more of the stored tallies; 1 when that was all. */
static int add_tallies(struct history *history, struct history_walk *walk, struct error *error) {
	sqlite3_stmt *rows = store_statement(history->store, STORE_TALLY_WALK);
	for (int i = 0; i < (int)ARRAY_LENGTH(walk->key); i++) store_bind_integer(rows, i + 1, walk->key[i]);
	store_bind_integer(rows, 4, TALLY_PAGE);
	int step, count = 0;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		const char *profile = store_column(rows, 3), *project = store_column(rows, 4);
		struct tally tally = {.session = sqlite3_column_int64(rows, 0),
				      .quarter = sqlite3_column_int64(rows, 1),
				      .profile = (char *)(profile ? profile : ""),
				      .project = (char *)(project ? project : "")};
		for (int i = 0; i < TALLY_COUNT; i++) tally.counts[i] = sqlite3_column_int64(rows, 5 + i);
		walk->stored += tally_digest(&tally);
		for (int i = 0; i < (int)ARRAY_LENGTH(walk->key); i++) walk->key[i] = sqlite3_column_int64(rows, i);
		count++;
	}
	int r = step == SQLITE_DONE ? count < TALLY_PAGE
				    : store_error(history->store, error, "reading the history's tallies");
	sqlite3_reset(rows);
	return r;
}

/* After the last row: `check->next` stays while there is more to do. */
static int compare_tallies(struct history *history, struct history_walk *walk, int64_t seq, struct history_check *check,
			   struct error *error) {
	if (!walk->adding) {
		if (history->tallied_seq < seq) {
			check->next = seq;
			return history_digest(history, error);
		}
		walk->adding = true;
		walk->tallied_seq = history->tallied_seq;
		walk->stored = 0;
		walk->key[0] = walk->key[1] = walk->key[2] = INT64_MIN;
		walk->tries++;
	}
	if (walk->tries > TRIES_MOST || walk->anchor_seq != history->anchor_seq || walk->tallied_seq != seq) return 0;
	int r = add_tallies(history, walk, error);
	if (r == 0) check->next = seq;
	if (r != 1 || walk->stored == walk->digest) return r < 0 ? r : 0;
	check->recounted = true;
	return forget_tallies(history, error);
}

/* The rows that can't be put into the table now follow it. */
static int check_waiting(const struct history *history, struct history_check *check, struct error *error) {
	CLEANUP_WAITING struct waiting waiting = {0};
	int r = waiting_read(history, &waiting, error);
	check->checked += (int64_t)waiting.count;
	if (r != -EUCLEAN) return r;
	check->bad = history->stored.seq + (int64_t)waiting.count + 1;
	check->what = "the rows from here on, which were not in the table yet, were changed";
	return 0;
}

int history_verify(struct history *history, struct history_walk *walk, int64_t cursor, struct history_check *ret_check,
		   struct error *error) {
	__attribute__((cleanup(stretch_finish))) struct stretch stretch = {
		.seq = cursor > history->anchor_seq ? cursor : history->anchor_seq};
	if (cursor == 0)
		*walk = (struct history_walk){.anchor_seq = history->anchor_seq};
	else if (walk->next != cursor)
		walk = NULL;
	struct history_check check = {0};
	int r = previous_hash(history, stretch.seq, stretch.previous, error);
	if (r == 0) r = read_stretch(history, &stretch, error);
	if (r < 0) return r;
	check.checked = stretch.seq - history->anchor_seq;
	if (walk && stretch.recorded_anchor != 0) walk->recorded_anchor = stretch.recorded_anchor;
	for (size_t i = 0; walk && i < stretch.tallies.count; i++)
		walk->digest += tally_digest(&stretch.tallies.items[i]);
	if (walk && stretch.tallies.count > 0) walk->adding = false;
	if (stretch.bad) {
		check.bad = stretch.seq + 1;
		check.what = stretch.bad;
	} else if (!stretch.ended) {
		check.next = stretch.seq;
	} else {
		check_ends(history, walk, &stretch, &check);
		if (check.bad == 0) r = check_waiting(history, &check, error);
		if (r < 0) return r;
	}
	/* What is derived is mended where it differs, which needs room on the disk. */
	if (history_waiting(history) > 0) walk = NULL;
	if (check.bad == 0 && walk && stretch.block) r = compare_block(history, stretch.block, &check, error);
	if (r == 0 && check.bad == 0 && stretch.ended && walk)
		r = compare_tallies(history, walk, stretch.seq, &check, error);
	if (r < 0) return r;
	if (walk) walk->next = check.next;
	*ret_check = check;
	return 0;
}
