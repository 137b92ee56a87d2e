#include "base/memory.h"
#include "base/string.h"
#include "schema/publication.h"
#include "schema/session.h"
#include "ui/human.h"
#include "ui/records.h"

static const struct table_column columns[] = {
	{"ID", false, true},       {"PROFILE", true, false}, {"PROJECT", true, false},   {"PID", false, true},
	{"STARTED", false, false}, {"STATE", false, false},  {"PUBLISHED", true, false}, {"COMMAND", true, false},
};

enum { COLUMN_PROFILE = 1, COLUMN_PROJECT, COLUMN_PID, COLUMN_STARTED, COLUMN_PUBLISHED = 6 };
static const size_t spare[] = {COLUMN_PID, COLUMN_STARTED, COLUMN_PROJECT, COLUMN_PUBLISHED, COLUMN_PROFILE};

static char *session_state(const struct session_record *session, int64_t now_ms) {
	if (session->ended_ms == 0) {
		CLEANUP_FREE char *since = human_duration(now_ms - session->started_ms);
		return string_format("runs for %s", since);
	}
	return session->exit < 0 ? string_copy("broke off") : string_format("exit %d", session->exit);
}

/* "3000 8080:80": as `--publish` has them. */
static char *session_ports(const struct session_record *session) {
	struct string out = {0};
	string_append(&out, session->published.count > 0 ? "" : "-");
	for (size_t i = 0; i < session->published.count; i++) {
		struct publication publication;
		if (publication_parse(session->published.items[i], &publication, NULL) < 0) continue;
		string_appendf(&out, "%s%u", i > 0 ? " " : "", publication.port);
		if (publication.host_port != publication.port) string_appendf(&out, ":%u", publication.host_port);
	}
	return string_steal(&out);
}

static int add_row(struct table *table, const json_t *item, int64_t now_ms, struct error *error) {
	CLEANUP_SESSION struct session_record session = {0};
	int r = session_record_from_json(item, &session, error);
	if (r < 0) return r;

	CLEANUP_FREE char *place = human_path(session.project);
	CLEANUP_FREE char *started = human_time(session.started_ms);
	CLEANUP_FREE char *state = session_state(&session, now_ms);
	CLEANUP_FREE char *ports = session_ports(&session);
	table_cellf(table, "%lld", (long long)session.id);
	table_cell(table, session.profile);
	table_cell(table, place);
	table_cellf(table, "%lld", (long long)session.pid);
	table_cell(table, started);
	table_cell(table, state);
	table_cell(table, ports);
	table_cell(table, session.command);
	return 0;
}

const struct records records_sessions = {
	.what = "sessions",
	.columns = columns,
	.column_count = ARRAY_LENGTH(columns),
	.spare = spare,
	.spare_count = ARRAY_LENGTH(spare),
	.add_row = add_row,
	.none = "No sandbox is running ('--all' shows ended ones).",
	.none_at_all = "No sessions yet.",
};
