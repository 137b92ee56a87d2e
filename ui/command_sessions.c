#include "base/clock.h"
#include "base/memory.h"
#include "schema/session.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/table.h"

struct values {
	bool all, json;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Also those that have ended. Default: those that run.",
	 offsetof(struct values, all)},
	{"json", OPTION_FLAG, NULL, "One JSON array (keys: sbx(1), JSON).", offsetof(struct values, json)},
};

static const struct table_column columns[] = {
	{"ID", false, true},       {"PROFILE", true, false}, {"PROJECT", true, false}, {"PID", false, true},
	{"STARTED", false, false}, {"STATE", false, false},  {"COMMAND", true, false},
};

struct output {
	struct table *table; /* or NULL: JSON */
	struct json_list json;
	int64_t now_ms;
};

static char *session_state(const struct session_record *session, int64_t now_ms) {
	if (session->ended_ms == 0) {
		CLEANUP_FREE char *since = human_duration(now_ms - session->started_ms);
		return string_format("runs for %s", since);
	}
	return session->exit < 0 ? string_copy("broke off") : string_format("exit %d", session->exit);
}

static void add_row(struct output *output, const struct session_record *session) {
	CLEANUP_FREE char *place = human_path(session->project);
	CLEANUP_FREE char *started = human_time(session->started_ms);
	CLEANUP_FREE char *state = session_state(session, output->now_ms);
	table_cellf(output->table, "%lld", (long long)session->id);
	table_cell(output->table, session->profile);
	table_cell(output->table, place);
	table_cellf(output->table, "%lld", (long long)session->pid);
	table_cell(output->table, started);
	table_cell(output->table, state);
	table_cell(output->table, session->command);
}

static int each(void *context, const json_t *item, struct error *error) {
	struct output *output = context;
	struct session_record session = {0};
	int r = session_record_from_json(item, &session, error);
	if (r < 0) return r;
	if (output->table) {
		add_row(output, &session);
	} else {
		json_t *json = session_record_to_json(&session);
		json_list_item(&output->json, json);
		json_decref(json);
	}
	session_record_finish(&session);
	return 0;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_TABLE struct table *table = values->json ? NULL : table_new(columns, ARRAY_LENGTH(columns));
	struct output output = {.table = table, .json = {.out = stdout}};
	struct listing listing = {.what = "sessions", .ended_too = values->all, .each = each, .context = &output};
	struct moment now;
	clock_read(clock_system(), &now);
	output.now_ms = now.wall_ms;
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = broker_list(channel, &listing, error);
	if (r < 0) return r;
	if (!table)
		json_list_end(&output.json);
	else if (table_rows(table) == 0)
		puts(values->all ? "No sessions yet." : "No sandbox is running ('--all' shows ended ones).");
	else
		table_print(table, stdout, terminal_width(stdout), true);
	return EXIT_DONE;
}

const struct command command_sessions = {
	.name = "sessions",
	.operands = "",
	.summary = "List the sandboxes that run.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
