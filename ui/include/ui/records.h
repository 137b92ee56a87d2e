/*
 * records: the broker's records of one kind, as a table for people or as one JSON array: what `sbx grants`, `sbx
 * sessions` and the panes of `sbx monitor` have in common.
 */
#pragma once

#include "ui/broker.h"
#include "ui/table.h"

struct records {
	const char *what; /* of the `list` message */
	const struct table_column *columns;
	size_t column_count;
	const size_t *spare; /* columns that a narrow screen can do without (table_spare) */
	size_t spare_count;
	size_t about; /* the column with what they are about (table_about) */
	int (*add_row)(struct table *table, const json_t *item, int64_t now_ms, struct error *error);
	const char *none, *none_at_all; /* said in place of an empty table: among those in force, among all */
};

/* The last two have no `sbx` command that is records_print alone. */
extern const struct records records_grants, records_sessions, records_prompts, records_history;

struct table *records_table(const struct records *records); /* freed by the caller */
int records_print(const struct records *records, bool ended_too, bool as_json, struct error *error);
