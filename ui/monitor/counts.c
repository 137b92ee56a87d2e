#include "counts.h"

#include "ui/history_summary.h"

json_t *counts_ask(struct monitor_counts *counts, int64_t now_ms) {
	int64_t day_ms = day_start_ms(now_ms, 0);
	bool goes_on = counts->after != 0 && day_ms == counts->day_ms;
	if (counts->asked || (!goes_on && !counts->stale && counts->known && day_ms == counts->day_ms)) return NULL;
	if (!goes_on) counts->fresh = (struct counted){0};
	json_t *body = json_pack("{s:[I, I]}", "days", (json_int_t)day_ms, (json_int_t)day_start_ms(now_ms, 1));
	if (goes_on) json_object_set_new(body, "after", json_integer(counts->after));
	counts->asked = true;
	counts->stale = counts->stale && goes_on;
	counts->day_ms = day_ms;
	return body;
}

void counts_take(struct monitor_counts *counts, const json_t *reply) {
	size_t index;
	const json_t *row;
	counts->asked = false;
	json_array_foreach (json_object_get(reply, "rows"), index, row) {
		counts->fresh.decisions += json_integer_value(json_object_get(row, "decisions"));
		counts->fresh.asked += json_integer_value(json_object_get(row, "asked"));
		counts->fresh.denied += json_integer_value(json_object_get(row, "denied"));
	}
	counts->after = json_integer_value(json_object_get(reply, "after"));
	if (counts->after != 0) return;
	counts->today = counts->fresh;
	counts->known = true;
}

void counts_lose(struct monitor_counts *counts) {
	counts->asked = false;
	counts->after = 0;
	counts->stale = true;
}
