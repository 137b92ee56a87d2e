/*
 * Theory of operation.
 *
 * A page is filled from where the cursor stands: in full blocks by the index (history_find.h), row by row where there
 * is none yet (the block at the end that is being filled; a database of an older form until it is indexed), and row by
 * row throughout when every row fits. Each row that the index names is read and compared with the filter, so the index
 * can hide a row but not show a wrong one. Rows and looks into the index count against LIMIT_SCAN; where a page ends
 * early its cursor says how far the search came, and the next goes on from there.
 *
 * A cursor is the last row that was dealt with: going forwards the next page begins after it, going back before it.
 * Rows are only added at the end, so paging neither loses nor repeats any.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history_find.h"
#include "history_row.h"
#include "schema/limits.h"
#include "schema/message.h"

void history_filter_finish(struct history_filter *filter) {
	free(filter->project);
	free(filter->profile);
	free(filter->permission);
	free(filter->verdict);
	free(filter->kind);
	*filter = (struct history_filter){0};
}

static bool text_wanted(const char *wanted, const char *text) {
	return !wanted || (text && strcmp(wanted, text) == 0);
}

static bool row_wanted(const struct history_filter *filter, const struct row *row) {
	return row->time_ms >= filter->since_ms && (filter->until_ms == 0 || row->time_ms < filter->until_ms) &&
	       (filter->session == 0 || row->session == filter->session) && text_wanted(filter->kind, row->kind) &&
	       text_wanted(filter->profile, row->profile) && text_wanted(filter->project, row->project) &&
	       text_wanted(filter->permission, row->permission) && text_wanted(filter->verdict, row->verdict);
}

struct page {
	struct history *history;
	const struct history_filter *filter;
	bool newest;
	int64_t low, high; /* rows between these two are wanted, both excluded; low or high moves on with each row */
	int budget;
	json_t *items;
	size_t bytes;
	bool full;
};

/* The rows up to and with this one are dealt with. */
static void page_pass(struct page *page, int64_t seq) {
	if (page->newest)
		page->high = seq;
	else
		page->low = seq;
}

/* Puts the row onto the page if it fits the filter; where there is no room for it the page is full. */
static void page_offer(struct page *page, const struct row *row) {
	struct event event;
	page->budget--;
	if (row_wanted(page->filter, row) && row_read_event(row, &event) == 0) {
		json_t *json = event_to_json(&event);
		event_finish(&event);
		page->bytes += json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1;
		size_t count = json_array_size(page->items);
		page->full = count == LIMIT_PAGE || (page->bytes > LIMIT_PAGE_BYTES && count > 0);
		if (!page->full) json_array_append(page->items, json);
		json_decref(json);
	}
	if (!page->full) page_pass(page, row->seq);
}

static bool page_goes_on(const struct page *page) {
	return !page->full && page->budget > 0;
}

/* Row after row between the two, both excluded. */
static int scan(struct page *page, int64_t low, int64_t high, struct error *error) {
	sqlite3_stmt *rows =
		store_statement(page->history->store, page->newest ? STORE_EVENT_LIST_BACK : STORE_EVENT_LIST);
	store_bind_integer(rows, 1, low);
	store_bind_integer(rows, 2, high);
	int step = SQLITE_ROW;
	while (page_goes_on(page) && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		const struct row row = row_of_statement(rows);
		page_offer(page, &row);
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE
			? 0
			: store_error(page->history->store, error, "reading the history");
	sqlite3_reset(rows);
	if (r == 0 && step == SQLITE_DONE) page_pass(page, page->newest ? low + 1 : high - 1);
	return r;
}

static int offer_one(struct page *page, int64_t seq, struct error *error) {
	sqlite3_stmt *read = store_statement(page->history->store, STORE_EVENT_READ);
	store_bind_integer(read, 1, seq);
	int step = sqlite3_step(read), r = 0;
	if (step == SQLITE_ROW) {
		const struct row row = row_of_statement(read);
		page_offer(page, &row);
	} else if (step != SQLITE_DONE) {
		r = store_error(page->history->store, error, "reading the history");
	}
	sqlite3_reset(read);
	return r;
}

static int offer_block(struct page *page, int64_t block, const uint64_t rows[BLOCK_WORDS], struct error *error) {
	int64_t first = block_first_seq(block);
	int r = 0;
	for (int64_t i = 0; r == 0 && i < BLOCK_ROWS && page_goes_on(page); i++) {
		int64_t place = page->newest ? BLOCK_ROWS - 1 - i : i;
		bool named = rows[place / 64] >> place % 64 & 1;
		if (named && first + place > page->low && first + place < page->high)
			r = offer_one(page, first + place, error);
	}
	if (r == 0 && page_goes_on(page)) page_pass(page, page->newest ? first : block_last_seq(block));
	return r;
}

/* The rows that the index covers, both included. */
static int search(struct page *page, int64_t first, int64_t last, struct error *error) {
	struct finder finder;
	finder_init(&finder, page->history, page->filter, page->newest, &page->budget);
	if (finder_is_idle(&finder)) return scan(page, first - 1, last + 1, error);
	int64_t block = block_of(page->newest ? last : first), end = block_of(page->newest ? first : last);
	int r = 1;
	while (r > 0 && page_goes_on(page)) {
		uint64_t rows[BLOCK_WORDS];
		r = finder_next(&finder, end, &block, rows, error);
		if (r < 0 && r != -EAGAIN) return r;
		/* Whatever lies before this block was searched. */
		int64_t passed = r == 0 ? (page->newest ? first : last)
					: (page->newest ? block_last_seq(block) + 1 : block_first_seq(block) - 1);
		if (page->newest ? passed < page->high : passed > page->low) page_pass(page, passed);
		int failed = r == 1 ? offer_block(page, block, rows, error) : 0;
		if (failed < 0) return failed;
		block += page->newest ? -1 : 1;
	}
	return 0;
}

/* What isn't in the table yet. */
static int offer_waiting(struct page *page, struct error *error) {
	CLEANUP_WAITING struct waiting waiting = {0};
	int r = waiting_read(page->history, &waiting, error);
	for (size_t i = 0; r == 0 && i < waiting.count && page_goes_on(page); i++) {
		const struct row *row = &waiting.rows[page->newest ? waiting.count - 1 - i : i].row;
		if (row->seq > page->low && row->seq < page->high) page_offer(page, row);
	}
	return r;
}

static int fill(struct page *page, struct error *error) {
	int64_t anchor = page->history->anchor_seq, indexed = page->history->indexed_seq;
	if (page->low < anchor) page->low = anchor;
	int r = 0;
	if (page->newest) {
		if (page->high > indexed + 1)
			r = scan(page, page->low > indexed ? page->low : indexed, page->high, error);
		if (r == 0 && page_goes_on(page) && page->low < indexed && page->high > page->low + 1)
			r = search(page, page->low + 1, page->high - 1 < indexed ? page->high - 1 : indexed, error);
	} else {
		if (page->low < indexed)
			r = search(page, page->low + 1, page->high - 1 < indexed ? page->high - 1 : indexed, error);
		if (r == 0 && page_goes_on(page)) r = scan(page, page->low, page->high, error);
	}
	return r;
}

int history_list(struct history *history, const struct history_filter *filter, bool newest, int64_t cursor,
		 json_t *items, int64_t *ret_next, struct error *error) {
	struct page page = {.history = history,
			    .filter = filter,
			    .newest = newest,
			    .low = newest ? 0 : cursor,
			    .high = newest && cursor > 0 ? cursor : history->committed.seq + 1,
			    .budget = LIMIT_SCAN,
			    .items = items};
	int64_t high = page.high, stored = history->stored.seq + 1;
	int r = newest && high > stored ? offer_waiting(&page, error) : 0;
	if (r == 0 && page_goes_on(&page)) {
		if (page.high > stored) page.high = stored;
		r = fill(&page, error);
	}
	if (r == 0 && !newest && high > stored && page_goes_on(&page)) {
		page.high = high;
		r = offer_waiting(&page, error);
	}
	*ret_next = page_goes_on(&page) ? 0 : newest ? page.high : page.low;
	return r;
}
