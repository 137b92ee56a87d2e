/*
 * Theory of operation
 *
 * Three connections, for a reply that is long in coming holds up what was asked behind it: the agent's, on which
 * prompts are pushed and answered; one that lists, counts and revokes; one that waits for new rows of the history.
 * These say that something is another, so lists and counts are asked for anew, once a second at most however much
 * happens, and nothing is while nothing does. All three are up or none is.
 */
#include "link.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"
#include "schema/channel.h"
#include "schema/message.h"

enum { LINK_AGENT, LINK_LISTS, LINK_FOLLOW };
static_assert(LINK_FOLLOW + 1 == LINK_FDS, "every connection has a descriptor");

enum {
	RETRY_MS = 1000,    /* between looks for a broker */
	REFRESH_MS = 1000,  /* between two looks at what is another */
	RUNNING_MS = 5000,  /* at sandboxes that are on the screen: ports are published without a row in the history */
	TURN_MESSAGES = 64, /* read before the screen has its turn */
};

enum call_kind { CALL_PLAIN, CALL_TURN, CALL_ROWS, CALL_COUNTS, CALL_FOLLOW, CALL_REQUEST };

struct call {
	int64_t id;
	size_t channel;
	enum call_kind kind;
	size_t pane;                    /* of CALL_ROWS */
	struct monitor_request request; /* of CALL_REQUEST */
};

struct monitor_link {
	struct channel *channels[LINK_FDS];
	bool greeted[LINK_FDS];
	bool up;
	bool asks_turn, elsewhere; /* for a turn, which isn't replied to yet; as it was asked for last */
	struct call *calls;
	size_t call_count;
	bool follows;
	int64_t cursor; /* of the newest row of the history */
	int64_t retry_ms, refresh_ms, running_ms;
};

struct monitor_link *link_new(void) {
	return mem_new(struct monitor_link);
}

static void close_all(struct monitor_link *link) {
	for (size_t i = 0; i < LINK_FDS; i++) {
		channel_free(link->channels[i]);
		link->channels[i] = NULL;
		link->greeted[i] = false;
	}
	for (size_t i = 0; i < link->call_count; i++) json_decref(link->calls[i].request.body);
	free(link->calls);
	link->calls = NULL;
	link->call_count = 0;
	link->up = link->follows = link->asks_turn = false;
}

void link_free(struct monitor_link *link) {
	if (!link) return;
	close_all(link);
	free(link);
}

void link_rest(struct monitor_link *link, struct monitor_model *model) {
	close_all(link);
	link->retry_ms = 0;
	model_lost(model, "resting");
}

static void drop(struct monitor_link *link, struct monitor_model *model, const struct error *error) {
	CLEANUP_FREE char *why = text_visible_cut(error->message, 200);
	close_all(link);
	link->retry_ms = clock_ms(CLOCK_BOOTTIME) + RETRY_MS;
	model_lost(model, why);
}

/* Asking */

static int send_call(struct monitor_link *link, struct call call, const char *type, json_t *body, struct error *error) {
	int r = channel_send(link->channels[call.channel], type, body, &call.id, error);
	if (r < 0) {
		json_decref(call.request.body);
		return r;
	}
	link->calls = array_grow(link->calls, link->call_count, sizeof *link->calls);
	link->calls[link->call_count++] = call;
	return 0;
}

static int ask_rows(struct monitor_link *link, struct monitor_model *model, bool refresh, struct error *error) {
	int r = 0;
	for (size_t pane = 0; r == 0 && pane < PANE_COUNT; pane++) {
		json_t *body = pane == PANE_PROMPTS ? NULL : rows_ask(&model->rows[pane], refresh);
		if (body)
			r = send_call(link, (struct call){.channel = LINK_LISTS, .kind = CALL_ROWS, .pane = pane},
				      "list", body, error);
	}
	return r;
}

static int ask_counts(struct monitor_link *link, struct monitor_model *model, struct error *error) {
	json_t *body = counts_ask(&model->counts, model->wall_ms);
	if (!body) return 0;
	return send_call(link, (struct call){.channel = LINK_LISTS, .kind = CALL_COUNTS}, "summary", body, error);
}

/* From the newest row on that the first page of the history had. */
static int ask_follow(struct monitor_link *link, const struct monitor_model *model, struct error *error) {
	const struct monitor_rows *history = &model->rows[PANE_HISTORY];
	if (link->follows || history->stale || history->asked != ROWS_NONE) return 0;
	if (link->cursor == 0) link->cursor = rows_number(history, 0);
	link->follows = true;
	json_t *body = json_pack("{s:s, s:b, s:I}", "what", "history", "wait", 1, "cursor", (json_int_t)link->cursor);
	return send_call(link, (struct call){.channel = LINK_FOLLOW, .kind = CALL_FOLLOW}, "list", body, error);
}

static int send_requests(struct monitor_link *link, struct monitor_model *model, struct error *error) {
	struct monitor_request request;
	int r = 0;
	while (r == 0 && model_take_request(model, &request)) {
		/* The token of an answer is good on the connection that was given it alone. */
		bool answers = string_equal(request.type, "answer");
		r = send_call(link,
			      (struct call){.channel = answers ? LINK_AGENT : LINK_LISTS,
					    .kind = CALL_REQUEST,
					    .request = {request.type, json_deep_copy(request.body)}},
			      request.type, request.body, error);
	}
	return r;
}

/* What sandboxes on our terminal write waits, until the connection ends: it would be painted over the questions; and
 * while one can be allowed, so does what those in the background of another terminal write (attack R19). */
static int take_turn(struct monitor_link *link, bool elsewhere, struct error *error) {
	link->asks_turn = true;
	link->elsewhere = elsewhere;
	return send_call(link, (struct call){.channel = LINK_AGENT, .kind = CALL_TURN}, "turn",
			 json_pack("{s:b, s:b}", "wanted", 1, "elsewhere", elsewhere), error);
}

static int ask_turn(struct monitor_link *link, struct monitor_model *model, struct error *error) {
	const bool elsewhere = model_may_allow(model);
	if (link->asks_turn || link->elsewhere == elsewhere) return 0;
	model->others_hold = false;
	return take_turn(link, elsewhere, error);
}

static int ask(struct monitor_link *link, struct monitor_model *model, struct error *error) {
	int64_t now = clock_ms(CLOCK_BOOTTIME);
	bool refresh = now >= link->refresh_ms;
	if (model->pane == PANE_SANDBOXES && now >= link->running_ms) {
		link->running_ms = now + RUNNING_MS;
		model->rows[PANE_SANDBOXES].stale = true;
	}
	int r = send_requests(link, model, error);
	if (r == 0) r = ask_turn(link, model, error);
	if (r == 0) r = ask_rows(link, model, refresh, error);
	if (r == 0 && refresh) r = ask_counts(link, model, error);
	if (r == 0) r = ask_follow(link, model, error);
	if (refresh) link->refresh_ms = now + REFRESH_MS;
	return r;
}

/* Connecting */

static int begin(struct monitor_link *link, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int r = channel_socket_path(&path, error);
	for (size_t i = 0; r == 0 && i < LINK_FDS; i++) {
		r = channel_begin(path, &link->channels[i], error);
		if (r == 0) r = fd_nonblocking(channel_fd(link->channels[i]), true, error);
	}
	return r;
}

static int greet(struct monitor_link *link, struct monitor_model *model, size_t i, struct error *error) {
	int r = channel_greet(link->channels[i], error);
	if (r < 0) return r;
	link->greeted[i] = true;
	for (size_t other = 0; other < LINK_FDS; other++)
		if (!link->greeted[other]) return 0;
	link->up = true;
	link->cursor = link->refresh_ms = 0;
	model_connected(model);
	r = send_call(link, (struct call){.channel = LINK_AGENT}, "agent",
		      json_pack("{s:s, s:n}", "kind", "tui", "session"), error);
	return r < 0 ? r : take_turn(link, false, error);
}

static bool is_stale(const struct monitor_model *model) {
	bool stale = model->counts.stale || model->counts.after != 0;
	for (size_t i = PANE_PROMPTS + 1; i < PANE_COUNT; i++) stale = stale || model->rows[i].stale;
	return stale;
}

int link_turn(struct monitor_link *link, struct monitor_model *model) {
	struct error error = ERROR_NONE;
	int64_t now = clock_ms(CLOCK_BOOTTIME), next = INT64_MAX;
	if (!link->channels[0]) {
		if (now >= link->retry_ms && begin(link, &error) < 0) drop(link, model, &error);
		if (!link->channels[0]) next = link->retry_ms;
	}
	if (link->up && ask(link, model, &error) < 0) {
		drop(link, model, &error);
		next = link->retry_ms;
	} else if (link->up) {
		if (is_stale(model)) next = link->refresh_ms;
		if (model->pane == PANE_SANDBOXES && link->running_ms < next) next = link->running_ms;
	}
	if (next == INT64_MAX) return -1;
	return next > now ? (int)(next - now) : 0;
}

/* Reading */

static char *failure_of(const json_t *reply) {
	char *why = NULL;
	if (!string_equal(json_string_value(json_object_get(reply, "type")), "error")) return NULL;
	if (message_bytes_take(json_object_get(reply, "message"), &why, NULL) < 0 || !why)
		return string_copy("the broker refused without saying why");
	return why;
}

static void follow(struct monitor_link *link, struct monitor_model *model, const json_t *reply) {
	int64_t next = json_integer_value(json_object_get(reply, "next"));
	model_history(model, reply);
	if (next != 0) link->cursor = next;
	link->follows = false;
}

static int take_reply(struct monitor_link *link, struct monitor_model *model, const struct call *call,
		      const json_t *reply, struct error *error) {
	CLEANUP_FREE char *why = failure_of(reply);
	if (why && call->kind != CALL_REQUEST) return error_set(error, EIO, "%s", why);
	switch (call->kind) {
	case CALL_ROWS:
		rows_take(&model->rows[call->pane], reply);
		break;
	case CALL_COUNTS:
		counts_take(&model->counts, reply);
		break;
	case CALL_FOLLOW:
		follow(link, model, reply);
		break;
	case CALL_REQUEST:
		if (why)
			model_failed(model, why);
		else
			model_done(model, &call->request, reply);
		break;
	case CALL_TURN:
		link->asks_turn = false;
		model_turn(model, link->elsewhere);
		break;
	case CALL_PLAIN:
		break;
	}
	return 0;
}

static bool is_push(const json_t *message) {
	enum message_type type;
	const char *name = json_string_value(json_object_get(message, "type"));
	return name && message_type_parse(name, &type, NULL) == 0 && message_info(type)->flow == MESSAGE_PUSH;
}

static int take(struct monitor_link *link, struct monitor_model *model, size_t channel, const json_t *message,
		struct error *error) {
	if (is_push(message)) return model_push(model, message, error);
	int64_t id = json_integer_value(json_object_get(message, "id"));
	for (size_t i = 0; i < link->call_count; i++) {
		if (link->calls[i].channel != channel || link->calls[i].id != id) continue;
		struct call call = link->calls[i];
		link->calls[i] = link->calls[--link->call_count];
		int r = take_reply(link, model, &call, message, error);
		json_decref(call.request.body);
		return r;
	}
	return 0;
}

static int hear(struct monitor_link *link, struct monitor_model *model, size_t i, struct error *error) {
	if (!link->greeted[i]) return greet(link, model, i, error);
	for (int heard = 0; heard < TURN_MESSAGES; heard++) {
		json_t *message = NULL;
		int r = channel_receive(link->channels[i], false, &message, error);
		if (r == -EAGAIN) return 0;
		if (r == 0) r = take(link, model, i, message, error);
		json_decref(message);
		if (r < 0) return r;
	}
	return 0;
}

void link_poll(const struct monitor_link *link, struct pollfd fds[LINK_FDS]) {
	for (size_t i = 0; i < LINK_FDS; i++)
		fds[i] =
			(struct pollfd){.fd = link->channels[i] ? channel_fd(link->channels[i]) : -1, .events = POLLIN};
}

void link_read(struct monitor_link *link, struct monitor_model *model, const struct pollfd fds[LINK_FDS]) {
	struct error error = ERROR_NONE;
	for (size_t i = 0; i < LINK_FDS && link->channels[i]; i++) {
		if (fds[i].revents == 0 || hear(link, model, i, &error) >= 0) continue;
		drop(link, model, &error);
		return;
	}
}
