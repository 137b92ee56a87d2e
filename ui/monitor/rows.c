/*
 * Theory of operation
 *
 * A window slides over a listing that is ordered by a number, the newest first. Its two ends are cursors as the
 * broker's pages have them: rows below `older`, rows above `newer`. A reload reads as many rows as there are anew, from
 * the window's upper end down, and puts them in place of the old ones when it has all, so that what is on the screen is
 * never half of one and half of the other. Of a listing that follows, rows that came meanwhile are kept above them.
 */
#include "rows.h"

#include "base/string.h"

void rows_init(struct monitor_rows *rows, const char *what, const char *key, bool follows) {
	*rows = (struct monitor_rows){
		.what = what, .key = key, .follows = follows, .items = json_array(), .stale = true};
}

void rows_finish(struct monitor_rows *rows) {
	json_decref(rows->items);
	json_decref(rows->fresh);
	*rows = (struct monitor_rows){0};
}

size_t rows_count(const struct monitor_rows *rows) {
	return json_array_size(rows->items);
}

const json_t *rows_item(const struct monitor_rows *rows, size_t index) {
	return json_array_get(rows->items, index);
}

static int64_t number_of(const struct monitor_rows *rows, const json_t *item) {
	return json_integer_value(json_object_get(item, rows->key));
}

int64_t rows_number(const struct monitor_rows *rows, size_t index) {
	return number_of(rows, rows_item(rows, index));
}

size_t choice_move(size_t chosen, size_t count, long by) {
	if (count == 0) return 0;
	size_t back = by < 0 ? (size_t)-by : 0, moved = (back > chosen ? 0 : chosen - back) + (by > 0 ? (size_t)by : 0);
	return moved < count ? moved : count - 1;
}

void rows_move(struct monitor_rows *rows, long by) {
	rows->chosen = choice_move(rows->chosen, rows_count(rows), by);
}

void rows_newest(struct monitor_rows *rows) {
	rows->chosen = 0;
	rows->to_oldest = false;
	if (rows->newer == 0) return;
	json_array_clear(rows->items);
	rows->newer = rows->older = 0;
	rows->stale = true;
}

void rows_oldest(struct monitor_rows *rows) {
	rows_move(rows, ROWS_KEPT + ROWS_NEAR);
	rows->to_oldest = rows->older != 0;
}

/* Asking */

static enum rows_request next_request(const struct monitor_rows *rows, bool reload) {
	if (rows->fresh || (rows->stale && (reload || !rows->loaded))) return ROWS_RELOAD;
	if (rows->to_oldest) return ROWS_OLDEST;
	if (rows->newer != 0 && rows->chosen < ROWS_NEAR) return ROWS_NEWER;
	if (rows->older != 0 && rows->chosen + ROWS_NEAR >= rows_count(rows)) return ROWS_OLDER;
	return ROWS_NONE;
}

static int64_t request_cursor(const struct monitor_rows *rows, enum rows_request request) {
	switch (request) {
	case ROWS_RELOAD:
		return rows->fresh ? rows->fresh_next : rows->newer != 0 ? rows_number(rows, 0) + 1 : 0;
	case ROWS_OLDER:
		return rows->older;
	case ROWS_NEWER:
		return rows->newer;
	case ROWS_OLDEST:
	case ROWS_NONE:
		break;
	}
	return 0;
}

json_t *rows_ask(struct monitor_rows *rows, bool reload) {
	enum rows_request request = rows->asked == ROWS_NONE ? next_request(rows, reload) : ROWS_NONE;
	if (request == ROWS_NONE) return NULL;
	int64_t cursor = request_cursor(rows, request);
	json_t *body =
		json_pack("{s:s, s:b}", "what", rows->what, "newest", request == ROWS_RELOAD || request == ROWS_OLDER);
	if (cursor != 0) json_object_set_new(body, "cursor", json_integer(cursor));
	if (request == ROWS_RELOAD && !rows->fresh) rows->stale = false;
	rows->asked = request;
	return body;
}

void rows_lose(struct monitor_rows *rows) {
	json_decref(rows->fresh);
	rows->fresh = NULL;
	rows->asked = ROWS_NONE;
	rows->stale = true;
}

/* Taking */

/* Back to the row that was chosen, or what stands in its place now. */
static void choose_again(struct monitor_rows *rows, int64_t number, bool was_newest) {
	size_t count = rows_count(rows);
	rows->chosen = 0;
	if (number == 0 || (was_newest && rows->follows && rows->newer == 0)) return;
	while (rows->chosen + 1 < count && rows_number(rows, rows->chosen) > number) rows->chosen++;
}

static void drop_oldest(struct monitor_rows *rows) {
	size_t count = rows_count(rows);
	if (count <= ROWS_KEPT) return;
	while (count > ROWS_KEPT) json_array_remove(rows->items, --count);
	rows->older = rows_number(rows, count - 1);
	if (rows->chosen >= count) rows->chosen = count - 1;
}

static void drop_newest(struct monitor_rows *rows) {
	if (rows_count(rows) <= ROWS_KEPT) return;
	while (rows_count(rows) > ROWS_KEPT) {
		json_array_remove(rows->items, 0);
		if (rows->chosen > 0) rows->chosen--;
	}
	rows->newer = rows_number(rows, 0);
}

static void put_in_place(struct monitor_rows *rows) {
	int64_t number = rows_number(rows, rows->chosen), newest = number_of(rows, json_array_get(rows->fresh, 0));
	bool was_newest = rows->chosen == 0;
	json_t *fresh = rows->fresh;
	for (size_t i = 0, at = 0; rows->follows && rows->newer == 0 && rows_number(rows, i) > newest; i++)
		json_array_insert(fresh, at++, json_array_get(rows->items, i));
	rows->fresh = NULL;
	json_decref(rows->items);
	rows->items = fresh;
	rows->older = rows->fresh_next;
	if (json_array_size(fresh) == 0 && rows->newer != 0) { /* all that was in the window has gone */
		rows->newer = 0;
		rows->stale = true;
	}
	choose_again(rows, number, was_newest);
	drop_oldest(rows);
}

static void take_fresh(struct monitor_rows *rows, const json_t *items, int64_t next) {
	if (!rows->fresh) rows->fresh = json_array();
	json_array_extend(rows->fresh, (json_t *)items);
	rows->fresh_next = next;
	if (next != 0 && json_array_size(rows->fresh) < rows_count(rows)) return;
	put_in_place(rows);
}

/* A page that goes upwards. */
static void take_upwards(struct monitor_rows *rows, const json_t *items, int64_t next) {
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)items, index, item) json_array_insert(rows->items, 0, item);
	rows->newer = next;
	/* What came while this page was on its way was passed over. */
	if (next == 0) rows->stale = true;
}

void rows_take(struct monitor_rows *rows, const json_t *reply) {
	enum rows_request asked = rows->asked;
	const json_t *items = json_object_get(reply, "items");
	int64_t next = json_integer_value(json_object_get(reply, "next"));
	rows->asked = ROWS_NONE;
	rows->loaded = true;
	switch (asked) {
	case ROWS_RELOAD:
		take_fresh(rows, items, next);
		break;
	case ROWS_OLDER:
		json_array_extend(rows->items, (json_t *)items);
		rows->older = next;
		drop_newest(rows);
		break;
	case ROWS_NEWER:
		take_upwards(rows, items, next);
		rows->chosen += json_array_size(items);
		drop_oldest(rows);
		break;
	case ROWS_OLDEST:
		json_array_clear(rows->items);
		take_upwards(rows, items, next);
		rows->to_oldest = false;
		rows->older = 0;
		rows->chosen = rows_count(rows) > 0 ? rows_count(rows) - 1 : 0;
		break;
	case ROWS_NONE:
		break;
	}
}

void rows_add(struct monitor_rows *rows, json_t *item) {
	size_t count = rows_count(rows);
	if (rows->newer != 0 || (count > 0 && number_of(rows, item) <= rows_number(rows, 0))) return;
	if (count >= ROWS_KEPT && rows->chosen > ROWS_KEPT / 2) {
		rows->newer = rows_number(rows, 0);
		return;
	}
	bool stays = rows->follows && rows->chosen == 0;
	json_array_insert(rows->items, 0, item);
	if (!stays && count > 0) rows->chosen++;
	drop_oldest(rows);
}
