#include "words.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "keys.h"
#include "schema/event.h"
#include "schema/grant.h"
#include "schema/message.h"
#include "ui/event_words.h"
#include "ui/human.h"
#include "ui/prompt_text.h"

enum { VALUE_LINES = 6, BUNDLE_TOLD = 32 };

/* A key of a record as a line of its own. */
struct word_line {
	const char *key, *label;
};

static const struct word_line session_lines[] = {
	{"id", "session"},  {"profile", "profile"}, {"project", "project"}, {"command", "command"},
	{"pid", "process"}, {"started", "since"},   {"published", "ports"},
};
static const struct word_line grant_lines[] = {
	{"reason", "reason"}, {"origin", "made by"}, {"prompt", "prompt"},
	{"created", "made"},  {"uses", "uses"},      {"last_used", "last"},
};
static const struct word_line event_lines[] = {
	{"seq", "row"},         {"time", "time"},       {"kind", "kind"},       {"verdict", "verdict"},
	{"by", "by"},           {"why", "why"},         {"session", "session"}, {"profile", "profile"},
	{"project", "project"}, {"process", "process"}, {"grant", "grant"},     {"prompt", "prompt"},
};

/* NULL where there is none. */
static char *value_text(const json_t *value) {
	char *text = NULL;
	int64_t wall_ms;
	if (json_is_integer(value)) return string_format("%lld", json_integer_value(value));
	if (json_is_array(value)) {
		struct string list = {0};
		for (size_t i = 0; i < json_array_size(value); i++)
			string_appendf(&list, "%s%s", i > 0 ? " " : "", json_string_value(json_array_get(value, i)));
		if (list.size > 0) return string_steal(&list);
	}
	if (!json_is_string(value) || message_bytes_take(value, &text, NULL) < 0) return NULL;
	if (stamp_parse(text, &wall_ms, NULL) < 0) return text;
	free(text);
	return human_time(wall_ms);
}

static void append_lines(const json_t *item, const struct word_line *lines, size_t count, size_t width,
			 struct string *out) {
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *value = value_text(json_object_get(item, lines[i].key));
		text_labelled(out, lines[i].label, value, width, VALUE_LINES);
	}
}

static void append_bundle(const struct monitor_prompts *prompts, const struct waiting_line *line, size_t width,
			  struct string *out) {
	const struct prompt *first = &prompts->items[line->first].prompt;
	CLEANUP_FREE char *who = prompt_who(first);
	string_appendf(out, "sbx: %s wants %zu things:\n", who, line->count);
	for (size_t i = 0; i < line->count && i < BUNDLE_TOLD; i++) {
		const struct prompt *prompt = &prompts->items[line->first + i].prompt;
		CLEANUP_FREE char *target = prompt_target_for(prompt, width);
		CLEANUP_FREE char *what =
			permission_sentence(&prompt->permission, prompt->description, target ? target : "");
		CLEANUP_FREE char *number = string_format("%lld", (long long)prompt->id);
		text_labelled(out, number, what, width, 2);
	}
	CLEANUP_FREE char *asker = prompt_asker(first);
	CLEANUP_FREE char *place = prompt_place(first);
	text_labelled(out, "asked by", asker, width, 2);
	text_labelled(out, "project", place, width, 1);
}

static void prompt_details(const struct monitor_model *model, size_t width, struct string *out) {
	const struct waiting_line *line = prompts_chosen(&model->prompts);
	if (!line) return;
	if (line->count > 1)
		append_bundle(&model->prompts, line, width, out);
	else
		prompt_describe(&model->prompts.items[line->first].prompt, model->wall_ms, width, out);
}

static void grant_details(const json_t *item, size_t width, struct string *out) {
	CLEANUP_GRANT struct grant grant = {0};
	if (grant_from_json(item, &grant, NULL) < 0) return;
	CLEANUP_FREE char *place = human_path(grant.project);
	CLEANUP_FREE char *until = human_until(&grant);
	CLEANUP_FREE char *number = string_format("%lld", (long long)grant.id);
	text_labelled(out, "grant", number, width, 1);
	text_labelled(out, grant.effect == EFFECT_ALLOW ? "allows" : "denies", grant.permission.name, width, 1);
	text_labelled(out, "target", grant.pattern, width, VALUE_LINES);
	text_labelled(out, "profile", grant.profile ? grant.profile : "any", width, 1);
	text_labelled(out, "project", place, width, 2);
	text_labelled(out, "ends", until, width, 2);
	append_lines(item, grant_lines, ARRAY_LENGTH(grant_lines), width, out);
}

static void event_details(const json_t *item, size_t width, struct string *out) {
	CLEANUP_EVENT struct event event = {0};
	if (event_from_json(item, &event, NULL) < 0) return;
	CLEANUP_FREE char *what = event_what(&event);
	text_labelled(out, "what", what, width, VALUE_LINES);
	append_lines(item, event_lines, ARRAY_LENGTH(event_lines), width, out);
}

void words_details(const struct monitor_model *model, size_t width, struct string *out) {
	const struct monitor_rows *rows = &model->rows[model->pane];
	const json_t *item = rows_item(rows, rows->chosen);
	switch (model->pane) {
	case PANE_PROMPTS:
		prompt_details(model, width, out);
		break;
	case PANE_SANDBOXES:
		append_lines(item, session_lines, ARRAY_LENGTH(session_lines), width, out);
		break;
	case PANE_GRANTS:
		if (item) grant_details(item, width, out);
		break;
	case PANE_HISTORY:
		if (item) event_details(item, width, out);
		break;
	}
}

void words_help(size_t width, struct string *out) {
	CLEANUP_STRING struct string keys = {0};
	keys_help(&keys);
	for (char *line = keys.data, *end; line && *line; line = end + 1) {
		char *tab = strchr(line, '\t');
		end = strchr(line, '\n');
		*end = '\0';
		*tab = '\0';
		text_labelled(out, line, tab + 1, width, VALUE_LINES);
	}
}

char *words_state(const struct monitor_model *model) {
	const struct counted *today = &model->counts.today;
	if (!model->connected) {
		return string_format("sbxd isn't there: waiting for it (%s)",
				     model->trouble ? model->trouble : "connecting");
	}
	if (!model->counts.known) return string_copy("");
	return string_format("today: %lld decision%s, %lld asked, %lld denied", (long long)today->decisions,
			     today->decisions == 1 ? "" : "s", (long long)today->asked, (long long)today->denied);
}
