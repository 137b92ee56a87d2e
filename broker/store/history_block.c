/*
 * Theory of operation.
 *
 * An index of SQLite's over the columns that `sbx history` filters by would cost every decision some pages. Instead,
 * each full block of 1,024 rows is read once more and leaves one row in `postings` for every value that occurs in it
 * (some ten to fifty), with the bits of the rows that have it. A value's postings lie side by side, in order, so the
 * next block with rows of a session or a profile is one seek away however many rows the history has, and rows that
 * fit several options at once are found by AND-ing bits.
 *
 * Times need no order (the clock may be set): zones say between which times the rows of a block lie, and those of 32
 * blocks, and of 32 of these; whoever looks for a time skips the largest zone that can't have it.
 *
 * A key has its column in the highest byte and 56 bits of FNV-1a below, a session's number as it is, so that the
 * postings of many short sessions are neighbours. `keys` of a block's zone lists its keys, for when it goes.
 */
#include "history_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { SPARSE_MOST = 63 };

static int64_t key_of(enum block_column column, uint64_t value) {
	return (int64_t)((uint64_t)column << 56 | (value & (UINT64_MAX >> 8)));
}

int64_t block_key_of_text(enum block_column column, const char *text) {
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (const char *p = text; *p; p++) hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return key_of(column, hash ^ hash >> 56);
}

int64_t block_key_of_session(int64_t session) {
	return key_of(BLOCK_SESSION, (uint64_t)session);
}

struct block *block_new(int64_t number) {
	struct block *block = mem_new(struct block);
	block->number = number;
	block->first_ms = INT64_MAX;
	block->last_ms = INT64_MIN;
	return block;
}

void block_free(struct block *block) {
	if (!block) return;
	free(block->values);
	free(block);
}

static struct block_value *value_of(struct block *block, int64_t key) {
	/* The upper bits of a product depend on all bits of the key (Knuth, TAOCP 6.4). */
	size_t slot = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 50;
	for (; block->slots[slot] != 0; slot = (slot + 1) % BLOCK_SLOTS) {
		struct block_value *value = &block->values[block->slots[slot] - 1];
		if (value->key == key) return value;
	}
	block->values = array_grow(block->values, block->count, sizeof *block->values);
	block->values[block->count] = (struct block_value){.key = key};
	block->slots[slot] = (uint16_t)(block->count + 1);
	return &block->values[block->count++];
}

static void add_value(struct block *block, int64_t key, size_t place) {
	value_of(block, key)->rows[place / 64] |= UINT64_C(1) << place % 64;
}

void block_add(struct block *block, const struct row *row) {
	const struct {
		enum block_column column;
		const char *text;
	} texts[] = {{BLOCK_KIND, row->kind},
		     {BLOCK_PROFILE, row->profile},
		     {BLOCK_PROJECT, row->project},
		     {BLOCK_PERMISSION, row->permission},
		     {BLOCK_VERDICT, row->verdict}};
	size_t place = (size_t)(row->seq - block_first_seq(block->number));
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		if (texts[i].text) add_value(block, block_key_of_text(texts[i].column, texts[i].text), place);
	if (row->session != 0) add_value(block, block_key_of_session(row->session), place);
	if (row->time_ms < block->first_ms) block->first_ms = row->time_ms;
	if (row->time_ms > block->last_ms) block->last_ms = row->time_ms;
}

/* Storing */

static size_t encode_rows(const uint64_t rows[BLOCK_WORDS], unsigned char ret_bytes[BLOCK_ROWS / 8]) {
	size_t count = 0;
	for (size_t i = 0; i < BLOCK_WORDS; i++) count += (size_t)__builtin_popcountll(rows[i]);
	if (count == BLOCK_ROWS) return 0;
	if (count > SPARSE_MOST) {
		for (size_t i = 0; i < BLOCK_ROWS / 8; i++) ret_bytes[i] = (unsigned char)(rows[i / 8] >> i % 8 * 8);
		return BLOCK_ROWS / 8;
	}
	size_t size = 0;
	for (size_t i = 0; i < BLOCK_ROWS; i++) {
		if (!(rows[i / 64] >> i % 64 & 1)) continue;
		ret_bytes[size++] = (unsigned char)i;
		ret_bytes[size++] = (unsigned char)(i >> 8);
	}
	return size;
}

void block_rows_decode(const void *bytes, size_t size, uint64_t ret_rows[BLOCK_WORDS]) {
	const unsigned char *p = bytes;
	memset(ret_rows, size == 0 ? 0xff : 0, BLOCK_ROWS / 8);
	if (size == BLOCK_ROWS / 8) {
		for (size_t i = 0; i < size; i++) ret_rows[i / 8] |= (uint64_t)p[i] << i % 8 * 8;
		return;
	}
	for (size_t i = 0; i + 1 < size; i += 2) {
		size_t place = p[i] | (size_t)p[i + 1] << 8;
		if (place < BLOCK_ROWS) ret_rows[place / 64] |= UINT64_C(1) << place % 64;
	}
}

static int write_zones(struct history *history, const struct block *block, struct error *error) {
	CLEANUP_FREE int64_t *keys = mem_array(int64_t, block->count + 1);
	for (size_t i = 0; i < block->count; i++) keys[i] = block->values[i].key;
	int r = 0;
	for (int level = 0; r == 0 && level < ZONE_LEVELS; level++) {
		sqlite3_stmt *zone = store_statement(history->store, STORE_ZONE_WRITE);
		store_bind_integer(zone, 1, level);
		store_bind_integer(zone, 2, block->number >> level * ZONE_FAN_BITS);
		store_bind_integer(zone, 3, block->first_ms);
		store_bind_integer(zone, 4, block->last_ms);
		if (level == 0) store_bind_blob(zone, 5, keys, block->count * sizeof *keys);
		r = store_run(history->store, zone, error, "writing the history's index");
	}
	return r;
}

int block_write(struct history *history, const struct block *block, struct error *error) {
	int r = write_zones(history, block, error);
	for (size_t i = 0; r == 0 && i < block->count; i++) {
		unsigned char bytes[BLOCK_ROWS / 8];
		size_t size = encode_rows(block->values[i].rows, bytes);
		sqlite3_stmt *posting = store_statement(history->store, STORE_POSTING_WRITE);
		store_bind_integer(posting, 1, block->values[i].key);
		store_bind_integer(posting, 2, block->number);
		store_bind_blob(posting, 3, bytes, size);
		r = store_run(history->store, posting, error, "writing the history's index");
	}
	return r;
}

static int read_keys(struct history *history, int64_t number, int64_t **ret_keys, size_t *ret_count,
		     struct error *error) {
	sqlite3_stmt *zone = store_statement(history->store, STORE_ZONE_READ);
	store_bind_integer(zone, 1, 0);
	store_bind_integer(zone, 2, number);
	int step = sqlite3_step(zone), r = 0;
	*ret_keys = NULL;
	*ret_count = 0;
	if (step == SQLITE_ROW) {
		const void *bytes = sqlite3_column_blob(zone, 2);
		size_t size = (size_t)sqlite3_column_bytes(zone, 2) / sizeof **ret_keys;
		*ret_keys = mem_array(int64_t, size + 1);
		if (size > 0) memcpy(*ret_keys, bytes, size * sizeof **ret_keys);
		*ret_count = size;
	} else if (step != SQLITE_DONE) {
		r = store_error(history->store, error, "reading the history's index");
	}
	sqlite3_reset(zone);
	return r;
}

static int remove_zone(struct history *history, int level, int64_t number, struct error *error) {
	sqlite3_stmt *zone = store_statement(history->store, STORE_ZONE_REMOVE);
	store_bind_integer(zone, 1, level);
	store_bind_integer(zone, 2, number);
	return store_run(history->store, zone, error, "removing from the history's index");
}

/* All of it but the zones above, which it shares with other blocks. */
static int remove_own(struct history *history, int64_t number, struct error *error) {
	CLEANUP_FREE int64_t *keys = NULL;
	size_t count;
	int r = read_keys(history, number, &keys, &count, error);
	for (size_t i = 0; r == 0 && i < count; i++) {
		sqlite3_stmt *posting = store_statement(history->store, STORE_POSTING_REMOVE);
		store_bind_integer(posting, 1, keys[i]);
		store_bind_integer(posting, 2, number);
		r = store_run(history->store, posting, error, "removing from the history's index");
	}
	return r == 0 ? remove_zone(history, 0, number, error) : r;
}

int block_remove(struct history *history, int64_t number, struct error *error) {
	int r = remove_own(history, number, error);
	/* Those go from the first block on, so a zone above goes with the last of its blocks. */
	for (int level = 1; r == 0 && level < ZONE_LEVELS; level++) {
		if ((number + 1) & ((INT64_C(1) << level * ZONE_FAN_BITS) - 1)) break;
		r = remove_zone(history, level, number >> level * ZONE_FAN_BITS, error);
	}
	return r;
}

int block_rewrite(struct history *history, const struct block *block, struct error *error) {
	int r = remove_own(history, block->number, error);
	return r == 0 ? block_write(history, block, error) : r;
}

/* Comparing */

static int zones_hold(struct history *history, const struct block *block, struct error *error) {
	int r = 1;
	for (int level = 0; r == 1 && level < ZONE_LEVELS; level++) {
		sqlite3_stmt *zone = store_statement(history->store, STORE_ZONE_READ);
		store_bind_integer(zone, 1, level);
		store_bind_integer(zone, 2, block->number >> level * ZONE_FAN_BITS);
		int step = sqlite3_step(zone);
		if (step == SQLITE_ROW)
			r = sqlite3_column_int64(zone, 0) <= block->first_ms &&
			    sqlite3_column_int64(zone, 1) >= block->last_ms;
		else
			r = step == SQLITE_DONE ? 0 : store_error(history->store, error, "reading the history's index");
		sqlite3_reset(zone);
	}
	return r;
}

static int posting_holds(struct history *history, int64_t number, const struct block_value *value,
			 struct error *error) {
	uint64_t rows[BLOCK_WORDS] = {0};
	sqlite3_stmt *posting = store_statement(history->store, STORE_POSTING_READ);
	store_bind_integer(posting, 1, value->key);
	store_bind_integer(posting, 2, number);
	int step = sqlite3_step(posting), r = 1;
	if (step == SQLITE_ROW)
		block_rows_decode(sqlite3_column_blob(posting, 0), (size_t)sqlite3_column_bytes(posting, 0), rows);
	else
		r = step == SQLITE_DONE ? 0 : store_error(history->store, error, "reading the history's index");
	sqlite3_reset(posting);
	/* Those that retention has taken may still be named. */
	int64_t gone = history->anchor_seq - block_first_seq(number) + 1;
	for (int64_t i = 0; r == 1 && i < BLOCK_ROWS; i++)
		if (i >= gone && (rows[i / 64] >> i % 64 & 1) != (value->rows[i / 64] >> i % 64 & 1)) r = 0;
	return r;
}

int block_is_stored(struct history *history, const struct block *block, struct error *error) {
	if (block->count == 0) return 1;
	int r = zones_hold(history, block, error);
	for (size_t i = 0; r == 1 && i < block->count; i++)
		r = posting_holds(history, block->number, &block->values[i], error);
	return r;
}
