#include "lines.h"

#include <stdbool.h>
#include <string.h>

#include "base/columns.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

enum { MARK_COLUMNS = 1, OTHER_COLUMNS = 5 };

static const char ellipsis[] = "…";

/* Letters of ASCII that DejaVu Sans, the widest of the common faces, draws wider than LINES_COLUMNS leaves room for. */
static const char wide[] = "mwDGHMNOQUW@%&#+<=>^~";

/* How wide letters beyond ASCII are drawn at most, in columns; any other takes OTHER_COLUMNS. */
static const struct {
	uint32_t first, last;
	size_t columns;
} drawn[] = {
	{0x00b7, 0x00b7, 1},    /* ·, which sbx puts between words */
	{0x2022, 0x2022, 1},    /* •, in front of what it lists */
	{0x0080, 0x06ff, 2},    /* Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic */
	{0x0900, 0x097f, 3},    /* Devanagari */
	{0x0e00, 0x0eff, 2},    /* Thai, Lao */
	{0x1e00, 0x1fff, 2},    /* more of Latin and Greek */
	{0x2010, 0x2027, 2},    /* dashes, quotation marks, … */
	{0xa980, 0xa9df, 8},    /* Javanese */
	{0xfb50, 0xfdff, 16},   /* Arabic ligatures, of whole sentences even */
	{0x12000, 0x1254f, 12}, /* cuneiform */
};

static size_t letter_columns(const char *text, size_t *ret_bytes) {
	uint32_t point = 0;
	*ret_bytes = text_point(text, strlen(text), &point);
	if (*ret_bytes == 0) *ret_bytes = 1;
	return columns_of(point);
}

/* Marks above and below others take room, too, so that no pile of them lies over other lines. */
static size_t drawn_columns(const char *text, size_t *ret_bytes) {
	uint32_t point = 0;
	const size_t columns = letter_columns(text, ret_bytes);
	text_point(text, strlen(text), &point);
	if (point < 0x80) return 1 + (strchr(wide, *text) != NULL);
	if (columns != 1) return columns > 0 ? columns : MARK_COLUMNS;
	for (size_t i = 0; i < ARRAY_LENGTH(drawn); i++)
		if (point >= drawn[i].first && point <= drawn[i].last) return drawn[i].columns;
	return OTHER_COLUMNS;
}

/* May a line end behind this letter? Servers differ: behind what parts a path or a text, or behind any sign. */
static bool may_end(const char *letter, bool behind_signs) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	return behind_signs ? !strchr(letters, *letter) : strchr(" /-?", *letter) != NULL;
}

/* What can't be broken. */
struct word {
	size_t columns, widest; /* letter */
};

/* In a word that is longer than a line each line may lack some columns, where a wide letter didn't fit. */
static void add_word(const struct word *word, size_t *lines, size_t *column) {
	const size_t room = LINES_COLUMNS - (word->widest > 2 ? word->widest - 1 : 1), columns = word->columns;
	if (*column + columns <= LINES_COLUMNS) {
		*column += columns;
		return;
	}
	*lines += *column > 0;
	*lines += columns > LINES_COLUMNS ? (columns - 1) / room : 0;
	*column = columns > LINES_COLUMNS ? (columns - 1) % room + 1 : columns;
}

static size_t lines_so(const char *visible, bool behind_signs) {
	struct word word = {0};
	size_t lines = 1, column = 0, bytes;
	for (const char *p = visible; *p; p += bytes) {
		const size_t columns = drawn_columns(p, &bytes);
		if (*p != '\n') word.columns += columns;
		if (columns > word.widest) word.widest = columns;
		if (*p != '\n' && p[bytes] && !may_end(p, behind_signs)) continue;
		add_word(&word, &lines, &column);
		word = (struct word){0};
		if (*p != '\n') continue;
		lines++;
		column = 0;
	}
	return lines;
}

size_t lines_of(const char *visible) {
	const size_t some = lines_so(visible, false), other = lines_so(visible, true);
	return some > other ? some : other;
}

/* Nothing longer could fit, and trying takes the square of the length. */
static const char *last_bytes(const char *visible, size_t size) {
	const size_t all = strlen(visible);
	return all > size ? visible + all - size : visible;
}

static bool fit(const char *before, const char *tail, size_t lines) {
	CLEANUP_FREE char *whole = string_format("%s%s", before, tail);
	return lines_of(whole) <= lines;
}

char *lines_tail(const char *before, const char *visible, const char *least, const char *breaks, size_t lines) {
	enum { POINT_BYTES = 4 };
	if (fit(before, visible, lines)) return string_copy(visible);
	for (const char *p = last_bytes(visible, lines * LINES_COLUMNS * POINT_BYTES); p < least; p++) {
		if (breaks ? !strchr(breaks, *p) : (*p & 0xc0) == 0x80) continue;
		CLEANUP_FREE char *tail = string_format("%s%s", ellipsis, p + (breaks && *p == '.'));
		if (fit(before, tail, lines)) return STEAL(tail);
	}
	return NULL;
}

char *lines_head(const char *visible, size_t columns) {
	size_t column = 0, bytes;
	const char *p = visible;
	if (text_columns(visible) <= columns) return string_copy(visible);
	for (size_t width; *p; p += bytes, column += width) {
		width = letter_columns(p, &bytes);
		if (column + width >= columns) break;
	}
	CLEANUP_FREE char *head = string_copy_bytes(visible, (size_t)(p - visible));
	return string_format("%s%s", head, ellipsis);
}
