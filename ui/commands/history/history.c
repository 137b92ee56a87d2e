#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "commands/commands.h"
#include "history_verify.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/broker.h"
#include "ui/history_output.h"
#include "ui/history_summary.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/words.h"

enum { RECONNECT_MS = 500 };

struct values {
	int64_t since_ms, until_ms, session;
	const char *project, *profile, *permission, *verdict, *head;
	bool summary, follow, json, csv, verify;
};

static const struct option_info options[] = {
	{"since", OPTION_TIME, "TIME",
	 "From then on: a duration ago (15m, 7d) or a local time (2026-01-31, 2026-01-31T12:00; with seconds and Z: "
	 "UTC). Default: from "
	 "the "
	 "beginning.",
	 offsetof(struct values, since_ms)},
	{"until", OPTION_TIME, "TIME", "Up to then, in the same forms. Default: now.",
	 offsetof(struct values, until_ms)},
	{"session", OPTION_NUMBER, "ID", "Of one session, also one that has ended.", offsetof(struct values, session)},
	{"project", OPTION_TEXT, "DIR", "Of one project.", offsetof(struct values, project)},
	{"profile", OPTION_TEXT, "PROFILE", "Of one profile.", offsetof(struct values, profile)},
	{"permission", OPTION_TEXT, "PERM", "About one permission, such as net:access.",
	 offsetof(struct values, permission)},
	{"verdict", OPTION_TEXT, "allow|deny", "That ended in allow or deny.", offsetof(struct values, verdict)},
	{"summary", OPTION_FLAG, NULL, "What happened on which day, by profile and project, instead of rows.",
	 offsetof(struct values, summary)},
	{"follow", OPTION_FLAG, NULL, "Stay, and show new rows as they come.", offsetof(struct values, follow)},
	{"json", OPTION_FLAG, NULL, "One JSON object a line (keys: sbx(1), JSON).", offsetof(struct values, json)},
	{"csv", OPTION_FLAG, NULL, "Comma-separated values with a heading line (RFC 4180).",
	 offsetof(struct values, csv)},
	{"verify", OPTION_FLAG, NULL,
	 "Check the hash chain and what is derived from it instead: exit status 1 and the first bad row if anything "
	 "was "
	 "changed, cut or left out.",
	 offsetof(struct values, verify)},
	{"head", OPTION_TEXT, "SEQ:HASH",
	 "With --verify: is the row with this number and hash still there? The system's log has such heads.",
	 offsetof(struct values, head)},
};

static int put_project(json_t *filter, const char *asked, struct error *error) {
	CLEANUP_FREE char *project = NULL;
	int r = words_past_project(asked, &project, error);
	if (r == 0) json_put_text(filter, "project", project);
	return r;
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

/* One page of what comes after the cursor, however long that takes. */
static int wait_for_page(struct channel *channel, json_t *filter, int64_t *cursor, struct history_output *output,
			 struct error *error) {
	json_t *reply = NULL, *item;
	size_t index;
	json_t *body = json_pack("{s:s, s:b, s:O, s:I}", "what", "history", "wait", 1, "filter", filter, "cursor",
				 (json_int_t)*cursor);
	int r = channel_call(channel, "list", body, &reply, error);
	if (r < 0) return r;
	json_array_foreach (json_object_get(reply, "items"), index, item)
		if (r == 0) r = each(output, item, error);
	*cursor = json_integer_value(json_object_get(reply, "next"));
	json_decref(reply);
	return r < 0 ? r : page(output, error);
}

/* A broker that was ended is started again; the rows that come then follow the last one seen. */
static int follow(json_t *filter, struct history_output *output, struct error *error) {
	int64_t cursor = output->last_seq;
	for (;;) {
		CLEANUP_CHANNEL struct channel *channel = NULL;
		int r = broker_connect(NULL, &channel, error);
		if (r < 0) return r;
		while (r == 0) r = wait_for_page(channel, filter, &cursor, output, error);
		if (r != -ECONNRESET && r != -EPIPE) return r;
		const struct timespec pause = {.tv_nsec = RECONNECT_MS * 1000000L};
		nanosleep(&pause, NULL);
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

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	static const char *const groups[] = {"json csv verify", "summary csv", "summary follow verify", "until follow"};
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++) {
		int r = options_exclusive(&call->command->options, values, groups[i], error);
		if (r < 0) return r;
	}
	if (values->summary && (values->permission || values->verdict))
		return error_set(error, EINVAL, "--summary counts by profile and project alone: leave out %s",
				 values->permission ? "--permission" : "--verdict");
	if (values->head && !values->verify) return error_set(error, EINVAL, "--head is for --verify");
	if (values->verify) return history_verify(values->head, error);
	json_t *filter = json_object();
	int r = build_filter(values, filter, error);
	if (r == 0) r = values->summary ? history_summarise(filter, values->json, error) : show(values, filter, error);
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
