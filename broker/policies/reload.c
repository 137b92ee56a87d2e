/*
 * Theory of operation.
 *
 * The first event of a burst (an editor writes, renames and removes) starts a timer; until it fires, the descriptor
 * isn't waited for. So sessions are told once, and whoever makes events as fast as they can wakes us twenty times a
 * second at most. A request doesn't wait for the timer: it takes in what was told and looks at the layers; a project's
 * file is left to the timer even then, for a tool could have it parsed anew with each of its requests.
 *
 * inotify doesn't tell of everything (watch.h), so while somebody might be concerned all is looked at once a second,
 * too.
 */
#include "reload.h"

#include "base/log.h"
#include "base/memory.h"
#include "core/hooks.h"
#include "policies.h"
#include "project_file.h"
#include "schema/event.h"
#include "schema/message.h"

enum { REACTION_MS = 50 };

struct reload {
	struct broker *broker;
	struct event *readable; /* NULL: nothing to wait for */
	struct event *timer;
};

/* Recording */

static json_t *texts_to_json(const struct strings *texts) {
	json_t *array = json_array();
	for (size_t i = 0; i < texts->count; i++) json_array_append_new(array, message_bytes(texts->items[i]));
	return array;
}

static void record(void *context, const struct policy_change *change) {
	struct broker *broker = context;
	const struct project_file *file = change->file;
	struct event event = {.kind = EVENT_POLICY,
			      .verdict = -1,
			      .target = (char *)change->path,
			      .project = file ? file->project : NULL,
			      .detail = json_object()};
	json_object_set_new(event.detail, "layer", json_string(policy_layer_name(change->layer)));
	json_object_set_new(event.detail, "errors", texts_to_json(change->errors));
	if (*change->hash) json_object_set_new(event.detail, "hash", json_string(change->hash));
	if (file && file->said) json_object_set_new(event.detail, "trusted", json_boolean(file->trusted));
	struct error error = ERROR_NONE;
	int r = broker_begin(broker, STORE_NORMAL, &error);
	if (r < 0) {
		json_decref(event.detail);
	} else {
		r = broker_record(broker, &event, &error);
		if (r == 0)
			r = broker_commit(broker, &error);
		else
			broker_rollback(broker);
	}
	if (r < 0) log_error("recording that the policy changed: %s", error.message);
}

/* Of its last row among these, newest first; "" when that says none, NULL without a row. */
static const char *last_recorded(const json_t *rows, enum policy_layer layer) {
	size_t index;
	const json_t *row;
	json_array_foreach ((json_t *)rows, index, row) {
		const json_t *detail = json_object_get(row, "detail");
		const char *name = json_string_value(json_object_get(detail, "layer"));
		const char *hash = json_string_value(json_object_get(detail, "hash"));
		if (string_equal(name, policy_layer_name(layer))) return hash ? hash : "";
	}
	return NULL;
}

void reload_record_start(struct broker *broker) {
	static const enum policy_layer layers[] = {POLICY_LAYER_ADMIN, POLICY_LAYER_USER};
	const struct history_filter filter = {.kind = (char *)event_kind_name(EVENT_POLICY)};
	struct error error = ERROR_NONE;
	json_t *rows = json_array();
	int64_t more;
	/* One page: the start waits for no long search, rather is a row written twice. */
	if (history_list(broker->history, &filter, true, 0, rows, &more, &error) < 0)
		log_error("looking for the policy recorded last: %s", error.message);
	for (size_t i = 0; i < ARRAY_LENGTH(layers); i++) {
		const struct policy_change change = policy_change_of_layer(policies_layer(broker->policies, layers[i]));
		const char *last = last_recorded(rows, layers[i]);
		if (!last && more == 0) last = "";
		if (!string_equal(last, change.hash)) record(broker, &change);
	}
	json_decref(rows);
}

/* Following */

static void start_timer(struct reload *reload) {
	static const struct timeval reaction = {.tv_usec = REACTION_MS * 1000};
	if (!evtimer_pending(reload->timer, NULL)) event_add(reload->timer, &reaction);
}

/* Is another one in force? */
static bool follow(struct reload *reload, enum policies_care care) {
	struct broker *broker = reload->broker;
	const bool changed = policies_refresh(broker->policies, care, record, broker);
	if (changed) broker->hooks->policies_changed(broker);
	if (policies_are_stirred(broker->policies)) start_timer(reload);
	return changed;
}

void reload_now(struct reload *reload) {
	follow(reload, POLICIES_LAYERS);
}

bool reload_everything(struct reload *reload) {
	return follow(reload, POLICIES_ALL);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	start_timer(argument);
}

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct reload *reload = argument;
	follow(reload, POLICIES_STIRRED);
	if (reload->readable) event_add(reload->readable, NULL);
}

struct reload *reload_new(struct broker *broker) {
	struct reload *reload = mem_new(struct reload);
	int fd = policies_watch_fd(broker->policies);
	reload->broker = broker;
	reload->timer = evtimer_new(broker->base, on_timer, reload);
	if (fd >= 0) reload->readable = event_new(broker->base, fd, EV_READ, on_readable, reload);
	if (!reload->timer || (fd >= 0 && !reload->readable)) mem_exhausted();
	if (reload->readable) event_add(reload->readable, NULL);
	return reload;
}

void reload_free(struct reload *reload) {
	if (!reload) return;
	event_free(reload->timer);
	if (reload->readable) event_free(reload->readable);
	free(reload);
}
