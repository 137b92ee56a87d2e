#include "ui/table.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

enum { COLUMN_GAP = 2, COLUMN_MIN = 8, COLUMN_FAIR = 14 }; /* what is spared makes room for others up to the last */

static const char nothing[] = "-";

struct table {
	const struct table_column *columns;
	size_t count;
	struct strings cells; /* row by row, made visible */
	size_t *shown;        /* the widths of what was printed before: what follows stands below it */
	const size_t *spare;  /* columns that may be left out */
	size_t spare_count;
	bool *hidden; /* those that are */
	size_t about;
};

struct table *table_new(const struct table_column *columns, size_t count) {
	struct table *table = mem_new(struct table);
	table->columns = columns;
	table->count = count;
	table->shown = mem_array(size_t, count);
	table->hidden = mem_array(bool, count);
	return table;
}

void table_free(struct table *table) {
	if (!table) return;
	strings_finish(&table->cells);
	free(table->shown);
	free(table->hidden);
	free(table);
}

void table_cell(struct table *table, const char *text) {
	strings_take(&table->cells, text ? text_visible(text) : string_copy(nothing));
}

void table_cellf(struct table *table, const char *format, ...) {
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int size = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (size < 0) mem_exhausted();
	table_cell(table, text);
	free(text);
}

size_t table_rows(const struct table *table) {
	return table->count > 0 ? table->cells.count / table->count : 0;
}

void table_spare(struct table *table, const size_t *columns, size_t count) {
	table->spare = columns;
	table->spare_count = count;
}

void table_about(struct table *table, size_t column) {
	table->about = column;
}

static size_t table_total(const struct table *table, const size_t *widths, bool cut) {
	size_t total = 0;
	for (size_t c = 0; c < table->count; c++) {
		bool less = cut && table->columns[c].may_cut && c != table->about && widths[c] > COLUMN_FAIR;
		if (!table->hidden[c]) total += (less ? COLUMN_FAIR : widths[c]) + (total > 0 ? COLUMN_GAP : 0);
	}
	return total;
}

static bool says_nothing(const struct table *table, size_t column) {
	for (size_t i = column; i < table->cells.count; i += table->count)
		if (strcmp(table->cells.items[i], nothing) != 0) return false;
	return true;
}

/* What doesn't fit and says nothing, then what doesn't though all that may be cut is. */
static void table_hide(const struct table *table, const size_t *widths, size_t width) {
	memset(table->hidden, 0, table->count * sizeof *table->hidden);
	const bool narrow = table_total(table, widths, false) > width;
	for (size_t i = 0; i < table->spare_count && narrow; i++)
		table->hidden[table->spare[i]] = says_nothing(table, table->spare[i]);
	for (size_t i = 0; i < table->spare_count && table_total(table, widths, true) > width; i++)
		table->hidden[table->spare[i]] = true;
}

static void table_widths(const struct table *table, bool heading, size_t *widths) {
	for (size_t c = 0; c < table->count; c++) {
		widths[c] = heading ? strlen(table->columns[c].title) : table->shown[c];
		for (size_t i = c; i < table->cells.count; i += table->count) {
			size_t columns = text_columns(table->cells.items[i]);
			if (columns > widths[c]) widths[c] = columns;
		}
	}
}

/* Of the others that may be cut and have more than `least`; table->count: none. */
static size_t widest_other(const struct table *table, const size_t *widths, size_t least) {
	size_t widest = table->count;
	for (size_t c = 0; c < table->count; c++)
		if (table->columns[c].may_cut && widths[c] > least && !table->hidden[c] && c != table->about &&
		    (widest == table->count || widths[c] > widths[widest]))
			widest = c;
	return widest;
}

/* table->count: none is left. */
static size_t table_widest(const struct table *table, const size_t *widths) {
	const size_t about = table->about, other = widest_other(table, widths, COLUMN_FAIR);
	if (other < table->count) return other;
	const bool cut = table->columns[about].may_cut && widths[about] > COLUMN_MIN;
	return cut ? about : widest_other(table, widths, COLUMN_MIN);
}

/* Take a column away from the widest that may be cut, until all fits or none is left. */
static void table_fit(const struct table *table, size_t *widths, size_t width) {
	for (size_t total = table_total(table, widths, false); total > width; total--) {
		size_t widest = table_widest(table, widths);
		if (widest == table->count) return;
		widths[widest]--;
	}
}

static void append_padding(struct string *line, size_t count) {
	while (count-- > 0) string_append_char(line, ' ');
}

/* The cell is visible text already: cutting it again must not escape its backslashes a second time. */
static char *cell_cut(const char *visible, size_t width) {
	size_t columns = text_columns(visible);
	if (columns <= width) return string_copy(visible);
	struct string out = {0};
	size_t head = (width - 1) / 2, tail = width - 1 - head, column = 0;
	bool cut = false;
	for (const char *p = visible; *p;) {
		size_t length = 1;
		while (((unsigned char)p[length] & 0xc0) == 0x80) length++;
		CLEANUP_FREE char *point = string_copy_bytes(p, length);
		size_t wide = text_columns(point);
		if (column + wide <= head || column >= columns - tail)
			string_append(&out, point);
		else if (!cut) {
			string_append(&out, "…");
			cut = true;
		}
		column += wide;
		p += length;
	}
	return string_steal(&out);
}

static void print_row(const struct table *table, char *const *cells, const size_t *widths, FILE *out) {
	CLEANUP_STRING struct string line = {0};
	size_t end = table->count;
	while (end > 1 && table->hidden[end - 1]) end--;
	for (size_t c = 0; c < end; c++) {
		if (table->hidden[c]) continue;
		CLEANUP_FREE char *cell = cell_cut(cells[c], widths[c]);
		size_t columns = text_columns(cell), gap = columns < widths[c] ? widths[c] - columns : 0;
		if (line.size > 0) append_padding(&line, COLUMN_GAP);
		if (table->columns[c].right) append_padding(&line, gap);
		string_append(&line, cell);
		if (!table->columns[c].right && c + 1 < end) append_padding(&line, gap);
	}
	fprintf(out, "%s\n", line.data);
}

void table_print(struct table *table, FILE *out, size_t width, bool heading) {
	CLEANUP_FREE size_t *widths = mem_array(size_t, table->count);
	table_widths(table, heading, widths);
	if (width > 0) {
		table_hide(table, widths, width);
		table_fit(table, widths, width);
	}
	memcpy(table->shown, widths, table->count * sizeof *widths);
	if (heading) {
		CLEANUP_STRINGS struct strings titles = {0};
		for (size_t c = 0; c < table->count; c++) strings_add(&titles, table->columns[c].title);
		print_row(table, titles.items, widths, out);
	}
	for (size_t row = 0; row < table_rows(table); row++)
		print_row(table, table->cells.items + row * table->count, widths, out);
	strings_finish(&table->cells);
}

size_t terminal_width(FILE *out) {
	struct winsize size;
	int fd = fileno(out);
	if (fd < 0 || !isatty(fd)) return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col < 20) return 80;
	return size.ws_col;
}
