/*
 * records: what `sbx grants` and `sbx sessions` have in common: the broker's records of one kind, as a table for people
 * or as one JSON array.
 */
#pragma once

#include "ui/broker.h"
#include "ui/table.h"

struct records {
	const char *what; /* of the `list` message */
	const struct table_column *columns;
	size_t column_count;
	int (*add_row)(struct table *table, const json_t *item, int64_t now_ms, struct error *error);
	const char *none, *none_at_all; /* said in place of an empty table: among those in force, among all */
};

int records_print(const struct records *records, bool ended_too, bool as_json, struct error *error);
