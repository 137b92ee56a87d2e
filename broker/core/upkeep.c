#include "upkeep.h"

#include <event2/event.h>
#include <stdlib.h>

#include "announce.h"
#include "base/log.h"
#include "base/memory.h"
#include "broker.h"

enum { PAUSE_MS = 20 }; /* a step takes some three: 50,000 rows a second */

struct upkeep {
	struct broker *broker;
	struct event *timer;
	bool failed; /* said once, until it works again */
};

static bool is_due(const struct broker *broker) {
	return history_digest_is_due(broker->history) || history_retain_is_due(broker->history);
}

static int step(struct broker *broker, struct error *error) {
	struct history_run run = {0};
	if (history_digest_is_due(broker->history)) return history_digest(broker->history, error);
	int r = history_retain(broker->history, &run, error);
	if (r == 0 && run.removed > 0) announce_anchor(broker, run.removed, run.anchor_seq, run.anchor_hash);
	return r;
}

static void report(struct upkeep *upkeep, int r, const struct error *error) {
	if (r < 0 && !upkeep->failed) log_error("the history's upkeep: %s", error->message);
	upkeep->failed = r < 0;
}

static void pause_then_go_on(struct upkeep *upkeep) {
	static const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};
	event_add(upkeep->timer, &pause);
}

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct upkeep *upkeep = argument;
	struct error error = ERROR_NONE;
	if (!is_due(upkeep->broker)) return;
	int r = step(upkeep->broker, &error);
	report(upkeep, r, &error);
	/* What failed is tried again with the next look. */
	if (r == 0 && is_due(upkeep->broker)) pause_then_go_on(upkeep);
}

struct upkeep *upkeep_new(struct broker *broker) {
	struct upkeep *upkeep = mem_new(struct upkeep);
	upkeep->broker = broker;
	upkeep->timer = evtimer_new(broker->base, on_timer, upkeep);
	if (!upkeep->timer) mem_exhausted();
	return upkeep;
}

void upkeep_free(struct upkeep *upkeep) {
	if (!upkeep) return;
	struct error error = ERROR_NONE;
	if (history_retain_keep_clock(upkeep->broker->history, &error) < 0) log_error("%s", error.message);
	event_free(upkeep->timer);
	free(upkeep);
}

void upkeep_look(struct upkeep *upkeep, int64_t keep_ms) {
	struct broker *broker = upkeep->broker;
	struct error error = ERROR_NONE;
	int r = history_retain_look(broker->history, broker_now_ms(broker), keep_ms, &error);
	/* Where a step is due it is that which shows whether it works again. */
	if (r < 0 || !is_due(broker)) report(upkeep, r, &error);
	if (r == 0 && is_due(broker) && !evtimer_pending(upkeep->timer, NULL)) pause_then_go_on(upkeep);
}
