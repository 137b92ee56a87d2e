/*
 * table: rows for people: aligned, made visible, cut to the terminal's width.
 *
 * Promises: every cell goes through base/text.h, so nothing untrusted reaches a terminal raw (attack B9); where the
 * output is no terminal nothing is cut. Columns that may be cut share what is missing, the widest first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
	const char *title;
	bool may_cut;
	bool right; /* numbers */
};

struct table;

/* The columns are borrowed until table_free. */
struct table *table_new(const struct table_column *columns, size_t count);
void table_free(struct table *table);

/* One cell after the other, row by row; NULL is shown as "-". Copies. */
void table_cell(struct table *table, const char *text);
void table_cellf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t table_rows(const struct table *table);

/* Where not all has room those of these are left out that say nothing in any row, and where even cut columns have none
 * all of them, the first one first. Borrowed until table_free. */
void table_spare(struct table *table, const size_t *columns, size_t count);

/* The column with what the rows are about: what may be spared gives way to it, and it is cut when the others are
 * as narrow as is fair. */
void table_about(struct table *table, size_t column);

/* Print with a heading line, at most `width` columns (0 = no limit), and empty the table. */
void table_print(struct table *table, FILE *out, size_t width, bool heading);

static inline void table_free_p(struct table **table) {
	table_free(*table);
}
#define CLEANUP_TABLE __attribute__((cleanup(table_free_p)))

/* The width of the terminal behind `out`; 0 when it is none. */
size_t terminal_width(FILE *out);
