/*
 * history_output: events as a table, JSON lines or CSV.
 *
 * Promises: rows appear page by page, so that a long history neither waits nor is held in memory; everything from the
 * history is visible text.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "schema/event.h"
#include "ui/table.h"

enum history_format { HISTORY_TABLE, HISTORY_JSON, HISTORY_CSV };

struct history_output {
	enum history_format format;
	FILE *out;
	struct table *table; /* only HISTORY_TABLE */
	bool narrow;         /* a terminal without room for all columns */
	bool headed;
	int64_t last_seq; /* of the newest event that was added; older ones are left out */
	int64_t last_ms;
};

void history_output_init(struct history_output *output, enum history_format format, FILE *out);
void history_output_finish(struct history_output *output);

int history_output_add(struct history_output *output, const json_t *item, struct error *error);
void history_output_flush(struct history_output *output); /* what was added becomes seen */
