/*
 * history_load: how long a page of the history takes, whatever it is asked for and however many rows there are.
 *
 *     history_load fill N DATABASE   make a database with N rows, index and tallies, as a year of work leaves them
 *     history_load measure ROUNDS    each kind of query, by the broker that serves now: median microseconds
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/verdict.h"
#include "store/history.h"

enum { ROWS_A_SESSION = 100, TRANSACTION = 20000, ROUNDS_MOST = 10000 };
static const int64_t YEAR_MS = INT64_C(365) * 24 * 3600 * 1000, END_MS = INT64_C(1750000000000);

/* Filling */

static struct event event_of(long long row, long long rows) {
	static const char *const profiles[] = {"npm", "git", "aider", "cargo"},
				 *const projects[] = {"/home/u/app", "/home/u/site", "/home/u/tool"},
				 *const permissions[] = {"net:access", "fs:read", "fs:write", "proc:spawn"};
	long long session = row / ROWS_A_SESSION, place = row % ROWS_A_SESSION;
	bool rare = session == rows / ROWS_A_SESSION / 2, denied = row % 5000 == 7;
	return (struct event){
		.time_ms = END_MS - YEAR_MS + (int64_t)((double)YEAR_MS * (double)row / (double)rows),
		.kind = place == 0                    ? EVENT_SESSION_START
			: place == ROWS_A_SESSION - 1 ? EVENT_SESSION_END
						      : EVENT_DECISION,
		.session = session + 1,
		.profile = (char *)(rare ? "rare" : profiles[session % 4]),
		.project = (char *)projects[session % 3],
		.process = (char *)"node (4711)",
		.permission = (char *)permissions[row % 4],
		.target = (char *)"example.org:443",
		.verdict = denied ? (int)EFFECT_DENY : (int)EFFECT_ALLOW,
		.by = (char *)"rules",
		.why = (char *)"/home/u/.config/sbx/policy.yaml:12: net:access \"*.npmjs.org:443\"",
	};
}

static int fill_some(struct store *store, struct history *history, long long from, long long to, long long rows,
		     struct error *error) {
	int r = store_begin(store, STORE_NORMAL, error);
	for (long long row = from; r == 0 && row < to; row++) {
		struct event event = event_of(row, rows);
		r = history_append(history, &event, error);
	}
	if (r == 0) r = history_keep_head(history, error);
	if (r == 0) r = store_commit(store, error);
	if (r < 0) return r;
	history_committed(history);
	while (r == 0 && history_digest_is_due(history)) r = history_digest(history, error);
	return r;
}

static int fill(long long rows, const char *database, struct error *error) {
	struct store *store = NULL;
	struct history *history = NULL;
	int r = store_open(database, &store, error);
	if (r == 0) r = history_open(store, &history, error);
	for (long long row = 0; r == 0 && row < rows; row += TRANSACTION)
		r = fill_some(store, history, row, row + TRANSACTION < rows ? row + TRANSACTION : rows, rows, error);
	history_free(history);
	store_free(store);
	return r;
}

/* Measuring */

static int64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *a, const void *b) {
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

struct query {
	const char *what, *type, *body; /* %lld: where half of the rows are before */
};

static const struct query queries[] = {
	{"first page", "list", "{\"what\":\"history\"}"},
	{"newest first", "list", "{\"what\":\"history\",\"newest\":true}"},
	{"deep cursor", "list", "{\"what\":\"history\",\"cursor\":%lld}"},
	{"by session", "list", "{\"what\":\"history\",\"filter\":{\"session\":50}}"},
	{"by session, newest first", "list", "{\"what\":\"history\",\"newest\":true,\"filter\":{\"session\":50}}"},
	{"by profile", "list", "{\"what\":\"history\",\"newest\":true,\"filter\":{\"profile\":\"git\"}}"},
	{"by a rare profile", "list", "{\"what\":\"history\",\"newest\":true,\"filter\":{\"profile\":\"rare\"}}"},
	{"by verdict deny", "list", "{\"what\":\"history\",\"filter\":{\"verdict\":\"deny\"}}"},
	{"by verdict, deep, newest first", "list",
	 "{\"what\":\"history\",\"newest\":true,\"cursor\":%lld,\"filter\":{\"verdict\":\"deny\"}}"},
	{"by time, an hour", "list",
	 "{\"what\":\"history\",\"filter\":{\"since_ms\":1740000000000,\"until_ms\":1740003600000}}"},
	{"by time, newest first", "list",
	 "{\"what\":\"history\",\"newest\":true,\"filter\":{\"since_ms\":1740000000000,\"until_ms\":1740003600000}}"},
	{"nothing fits", "list", "{\"what\":\"history\",\"filter\":{\"profile\":\"none\"}}"},
	{"summary of a day", "summary", "{\"days\":[1740000000000,1740086400000]}"},
	{"a page of --verify", "verify", "{}"},
};

static int64_t last_seq(struct channel *channel, struct error *error) {
	json_t *reply = NULL;
	if (channel_call(channel, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1), &reply, error) < 0)
		return -EIO;
	int64_t seq = json_integer_value(json_object_get(json_array_get(json_object_get(reply, "items"), 0), "seq"));
	json_decref(reply);
	return seq;
}

static int measure_one(struct channel *channel, const struct query *query, int64_t half, size_t rounds,
		       struct error *error) {
	CLEANUP_FREE int64_t *times = mem_array(int64_t, rounds);
	CLEANUP_STRING struct string text = {0};
	const char *hole = strstr(query->body, "%lld");
	string_append_bytes(&text, query->body, hole ? (size_t)(hole - query->body) : strlen(query->body));
	if (hole) string_appendf(&text, "%lld%s", (long long)half, hole + strlen("%lld"));
	size_t items = 0, bytes = 0;
	for (size_t i = 0; i < rounds; i++) {
		json_t *reply = NULL;
		int64_t start = now_ns();
		int r = channel_call(channel, query->type, json_loads(text.data, 0, NULL), &reply, error);
		if (r < 0) return r;
		times[i] = now_ns() - start;
		items = json_array_size(json_object_get(reply, "items"));
		bytes = json_dumpb(reply, NULL, 0, JSON_COMPACT);
		json_decref(reply);
	}
	qsort(times, rounds, sizeof *times, compare);
	const size_t middle = rounds / 2;
	printf("%-32s %8.0f us   %3zu rows, %6zu bytes\n", query->what, (double)times[middle] / 1000, items, bytes);
	return 0;
}

static int measure(size_t rounds, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int r = channel_socket_path(&path, error);
	if (r == 0) r = channel_connect(path, &channel, error);
	int64_t rows = r == 0 ? last_seq(channel, error) : r;
	for (size_t i = 0; rows > 0 && r == 0 && i < ARRAY_LENGTH(queries); i++)
		r = measure_one(channel, &queries[i], rows / 2, rounds, error);
	return rows < 0 ? (int)rows : r;
}

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	unsigned long long count = 0;
	bool filling = argc == 4 && strcmp(argv[1], "fill") == 0,
	     measuring = argc == 3 && strcmp(argv[1], "measure") == 0;
	if ((!filling && !measuring) || string_to_u64(argv[2], &count) < 0 || count == 0 ||
	    count > (filling ? INT64_MAX / 2 : ROUNDS_MOST)) {
		log_error("usage: history_load fill N DATABASE | history_load measure ROUNDS");
		return 2;
	}
	if ((filling ? fill((long long)count, argv[3], &error) : measure((size_t)count, &error)) == 0) return 0;
	log_error("%s", error.message);
	return 1;
}
