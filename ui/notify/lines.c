#include "lines.h"

#include <stdbool.h>
#include <string.h>

#include "base/columns.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

static const char ellipsis[] = "…", wide[] = "mwMW@%";

static size_t letter_columns(const char *text, size_t *ret_bytes) {
	uint32_t point = 0;
	*ret_bytes = text_point(text, strlen(text), &point);
	if (*ret_bytes == 0) *ret_bytes = 1;
	return columns_of(point);
}

static bool is_wide(const char *letter) {
	return strchr(wide, *letter) || string_starts(letter, ellipsis);
}

/* May a line end behind this letter? Servers differ: behind what parts a path or a text, or behind any sign. */
static bool may_end(const char *letter, bool behind_signs) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	return behind_signs ? !strchr(letters, *letter) : strchr(" /-?", *letter) != NULL;
}

/* In a word that is longer than a line each line may lack a column, where a wide letter didn't fit. */
static void add_word(size_t columns, size_t *lines, size_t *column) {
	if (*column + columns <= LINES_COLUMNS) {
		*column += columns;
		return;
	}
	*lines += *column > 0;
	*lines += columns > LINES_COLUMNS ? (columns - 1) / (LINES_COLUMNS - 1) : 0;
	*column = columns > LINES_COLUMNS ? (columns - 1) % (LINES_COLUMNS - 1) + 1 : columns;
}

static size_t lines_so(const char *visible, bool behind_signs) {
	size_t lines = 1, column = 0, word = 0, bytes;
	for (const char *p = visible; *p; p += bytes) {
		const size_t columns = letter_columns(p, &bytes) + is_wide(p);
		if (*p != '\n') word += columns;
		if (*p != '\n' && p[bytes] && !may_end(p, behind_signs)) continue;
		add_word(word, &lines, &column);
		word = 0;
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
