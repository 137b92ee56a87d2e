/*
 * counts: how many decisions there were today, of them how many were asked about and how many denied.
 *
 * Promises: today is that of the local time zone; the broker counts. One request at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct counted {
	int64_t decisions, asked, denied;
};

struct monitor_counts {
	struct counted today;
	struct counted fresh; /* of the pages that have come */
	int64_t day_ms;       /* of today's first moment */
	int64_t after;        /* where the next page begins, or 0 */
	bool known, stale, asked;
};

json_t *counts_ask(struct monitor_counts *counts, int64_t now_ms); /* the body of a `summary`, or NULL */
void counts_take(struct monitor_counts *counts, const json_t *reply);
void counts_lose(struct monitor_counts *counts);
