#include "suggest.h"

#include <errno.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "commands/commands.h"
#include "suggest/look.h"
#include "suggest/text.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/words.h"

struct values {
	int64_t session, since_ms;
	const char *profile, *project;
	bool json;
};

static const struct option_info options[] = {
	{"session", OPTION_NUMBER, "ID", "Of one session, also one that has ended.", offsetof(struct values, session)},
	{"since", OPTION_TIME, "TIME",
	 "From then on: a duration ago (15m, 7d) or a time (2026-01-31, 2026-01-31T12:00). Default: from the "
	 "beginning.",
	 offsetof(struct values, since_ms)},
	{"profile", OPTION_TEXT, "PROFILE", "Of one profile.", offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "Of one project.", offsetof(struct values, project)},
	{"json", OPTION_FLAG, NULL, "One JSON array (keys: sbx(1), JSON).", offsetof(struct values, json)},
};

static int print(const struct suggest_found *found, const char *about, FILE *out) {
	CLEANUP_STRING struct string text = {0};
	const struct suggest_words words = {.about = about, .permissions = found->permissions};
	suggest_text(found->suggest, &words, &text);
	fputs(text.data, out);
	if (found->cut) fputs("# Older rows of the history were not looked at.\n", out);
	return EXIT_DONE;
}

int suggest_session(int64_t session, FILE *out, struct error *error) {
	CLEANUP_SUGGEST_FOUND struct suggest_found found = {0};
	CLEANUP_FREE char *about = string_format("session %lld", (long long)session);
	int r = suggest_look(json_pack("{s:I}", "session", (json_int_t)session), &found, error);
	return r < 0 ? r : print(&found, about, out);
}

/* "session 12", "what is kept of the history", "what has happened since 2026-01-31 14:03:05"; "by npm", "in ~/app" */
static char *describe(const struct values *values, const char *project) {
	CLEANUP_STRING struct string about = {0};
	if (values->session != 0) {
		string_appendf(&about, "session %lld", (long long)values->session);
	} else if (values->since_ms != 0) {
		CLEANUP_FREE char *time = human_time(values->since_ms);
		string_appendf(&about, "the time since %s", time);
	} else {
		string_append(&about, "the history that is kept");
	}
	if (values->profile) {
		CLEANUP_FREE char *shown = text_visible_cut(values->profile, 60);
		string_appendf(&about, ", by %s", shown);
	}
	if (project) {
		CLEANUP_FREE char *place = human_path(project);
		CLEANUP_FREE char *shown = text_visible_cut(place, 60);
		string_appendf(&about, ", in %s", shown);
	}
	return string_steal(&about);
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_SUGGEST_FOUND struct suggest_found found = {0};
	CLEANUP_FREE char *project = NULL;
	int r = options_exclusive(&call->command->options, values, "session since", error);
	if (r == 0 && values->project) r = words_past_project(values->project, &project, error);
	if (r < 0) return r;
	json_t *filter = json_object();
	json_put_id(filter, "session", values->session);
	json_put_id(filter, "since_ms", values->since_ms);
	json_put_text(filter, "profile", values->profile);
	json_put_text(filter, "project", project);
	r = suggest_look(filter, &found, error);
	if (r < 0) return r;
	if (!values->json) {
		CLEANUP_FREE char *about = describe(values, project);
		return print(&found, about, stdout);
	}
	json_t *list = suggest_json(found.suggest);
	json_line(stdout, list);
	json_decref(list);
	return EXIT_DONE;
}

const struct command command_suggest = {
	.name = "suggest",
	.operands = "",
	.summary = "Print the rules that would have answered what you were asked.",
	.details =
		"As YAML for ~/.config/sbx/policy.yaml, the narrowest that cover what was asked, with counts: what you "
		"allowed and denied, and what --record denied, under a heading that says so. Never what may only be "
		"confirmed in a terminal, and never more than you allowed; what is left out is a comment that says "
		"why.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
