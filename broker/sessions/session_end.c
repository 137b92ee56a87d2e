#include "session_end.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/announce.h"
#include "core/hooks.h"
#include "flood.h"
#include "sandbox.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session_open.h"
#include "session_terminate.h"
#include "wire/client.h"

enum { UNWRITTEN_ENDS_MAX = 4096 };

static int write_end(struct broker *broker, const struct session_record *record, struct error *error) {
	int r = broker_begin(broker, STORE_NORMAL, error);
	if (r < 0) return r;
	sqlite3_stmt *end = store_statement(broker->store, STORE_SESSION_END);
	store_bind_integer(end, 1, record->id);
	store_bind_integer(end, 2, record->ended_ms ? record->ended_ms : broker_now_ms(broker));
	store_bind_integer(end, 3, record->exit);
	r = store_run(broker->store, end, error, "recording a session's end");
	if (r == 0) {
		struct event event = {.kind = EVENT_SESSION_END,
				      .session = record->id,
				      .profile = record->profile,
				      .project = record->project,
				      .verdict = -1,
				      .detail = json_object()};
		json_object_set_new(event.detail, "exit", json_integer(record->exit));
		if (record->hung_up) json_object_set_new(event.detail, "hangup", json_true());
		r = broker_record(broker, &event, error);
	}
	if (r == 0) r = history_keep_head(broker->history, error);
	if (r < 0) {
		broker_rollback(broker);
		return r;
	}
	return broker_commit(broker, error);
}

/* The next start closes those that find no room here. */
static void keep_unwritten(struct broker *broker, struct session_record *record) {
	if (broker->unwritten_end_count == UNWRITTEN_ENDS_MAX) return;
	broker->unwritten_ends =
		array_grow(broker->unwritten_ends, broker->unwritten_end_count, sizeof *broker->unwritten_ends);
	broker->unwritten_ends[broker->unwritten_end_count++] = *record;
	*record = (struct session_record){0};
}

static const struct session_record *find_unwritten(const struct broker *broker, int64_t id) {
	for (size_t i = 0; i < broker->unwritten_end_count; i++)
		if (broker->unwritten_ends[i].id == id) return &broker->unwritten_ends[i];
	return NULL;
}

void sessions_retry_ends(struct broker *broker) {
	while (broker->unwritten_end_count > 0) {
		struct session_record *last = &broker->unwritten_ends[broker->unwritten_end_count - 1];
		if (write_end(broker, last, NULL) < 0) return;
		session_record_finish(last);
		broker->unwritten_end_count--;
	}
}

void sessions_forget_ends(struct broker *broker) {
	for (size_t i = 0; i < broker->unwritten_end_count; i++) session_record_finish(&broker->unwritten_ends[i]);
	free(broker->unwritten_ends);
	broker->unwritten_ends = NULL;
	broker->unwritten_end_count = 0;
}

void session_end(struct session *session, int exit) {
	struct broker *broker = session->broker;
	struct error error = ERROR_NONE;
	const int64_t id = session->record.id;
	if (session->terminating && session->client->deaf)
		session_end_runner(session->client->pid, session->client->pidfd); /* before its time is up */
	if (session->record.exit == SESSION_RUNNING) session->record.exit = exit;
	session->record.ended_ms = broker_now_ms(broker);
	broker->hooks->session_ending(session);
	sandbox_leave(STEAL(session->sandbox), exit == SESSION_LOST);
	flood_flush(broker, session);
	broker->hooks->session_ended(session);
	if (write_end(broker, &session->record, &error) < 0) {
		log_error("ending a session: %s", error.message);
		keep_unwritten(broker, &session->record);
	}
	announce_head(broker, id);
	session->client->session = NULL;
	TAILQ_REMOVE(&broker->sessions, session, link);
	broker->session_count--;
	broker->hooks->session_gone(session);
	session_free(session);
}

static int read_rows(struct broker *broker, sqlite3_stmt *rows, struct session_record **ret_records, size_t *ret_count,
		     struct error *error) {
	struct session_record *records = NULL;
	size_t count = 0;
	int step;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		records = array_grow(records, count, sizeof *records);
		records[count++] = (struct session_record){.id = sqlite3_column_int64(rows, 0),
							   .profile = string_copy(store_column(rows, 1)),
							   .project = string_copy(store_column(rows, 2)),
							   .pid = sqlite3_column_int64(rows, 4),
							   .exit = SESSION_LOST};
	}
	*ret_records = records;
	*ret_count = count;
	int r = step == SQLITE_DONE ? 0 : store_error(broker->store, error, "reading the sessions");
	sqlite3_reset(rows);
	return r;
}

/* Their connection or broker has ended before they did; of each runner the last one. */
static int find_lost(struct broker *broker, struct error *error) {
	struct session_record *records;
	size_t count;
	sqlite3_stmt *rows = store_statement(broker->store, STORE_SESSION_LOST);
	store_bind_integer(rows, 1, SESSION_LOST);
	int r = read_rows(broker, rows, &records, &count, error);
	for (size_t i = 0; i < count; i++) {
		if (r == 0) r = sandbox_expect(broker, &records[i], error);
		session_record_finish(&records[i]);
	}
	free(records);
	return r;
}

int sessions_clean_up(struct broker *broker, struct error *error) {
	struct session_record *records;
	size_t count;
	int r = read_rows(broker, store_statement(broker->store, STORE_SESSION_UNENDED), &records, &count, error);
	for (size_t i = 0; i < count; i++) {
		if (r == 0) r = write_end(broker, &records[i], error);
		session_record_finish(&records[i]);
	}
	free(records);
	return r == 0 ? find_lost(broker, error) : r;
}

/* Listing */

static bool record_wanted(const struct history_filter *wanted, const struct session_record *record) {
	return (wanted->session == 0 || record->id == wanted->session) &&
	       (wanted->since_ms == 0 || record->ended_ms == 0 || record->ended_ms >= wanted->since_ms) &&
	       (wanted->until_ms == 0 || record->started_ms < wanted->until_ms) &&
	       (!wanted->profile || strcmp(wanted->profile, record->profile) == 0) &&
	       (!wanted->project || strcmp(wanted->project, record->project) == 0);
}

/* With what the row doesn't have: what is published, an end that couldn't be written. */
static struct session_record read_record(const struct broker *broker, sqlite3_stmt *row) {
	struct session_record record = {.id = sqlite3_column_int64(row, 0),
					.profile = string_copy(store_column(row, 1)),
					.project = string_copy(store_column(row, 2)),
					.command = string_copy(store_column(row, 3)),
					.pid = sqlite3_column_int64(row, 4),
					.started_ms = sqlite3_column_int64(row, 5),
					.ended_ms = sqlite3_column_int64(row, 6),
					.exit = sqlite3_column_int(row, 7)};
	const struct session *running = session_find(broker, record.id);
	for (size_t i = 0; running && i < running->record.published.count; i++)
		strings_add(&record.published, running->record.published.items[i]);
	const struct session_record *unwritten = record.ended_ms == 0 ? find_unwritten(broker, record.id) : NULL;
	if (unwritten) record.ended_ms = unwritten->ended_ms;
	if (unwritten) record.exit = unwritten->exit;
	return record;
}

int sessions_list(struct broker *broker, const struct history_filter *wanted, bool newest, bool ended_too,
		  int64_t cursor, json_t *items, int64_t *ret_next, struct error *error) {
	sqlite3_stmt *rows = store_statement(broker->store, newest ? STORE_SESSION_LIST_BACK : STORE_SESSION_LIST);
	store_bind_integer(rows, 1, newest ? 0 : cursor);
	store_bind_integer(rows, 2, newest && cursor > 0 ? cursor : INT64_MAX);
	size_t bytes = 0;
	int64_t last = 0;
	int step;
	*ret_next = 0;
	for (int scanned = 0; (step = sqlite3_step(rows)) == SQLITE_ROW; scanned++) {
		struct session_record record = read_record(broker, rows);
		bool full = scanned == LIMIT_SCAN || json_array_size(items) == LIMIT_PAGE;
		if (!full && (ended_too || record.ended_ms == 0) && record_wanted(wanted, &record)) {
			json_t *json = session_record_to_json(&record);
			bytes += json_dumpb(json, NULL, 0, JSON_COMPACT) + 1;
			full = bytes > LIMIT_PAGE_BYTES && json_array_size(items) > 0;
			if (!full) json_array_append(items, json);
			json_decref(json);
		}
		int64_t id = record.id;
		session_record_finish(&record);
		if (full) {
			*ret_next = last;
			break;
		}
		last = id;
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(broker->store, error, "reading the sessions");
	sqlite3_reset(rows);
	return r;
}
