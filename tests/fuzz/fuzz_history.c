/*
 * A JSON object: as the body of `list`, `summary` and `verify`, of a client to a broker with a small database. What
 * must hold: a listing of the history, page after page, gives just the rows that fit the filter, each once and in
 * order; what is refused is refused with a sentence; nothing that a reader says changes what is there.
 */
#include <string.h>

#include "base/fd.h"
#include "fixture.h"
#include "fuzz.h"
#include "schema/limits.h"
#include "schema/message.h"

enum { ROWS = 40, PAGES_MAX = ROWS + 2 };

static const char *const permissions[] = {"fs:read", "net:access", NULL}, *const profiles[] = {"npm", "git", NULL},
			 *const projects[] = {"/p", "/q/\xc3\xa4", NULL};

static void fill(struct broker *broker) {
	demand(broker_begin(broker, STORE_NORMAL, NULL) == 0, "no transaction");
	for (int i = 0; i < ROWS; i++) {
		struct event event = {.kind = (enum event_kind)(i % EVENT_KIND_COUNT),
				      .session = i % 4,
				      .profile = (char *)profiles[i % 3],
				      .project = (char *)projects[i / 3 % 3],
				      .permission = (char *)permissions[i / 9 % 3],
				      .target = (char *)"/t\xff",
				      .verdict = i % 4 == 3 ? -1 : i % 2 * EFFECT_ALLOW,
				      .detail = i % 5 == 0 ? json_pack("{s:s}", "state", "shown") : NULL};
		demand(broker_record(broker, &event, NULL) == 0, "no row");
	}
	demand(broker_commit(broker, NULL) == 0, "no commit");
}

static json_t *call(struct client *client, int end, const char *type, const json_t *body) {
	json_t *message = json_is_object(body) ? json_deep_copy(body) : json_object(), *reply;
	json_object_set_new(message, "type", json_string(type));
	json_object_set_new(message, "id", json_integer(7));
	CLEANUP_FREE char *text = json_dumps(message, JSON_COMPACT);
	json_decref(message);
	fixture_say(client, text);
	reply = fixture_receive(end);
	demand(reply, "%s gets no reply", type);
	return reply;
}

static bool says(const json_t *filter, const char *key, const json_t *value) {
	const json_t *wanted = json_object_get(filter, key);
	return !wanted || json_is_null(wanted) || json_equal((json_t *)wanted, (json_t *)value);
}

/* Of what the row shows; times are all the same. */
static bool fits(const json_t *filter, const json_t *row) {
	static const char *const keys[] = {"project", "profile", "permission", "verdict", "kind"};
	const json_t *session = json_object_get(filter, "session");
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (!says(filter, keys[i], json_object_get(row, keys[i]))) return false;
	return !json_is_integer(session) || json_integer_value(session) == 0 ||
	       json_equal((json_t *)session, json_object_get(row, "session"));
}

static bool is_error(const json_t *reply) {
	return strcmp(json_string_value(json_object_get(reply, "type")), "error") == 0;
}

static int64_t count_fitting(struct client *client, int end, const json_t *filter) {
	json_t *body = json_pack("{s:s}", "what", "history"), *reply = call(client, end, "list", body), *row;
	const json_t *since = json_object_get(filter, "since_ms"), *until = json_object_get(filter, "until_ms");
	int64_t now = FIXTURE_NOW_MS, fitting = 0;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, row) fitting += fits(filter, row);
	json_decref(body);
	json_decref(reply);
	if (json_integer_value(since) > now) return 0;
	return json_integer_value(until) != 0 && json_integer_value(until) <= now ? 0 : fitting;
}

/* Page after page. -1 when it is refused. */
static int64_t list_all(struct client *client, int end, const json_t *asked, const json_t *filter, bool newest) {
	json_t *body = json_copy((json_t *)asked), *row;
	int64_t found = 0, last = newest ? INT64_MAX : 0;
	json_object_del(body, "cursor");
	for (int page = 0;; page++) {
		json_t *reply = call(client, end, "list", body);
		const json_t *next = json_object_get(reply, "next");
		size_t index;
		if (is_error(reply)) {
			json_decref(reply);
			json_decref(body);
			return -1;
		}
		json_array_foreach (json_object_get(reply, "items"), index, row) {
			int64_t seq = json_integer_value(json_object_get(row, "seq"));
			demand(newest ? seq < last : seq > last, "row %lld after %lld", (long long)seq,
			       (long long)last);
			demand(fits(filter, row), "row %lld doesn't fit", (long long)seq);
			last = seq;
			found++;
		}
		bool more = json_is_integer(next);
		if (more) json_object_set(body, "cursor", (json_t *)next);
		json_decref(reply);
		demand(page < PAGES_MAX, "there is no last page");
		if (!more) break;
	}
	json_decref(body);
	return found;
}

static void check_list(struct client *client, int end, const json_t *body) {
	const json_t *filter = json_object_get(body, "filter");
	const char *what = json_string_value(json_object_get(body, "what"));
	if (json_is_true(json_object_get(body, "wait"))) return; /* the reply comes when there are rows */
	json_t *reply = call(client, end, "list", body);
	bool refused = is_error(reply);
	json_decref(reply);
	if (refused || !what || strcmp(what, "history") != 0) return;
	int64_t found = list_all(client, end, body, filter, json_is_true(json_object_get(body, "newest")));
	int64_t expected = count_fitting(client, end, filter);
	demand(found == expected, "%lld rows are listed, %lld fit", (long long)found, (long long)expected);
}

static void check_verify(struct client *client, int end, const json_t *body) {
	json_t *reply = call(client, end, "verify", body);
	bool other_head = json_is_string(json_object_get(body, "head"));
	demand(is_error(reply) || other_head || json_is_null(json_object_get(reply, "bad")), "the history has changed");
	json_decref(reply);
}

static void ask(struct broker *broker, const json_t *body,
		void (*check)(struct client *client, int end, const json_t *body)) {
	int end;
	struct client *client = fixture_client(broker, &end);
	json_decref(call(client, end, "hello", json_object_get(body, "hello")));
	if (client->greeted) check(client, end, body);
	fixture_turn(broker);
	fd_close(end);
}

static void check_summary(struct client *client, int end, const json_t *body) {
	json_t *reply = call(client, end, "summary", body);
	demand(is_error(reply) || json_is_array(json_object_get(reply, "rows")), "no rows");
	json_decref(reply);
}

/* One broker for all inputs: nothing here changes it. */
static struct broker *the_broker;

static void end_broker(void) {
	fixture_free(the_broker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	json_t *body;
	if (message_decode((const char *)data, size, &body, NULL) < 0) return 0;
	if (!the_broker) {
		the_broker = fixture_new();
		fill(the_broker);
		atexit(end_broker);
	}
	ask(the_broker, body, check_list);
	ask(the_broker, body, check_summary);
	ask(the_broker, body, check_verify);
	json_decref(body);
	return 0;
}
