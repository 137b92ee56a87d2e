/*
 * history_summary: `sbx history --summary`: what happened on which day to whom, in sentences.
 *
 * Promises: days are those of the local time zone, whatever its clock changes do; everything from the history is
 * visible text; a long history comes a month at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* `filter` is borrowed. */
int history_summarise(const json_t *filter, bool as_json, struct error *error);

/* When the local day begins that this moment lies in, or the one so many days later (or earlier). */
int64_t day_start_ms(int64_t wall_ms, int days);

/* "today", "yesterday", "Monday" within a week, else "2026-01-31". Freed by the caller. */
char *day_name(int64_t day_ms, int64_t now_ms);

/* "yesterday npm in ~/app: 3 sessions, 41 decisions, 2 asked, 1 denied" of a row of message `summary`. Freed by the
 * caller. */
char *summary_sentence(const json_t *row, int64_t day_ms, int64_t now_ms);
