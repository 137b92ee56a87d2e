/*
 * grant_row: rows of the grants table as grants, one or a list.
 *
 * Promises: a row that sbxd can't have written is -EUCLEAN, never a grant that means something else.
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "base/error.h"
#include "schema/grant.h"
#include "store/store.h"

struct grant_list {
	struct grant *items;
	size_t count;
};
void grant_list_finish(struct grant_list *list);
void grant_list_take(struct grant_list *list, struct grant *grant); /* *grant is empty then */
bool grant_list_has(const struct grant_list *list, int64_t id);
#define CLEANUP_GRANT_LIST __attribute__((cleanup(grant_list_finish)))

/* The current row of a statement whose columns begin as store.c's GRANT_COLUMNS; that many they are. */
enum { GRANT_ROW_COLUMNS = 20 };
int grant_row_read(sqlite3_stmt *row, struct grant *ret_grant, struct error *error);

/* All rows, added to the list; resets the statement. */
int grant_rows_collect(struct store *store, sqlite3_stmt *rows, struct grant_list *list, struct error *error);
