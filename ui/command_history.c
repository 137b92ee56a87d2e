#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "history_output.h"
#include "history_verify.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/words.h"

enum { FOLLOW_PAUSE_MS = 500 };

struct values {
	int64_t since_ms, until_ms, session;
	const char *project, *profile, *permission, *verdict;
	bool summary, follow, json, csv, verify;
};

static const struct option_info options[] = {
	{"since", OPTION_TIME, "D",
	 "From then on: a duration ago (15m, 7d) or a local time (2026-01-31, 2026-01-31T12:00; with seconds and Z: "
	 "UTC). Default: from "
	 "the "
	 "beginning.",
	 offsetof(struct values, since_ms)},
	{"until", OPTION_TIME, "D", "Up to then, in the same forms. Default: now.", offsetof(struct values, until_ms)},
	{"session", OPTION_NUMBER, "ID", "Of one session.", offsetof(struct values, session)},
	{"project", OPTION_TEXT, "DIR", "Of one project.", offsetof(struct values, project)},
	{"profile", OPTION_TEXT, "P", "Of one profile.", offsetof(struct values, profile)},
	{"permission", OPTION_TEXT, "P", "About one permission, such as net:access.",
	 offsetof(struct values, permission)},
	{"verdict", OPTION_TEXT, "V", "That ended in allow or deny.", offsetof(struct values, verdict)},
	{"summary", OPTION_FLAG, NULL, "Totals by day, profile and project instead of rows.",
	 offsetof(struct values, summary)},
	{"follow", OPTION_FLAG, NULL, "Stay, and show new rows as they come.", offsetof(struct values, follow)},
	{"json", OPTION_FLAG, NULL, "One JSON object a line (keys: sbx(1), JSON).", offsetof(struct values, json)},
	{"csv", OPTION_FLAG, NULL, "Comma-separated values with a heading line (RFC 4180).",
	 offsetof(struct values, csv)},
	{"verify", OPTION_FLAG, NULL,
	 "Check the hash chain instead: exit status 1 and the first bad row if anything was changed, cut or left out.",
	 offsetof(struct values, verify)},
};

/* A project that is gone still has a history: then its name is enough. */
static int put_project(json_t *filter, const char *asked, struct error *error) {
	CLEANUP_FREE char *project = NULL;
	if (words_project(asked, &project, NULL) < 0) {
		CLEANUP_FREE char *directory = NULL;
		int r = working_directory(&directory, error);
		if (r == 0) r = path_normalise(directory, asked, &project, error);
		if (r < 0) return r;
	}
	json_put_text(filter, "project", project);
	return 0;
}

static int build_filter(const struct values *values, json_t *filter, struct error *error) {
	struct permission permission;
	enum effect effect;
	int r = 0;
	if (values->permission && (r = permission_parse(values->permission, &permission, error)) < 0) return r;
	if (values->verdict && (effect_parse(values->verdict, &effect, NULL) < 0 || effect == EFFECT_ASK))
		return error_set(error, EINVAL, "--verdict: expected allow or deny");
	if (values->until_ms && values->since_ms > values->until_ms)
		return error_set(error, EINVAL, "--since is later than --until: nothing can be between them");
	json_put_id(filter, "since_ms", values->since_ms);
	json_put_id(filter, "until_ms", values->until_ms);
	json_put_id(filter, "session", values->session);
	json_put_text(filter, "profile", values->profile);
	json_put_text(filter, "permission", values->permission);
	json_put_text(filter, "verdict", values->verdict);
	return values->project ? put_project(filter, values->project, error) : 0;
}

static int each(void *context, const json_t *item, struct error *error) {
	return history_output_add(context, item, error);
}

static int page(void *context, struct error *error) {
	struct history_output *output = context;
	history_output_flush(output);
	return ferror(output->out) ? error_set(error, EIO, "writing the output failed") : 0;
}

static int list(json_t *filter, struct history_output *output, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct listing listing = {
		.what = "history", .filter = json_incref(filter), .each = each, .page = page, .context = output};
	int r = broker_connect(NULL, &channel, error);
	if (r < 0) {
		json_decref(filter);
		return r;
	}
	return broker_list(channel, &listing, error);
}

static int follow(json_t *filter, struct history_output *output, struct error *error) {
	for (;;) {
		struct timespec pause = {.tv_nsec = FOLLOW_PAUSE_MS * 1000000L};
		nanosleep(&pause, NULL);
		if (output->last_ms) json_object_set_new(filter, "since_ms", json_integer(output->last_ms));
		int r = list(filter, output, error);
		if (r < 0) return r;
	}
}

static int show(const struct values *values, json_t *filter, struct error *error) {
	struct history_output output;
	enum history_format format = values->json ? HISTORY_JSON : values->csv ? HISTORY_CSV : HISTORY_TABLE;
	history_output_init(&output, format, stdout);
	int r = list(filter, &output, error);
	if (r == 0 && output.last_seq == 0 && format == HISTORY_TABLE && !values->follow)
		puts("Nothing in the history fits.");
	if (r == 0 && values->follow) r = follow(filter, &output, error);
	history_output_finish(&output);
	return r;
}

static const struct table_column summary_columns[] = {
	{"DAY", false, false},      {"PROFILE", true, false}, {"PROJECT", true, false}, {"SESSIONS", false, true},
	{"DECISIONS", false, true}, {"ASKED", false, true},   {"DENIED", false, true},
};

static void add_summary_row(struct table *table, const json_t *row) {
	static const char *const texts[] = {"day", "profile", "project"};
	static const char *const counts[] = {"sessions", "decisions", "asked", "denied"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP_FREE char *bytes = NULL;
		message_bytes_take(json_object_get(row, texts[i]), &bytes, NULL);
		CLEANUP_FREE char *text = bytes && i == 2 ? human_path(bytes) : string_copy(bytes ? bytes : "-");
		table_cell(table, text);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++)
		table_cellf(table, "%lld", (long long)json_integer_value(json_object_get(row, counts[i])));
}

static int summarise(const struct values *values, json_t *filter, struct error *error) {
	CLEANUP_TABLE struct table *table = table_new(summary_columns, ARRAY_LENGTH(summary_columns));
	struct json_list json = {.out = stdout};
	json_t *reply = NULL, *row;
	size_t index;
	int r = broker_call("summary", json_pack("{s:O}", "filter", filter), &reply, error);
	if (r < 0) return r;
	json_array_foreach (json_object_get(reply, "rows"), index, row) {
		if (values->json)
			json_list_item(&json, row);
		else
			add_summary_row(table, row);
	}
	if (values->json)
		json_list_end(&json);
	else if (table_rows(table) == 0)
		puts("Nothing in the history fits.");
	else
		table_print(table, stdout, terminal_width(stdout), true);
	json_decref(reply);
	return EXIT_DONE;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	static const char *const groups[] = {"json csv verify", "summary csv", "summary follow verify"};
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++) {
		int r = options_exclusive(&call->command->options, values, groups[i], error);
		if (r < 0) return r;
	}
	if (values->verify) return history_verify(error);
	json_t *filter = json_object();
	int r = build_filter(values, filter, error);
	if (r == 0) r = values->summary ? summarise(values, filter, error) : show(values, filter, error);
	json_decref(filter);
	return r;
}

const struct command command_history = {
	.name = "history",
	.operands = "",
	.summary = "Show what was asked, decided, granted and run.",
	.details = "Options that choose rows add up: all of them must fit. --verify always looks at the whole history.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
