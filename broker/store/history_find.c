#include "history_find.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

void finder_init(struct finder *finder, struct history *history, const struct history_filter *filter, bool backwards,
		 int *budget) {
	const struct {
		enum block_column column;
		const char *text;
	} texts[] = {{BLOCK_KIND, filter->kind},
		     {BLOCK_PROFILE, filter->profile},
		     {BLOCK_PROJECT, filter->project},
		     {BLOCK_PERMISSION, filter->permission},
		     {BLOCK_VERDICT, filter->verdict}};
	*finder = (struct finder){.history = history, .filter = filter, .backwards = backwards, .budget = budget};
	/* The rarest is likely the session, so it is looked at first. */
	if (filter->session != 0) finder->keys[finder->key_count++] = block_key_of_session(filter->session);
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		if (texts[i].text)
			finder->keys[finder->key_count++] = block_key_of_text(texts[i].column, texts[i].text);
}

static bool wants_time(const struct finder *finder) {
	return finder->filter->since_ms > 0 || finder->filter->until_ms > 0;
}

bool finder_is_idle(const struct finder *finder) {
	return finder->key_count == 0 && !wants_time(finder);
}

static bool is_past(const struct finder *finder, int64_t block, int64_t last) {
	return finder->backwards ? block < last : block > last;
}

/* 1 = a row of this zone may lie in time; where there is no zone it may. */
static int zone_fits(const struct finder *finder, int level, int64_t number, struct error *error) {
	sqlite3_stmt *zone = store_statement(finder->history->store, STORE_ZONE_READ);
	store_bind_integer(zone, 1, level);
	store_bind_integer(zone, 2, number);
	int step = sqlite3_step(zone), r = 1;
	if (step == SQLITE_ROW)
		r = sqlite3_column_int64(zone, 1) >= finder->filter->since_ms &&
		    (finder->filter->until_ms == 0 || sqlite3_column_int64(zone, 0) < finder->filter->until_ms);
	else if (step != SQLITE_DONE)
		r = store_error(finder->history->store, error, "reading the history's index");
	sqlite3_reset(zone);
	(*finder->budget)--;
	return r;
}

/* Moves *block on while the largest zone that it is in lies at other times. */
static int skip_by_time(const struct finder *finder, int64_t last, int64_t *block, struct error *error) {
	int level = ZONE_LEVELS;
	while (level-- > 0) {
		if (*finder->budget <= 0) return -EAGAIN;
		int64_t number = *block >> level * ZONE_FAN_BITS;
		int r = zone_fits(finder, level, number, error);
		if (r < 0) return r;
		if (r == 1) continue;
		*block = finder->backwards ? (number << level * ZONE_FAN_BITS) - 1
					   : (number + 1) << level * ZONE_FAN_BITS;
		if (is_past(finder, *block, last)) return 0;
		level = ZONE_LEVELS;
	}
	return 1;
}

/* Moves *block on to the next that has the key, and leaves of `rows` those that have it. */
static int seek_key(const struct finder *finder, int64_t key, int64_t *block, uint64_t rows[BLOCK_WORDS],
		    struct error *error) {
	sqlite3_stmt *next = store_statement(finder->history->store,
					     finder->backwards ? STORE_POSTING_PREVIOUS : STORE_POSTING_NEXT);
	store_bind_integer(next, 1, key);
	store_bind_integer(next, 2, *block);
	int step = sqlite3_step(next), r = step == SQLITE_ROW;
	if (step == SQLITE_ROW) {
		uint64_t with_key[BLOCK_WORDS];
		*block = sqlite3_column_int64(next, 0);
		block_rows_decode(sqlite3_column_blob(next, 1), (size_t)sqlite3_column_bytes(next, 1), with_key);
		for (size_t i = 0; i < BLOCK_WORDS; i++) rows[i] &= with_key[i];
	} else if (step != SQLITE_DONE) {
		r = store_error(finder->history->store, error, "reading the history's index");
	}
	sqlite3_reset(next);
	(*finder->budget)--;
	return r;
}

static bool any_rows(const uint64_t rows[BLOCK_WORDS]) {
	for (size_t i = 0; i < BLOCK_WORDS; i++)
		if (rows[i] != 0) return true;
	return false;
}

int finder_next(const struct finder *finder, int64_t last, int64_t *block, uint64_t ret_rows[BLOCK_WORDS],
		struct error *error) {
	while (!is_past(finder, *block, last)) {
		int r = wants_time(finder) ? skip_by_time(finder, last, block, error) : 1;
		int64_t here = *block;
		memset(ret_rows, 0xff, BLOCK_ROWS / 8);
		for (size_t i = 0; r == 1 && i < finder->key_count && *block == here; i++) {
			if (*finder->budget <= 0) return -EAGAIN;
			r = seek_key(finder, finder->keys[i], block, ret_rows, error);
		}
		if (r != 1) return r;
		if (*block != here) continue;
		if (any_rows(ret_rows)) return 1;
		*block += finder->backwards ? -1 : 1;
	}
	return 0;
}
