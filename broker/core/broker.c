#include "broker.h"

#include "schema/event.h"

enum { WAITING_MAX = 2048 };

int64_t broker_now_ms(const struct broker *broker) {
	struct moment now;
	clock_read(broker->clock, &now);
	return now.wall_ms;
}

/* Transactions */

int broker_begin(struct broker *broker, enum store_sync sync, struct error *error) {
	return store_begin(broker->store, sync, error);
}

void broker_rollback(struct broker *broker) {
	store_rollback(broker->store);
	history_rolled_back(broker->history);
	grants_changed(broker->grants);
}

int broker_commit(struct broker *broker, struct error *error) {
	int r = store_commit(broker->store, error);
	if (r < 0)
		broker_rollback(broker);
	else
		history_committed(broker->history);
	return r;
}

int broker_record(struct broker *broker, struct event *event, struct error *error) {
	event->time_ms = broker_now_ms(broker);
	int r = history_append(broker->history, event, error);
	json_decref(event->detail);
	event->detail = NULL;
	return r;
}

int broker_write_history(struct broker *broker, struct error *error) {
	if (!history_head_is_behind(broker->history)) return 0;
	int r = broker_begin(broker, STORE_NORMAL, error);
	if (r == 0) {
		r = history_keep_head(broker->history, error);
		if (r == 0)
			r = broker_commit(broker, error);
		else
			broker_rollback(broker);
	}
	broker->history_stuck = r < 0;
	return r;
}

int broker_note(struct broker *broker, struct event *event, struct error *error) {
	/* Where it is open what rows the table has nothing may be put behind them. */
	int r = store_check(broker->store, error);
	/* While the database can't be written nothing may pile up beside it. */
	if (r == 0 && (broker->history_stuck || history_waiting(broker->history) >= WAITING_MAX))
		r = broker_write_history(broker, error);
	event->time_ms = broker_now_ms(broker);
	if (r == 0) r = history_note(broker->history, event, error);
	json_decref(event->detail);
	event->detail = NULL;
	return r;
}
