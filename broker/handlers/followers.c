#include "followers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"

enum { FOLLOW_MS = 100, TURN_MS = 20, PAGES_A_TURN = 4 };

struct follower {
	TAILQ_ENTRY(follower) link;
	struct client *client;
	int64_t id;
	struct history_filter filter;
	int64_t cursor;
};

struct followers {
	struct broker *broker;
	struct event *timer;
	TAILQ_HEAD(follower_list, follower) list;
};

static void follower_free(struct followers *followers, struct follower *follower) {
	TAILQ_REMOVE(&followers->list, follower, link);
	history_filter_finish(&follower->filter);
	free(follower);
}

static void reply(struct follower *follower, json_t *items) {
	json_t *page = json_object();
	json_object_set(page, "items", items);
	json_object_set_new(page, "next", json_integer(follower->cursor));
	client_reply(follower->client, "list", follower->id, page);
}

/* True when it was answered. */
static bool serve(struct followers *followers, struct follower *follower) {
	struct history *history = followers->broker->history;
	const char *hash;
	bool answered = false;
	for (int i = 0; i < PAGES_A_TURN && !answered && follower->cursor < history_head(history, &hash); i++) {
		int64_t head = history_head(history, &hash), next = 0;
		struct error error = ERROR_NONE;
		json_t *items = json_array();
		int r = history_list(history, &follower->filter, false, follower->cursor, items, &next, &error);
		if (r == 0) follower->cursor = next != 0 ? next : head;
		answered = r < 0 || json_array_size(items) > 0;
		if (r < 0)
			client_reply_error(follower->client, follower->id, &error);
		else if (answered)
			reply(follower, items);
		json_decref(items);
	}
	return answered;
}

static int64_t now_ms(const struct followers *followers) {
	struct moment now;
	clock_read(followers->broker->clock, &now);
	return now.boot_ms;
}

/* Each once, for as long as a turn may take; whom it has no time for the next one begins with. */
static void serve_all(struct followers *followers) {
	const struct follower *last = TAILQ_LAST(&followers->list, follower_list);
	const int64_t end_ms = now_ms(followers) + TURN_MS;
	for (bool done = !last; !done; done = done || now_ms(followers) >= end_ms) {
		struct follower *follower = TAILQ_FIRST(&followers->list);
		done = follower == last;
		TAILQ_REMOVE(&followers->list, follower, link);
		TAILQ_INSERT_TAIL(&followers->list, follower, link);
		if (serve(followers, follower)) follower_free(followers, follower);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct followers *followers = argument;
	/* What was only noted isn't where it is listed from; if it can't be written, the tick says so. */
	if (broker_write_history(followers->broker, NULL) < 0) return;
	serve_all(followers);
	if (TAILQ_EMPTY(&followers->list)) event_del(followers->timer);
}

struct followers *followers_new(struct broker *broker) {
	struct followers *followers = mem_new(struct followers);
	followers->broker = broker;
	TAILQ_INIT(&followers->list);
	followers->timer = event_new(broker->base, -1, EV_PERSIST, on_timer, followers);
	if (!followers->timer) mem_exhausted();
	return followers;
}

void followers_free(struct followers *followers) {
	if (!followers) return;
	for (struct follower *follower = TAILQ_FIRST(&followers->list), *next; follower; follower = next) {
		next = TAILQ_NEXT(follower, link);
		follower_free(followers, follower);
	}
	event_free(followers->timer);
	free(followers);
}

int followers_add(struct followers *followers, struct client *client, int64_t id, const struct history_filter *filter,
		  int64_t cursor, struct error *error) {
	static const struct timeval pause = {.tv_usec = FOLLOW_MS * 1000};
	struct follower *follower;
	TAILQ_FOREACH(follower, &followers->list, link) {
		if (follower->client == client)
			return error_set(error, EBUSY, "this connection waits for rows already");
	}
	follower = mem_new(struct follower);
	follower->client = client;
	follower->id = id;
	follower->cursor = cursor;
	follower->filter = *filter;
	follower->filter.project = string_copy_or_null(filter->project);
	follower->filter.profile = string_copy_or_null(filter->profile);
	follower->filter.permission = string_copy_or_null(filter->permission);
	follower->filter.verdict = string_copy_or_null(filter->verdict);
	follower->filter.kind = string_copy_or_null(filter->kind);
	if (TAILQ_EMPTY(&followers->list)) event_add(followers->timer, &pause);
	TAILQ_INSERT_TAIL(&followers->list, follower, link);
	const char *hash;
	if (cursor < history_head(followers->broker->history, &hash)) event_active(followers->timer, EV_TIMEOUT, 1);
	return 0;
}

void followers_forget(struct followers *followers, const struct client *client) {
	for (struct follower *follower = TAILQ_FIRST(&followers->list), *next; follower; follower = next) {
		next = TAILQ_NEXT(follower, link);
		if (follower->client == client) follower_free(followers, follower);
	}
	if (TAILQ_EMPTY(&followers->list)) event_del(followers->timer);
}
