#include "notice.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "ui/human.h"
#include "ui/prompt_text.h"
#include "ui/socket_words.h"

enum {
	TARGET_COLUMNS = 160, /* of the one question; its middle is cut */
	LISTED_COLUMNS = 80,  /* of one of several */
	WORDS_COLUMNS = 120,
	PROFILE_COLUMNS = 22,
	MISSED_MS = 15 * 1000, /* a summary that asks nothing stays on the screen */
};

void notice_finish(struct notice *notice) {
	free(notice->summary);
	free(notice->body);
	for (size_t i = 0; i < notice->button_count; i++) free(notice->buttons[i].label);
	*notice = (struct notice){0};
}

/* Text */

static void append_escaped(struct string *out, const char *visible, bool markup) {
	static const struct {
		char c;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
	for (const char *p = visible; *p; p++) {
		const char *entity = NULL;
		for (size_t i = 0; markup && i < ARRAY_LENGTH(entities); i++)
			if (entities[i].c == *p) entity = entities[i].entity;
		if (entity)
			string_append(out, entity);
		else
			string_append_char(out, *p);
	}
}

/* "Label: bytes" on a line of its own. */
static void append_line(struct string *out, const char *label, const char *bytes, bool markup) {
	if (!bytes) return;
	CLEANUP_FREE char *visible = text_visible_cut(bytes, WORDS_COLUMNS);
	string_appendf(out, "\n%s: ", label);
	append_escaped(out, visible, markup);
}

static char *profile_name(const struct prompt *prompt) {
	return text_visible_cut(prompt->profile ? prompt->profile : "?", PROFILE_COLUMNS);
}

/* What is asked for, without the target: "connect to". */
static char *what_is_asked(const struct prompt *prompt) {
	CLEANUP_FREE char *description =
		prompt->description ? text_visible_cut(prompt->description, LISTED_COLUMNS) : NULL;
	char *what = permission_sentence(&prompt->permission, description, "");
	for (size_t end = strlen(what); end > 0 && what[end - 1] == ' ';) what[--end] = '\0';
	return what;
}

static char *what_and_target(const struct prompt *prompt) {
	CLEANUP_FREE char *about = prompt_target_for(prompt, LISTED_COLUMNS);
	CLEANUP_FREE char *target = text_visible_cut(about ? about : "", LISTED_COLUMNS);
	CLEANUP_FREE char *description =
		prompt->description ? text_visible_cut(prompt->description, LISTED_COLUMNS) : NULL;
	return permission_sentence(&prompt->permission, description, target);
}

char *notice_line(const struct prompt *prompt) {
	CLEANUP_FREE char *profile = profile_name(prompt);
	CLEANUP_FREE char *what = what_and_target(prompt);
	return string_format("%s: %s", profile, what);
}

/* "58s left, until 14:03:05": the text stays as it is while time goes on. */
static void append_time(struct string *out, const struct prompt *prompt, int64_t now_ms) {
	CLEANUP_FREE char *left = human_duration(prompt->deadline_ms - now_ms);
	CLEANUP_FREE char *until = human_time(prompt->deadline_ms);
	const char *time = strchr(until, ' ');
	string_appendf(out, "%s left, until%s", left, time ? time : " then");
}

static const char *meaning(const struct prompt *prompt) {
	bool socket = prompt->permission.kind == PERMISSION_IPC_CONNECT && prompt->target;
	return socket ? socket_meaning(prompt->target) : NULL;
}

static void append_place(struct string *out, const struct prompt *prompt, bool markup) {
	CLEANUP_FREE char *place = human_path(prompt->project);
	CLEANUP_FREE char *profile = profile_name(prompt);
	CLEANUP_FREE char *visible = text_visible_cut(place, LISTED_COLUMNS);
	string_append(out, "\nProfile ");
	append_escaped(out, profile, markup);
	string_append(out, prompt->project ? ", project " : ", ");
	append_escaped(out, visible, markup);
}

/* How it is answered where there are no buttons. */
static void append_command(struct string *out, const struct prompt *prompt) {
	string_appendf(out, "\n%s: sbx allow %lld · sbx deny %lld",
		       prompt->confirm_terminal ? "Only in a terminal" : "Answer in a terminal", (long long)prompt->id,
		       (long long)prompt->id);
}

static void write_one(const struct prompt *prompt, const struct notice_manner *manner, struct string *out) {
	bool markup = manner->markup;
	CLEANUP_FREE char *about = prompt_target_for(prompt, TARGET_COLUMNS);
	CLEANUP_FREE char *target = text_visible_cut(about ? about : "", TARGET_COLUMNS);
	CLEANUP_FREE char *asker = prompt_asker(prompt);
	CLEANUP_FREE char *covered = prompt_reach(prompt);
	string_append(out, markup ? "<b>" : "");
	append_escaped(out, target, markup);
	string_append(out, markup ? "</b>" : "");
	append_line(out, "That is", meaning(prompt), markup);
	append_line(out, "An allow covers the folder", covered, markup);
	append_line(out, "Asked by", asker, markup);
	append_place(out, prompt, markup);
	append_line(out, "Rule", prompt->why, markup);
	append_line(out, "It says", prompt->reason, markup);
	string_appendf(out, "\nPrompt %lld, ", (long long)prompt->id);
	append_time(out, prompt, manner->now_ms);
	if (!manner->buttons || prompt->confirm_terminal) append_command(out, prompt);
}

/* Of several that are asked by the same, and of the same profile and project, that is said once. */
static bool have_in_common(const struct notice_questions *questions, char *(*text)(const struct prompt *)) {
	CLEANUP_FREE char *first = text(questions->prompts[0]);
	for (size_t i = 1; i < questions->count; i++) {
		CLEANUP_FREE char *other = text(questions->prompts[i]);
		if (strcmp(first, other) != 0) return false;
	}
	return true;
}

static char *subject_of(const struct prompt *prompt) {
	return string_format("%s\n%s", prompt->profile ? prompt->profile : "", prompt->project ? prompt->project : "");
}

static void write_listed(const struct prompt *prompt, bool common_place, bool common_asker, bool markup,
			 struct string *out) {
	CLEANUP_FREE char *line = common_place ? what_and_target(prompt) : notice_line(prompt);
	CLEANUP_FREE char *asker = prompt_asker(prompt);
	CLEANUP_FREE char *covered = prompt_reach(prompt);
	string_append(out, out->size > 0 ? "\n• " : "• ");
	append_escaped(out, line, markup);
	if (covered) {
		CLEANUP_FREE char *visible = text_visible_cut(covered, LISTED_COLUMNS);
		string_append(out, " (with the folder ");
		append_escaped(out, visible, markup);
		string_append_char(out, ')');
	}
	if (!common_asker) {
		CLEANUP_FREE char *visible = text_visible_cut(asker, LISTED_COLUMNS);
		string_append(out, ", asked by ");
		append_escaped(out, visible, markup);
	}
	string_appendf(out, " [%lld]", (long long)prompt->id);
}

static void write_several(const struct notice_questions *questions, const struct notice_manner *manner,
			  struct string *out) {
	const struct prompt *first = questions->prompts[0], *soonest = first;
	bool common_place = have_in_common(questions, subject_of);
	bool common_asker = have_in_common(questions, prompt_asker);
	for (size_t i = 0; i < questions->count; i++) {
		const struct prompt *prompt = questions->prompts[i];
		write_listed(prompt, common_place, common_asker, manner->markup, out);
		if (prompt->deadline_ms < soonest->deadline_ms) soonest = prompt;
	}
	CLEANUP_FREE char *asker = prompt_asker(first);
	if (common_asker) append_line(out, "Asked by", asker, manner->markup);
	if (common_place) append_place(out, first, manner->markup);
	string_append_char(out, '\n');
	append_time(out, soonest, manner->now_ms);
	string_appendf(out, "\n%s: sbx allow NUMBER · sbx deny NUMBER",
		       first->confirm_terminal ? "Only in a terminal"
		       : manner->buttons       ? "One by one"
					       : "Answer in a terminal");
}

/* Buttons */

/* "1 hour", as a button has it. */
static char *lifetime_words(int64_t ms) {
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = {{INT64_C(24) * 3600 * 1000, "day"}, {3600 * 1000, "hour"}, {60 * 1000, "minute"}};
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		int64_t count = ms / units[i].ms;
		if (count > 0 && ms % units[i].ms == 0)
			return string_format("%lld %s%s", (long long)count, units[i].unit, count == 1 ? "" : "s");
	}
	return human_duration(ms);
}

static void add_button(struct notice *notice, const struct notice_button *button) {
	assert(notice->button_count < NOTICE_BUTTONS);
	notice->buttons[notice->button_count++] = *button;
}

static void add_buttons(const struct notice_questions *questions, struct notice *notice) {
	const char *all = questions->count > 1 ? " all" : "";
	int64_t lifetime_ms = questions->prompts[0]->lifetime_ms;
	for (size_t i = 1; i < questions->count; i++)
		if (questions->prompts[i]->lifetime_ms < lifetime_ms) lifetime_ms = questions->prompts[i]->lifetime_ms;
	CLEANUP_FREE char *lifetime = lifetime_words(lifetime_ms);
	const struct notice_button deny = {"deny", string_format("Deny%s", all), EFFECT_DENY, LIFETIME_ONCE, 0};
	add_button(notice, &deny);
	if (permission_is_ask(&questions->prompts[0]->permission)) { /* no grant comes of it */
		const struct notice_button go_on = {"allow", string_copy("Let it ask on"), EFFECT_ALLOW, LIFETIME_ONCE,
						    0};
		add_button(notice, &go_on);
		return;
	}
	const struct notice_button allow = {"allow", string_format("Allow%s %s", all, lifetime), EFFECT_ALLOW,
					    LIFETIME_UNTIL, lifetime_ms};
	add_button(notice, &allow);
	if (questions->count > 1) return;
	const struct notice_button always = {"always", string_copy("Always here"), EFFECT_ALLOW, LIFETIME_ALWAYS, 0};
	add_button(notice, &always);
}

char *notice_key(const struct notice_button *button, const char *token) {
	return string_format("%s-%s", button->verb, token);
}

const struct notice_button *notice_find(const struct notice *notice, const char *token, const char *key) {
	for (size_t i = 0; i < notice->button_count; i++) {
		CLEANUP_FREE char *expected = notice_key(&notice->buttons[i], token);
		if (strcmp(expected, key) == 0) return &notice->buttons[i];
	}
	return NULL;
}

/* The whole */

static enum prompt_risk highest_risk(const struct notice_questions *questions) {
	enum prompt_risk highest = RISK_LOW;
	for (size_t i = 0; i < questions->count; i++) {
		enum prompt_risk risk = prompt_risk(questions->prompts[i]);
		if (risk > highest) highest = risk;
	}
	return highest;
}

static char *summary_of(const struct notice_questions *questions) {
	CLEANUP_FREE char *profile = profile_name(questions->prompts[0]);
	CLEANUP_FREE char *what = what_is_asked(questions->prompts[0]);
	if (questions->count == 1) return string_format("sbx: %s wants to %s …", profile, what);
	if (!have_in_common(questions, subject_of)) return string_format("sbx: %zu questions wait", questions->count);
	return string_format("sbx: %s asks for %zu things", profile, questions->count);
}

/* A tool is held up, so a question is never of low urgency: GNOME Shell shows such only in its list. */
void notice_ask(const struct notice_questions *questions, const struct notice_manner *manner, struct notice *ret) {
	static const struct {
		const char *icon;
		enum notice_urgency urgency;
	} looks[] = {[RISK_LOW] = {"dialog-question", URGENCY_NORMAL},
		     [RISK_NORMAL] = {"dialog-question", URGENCY_NORMAL},
		     [RISK_HIGH] = {"dialog-warning", URGENCY_CRITICAL}};
	const struct prompt *first = questions->prompts[0];
	enum prompt_risk risk = highest_risk(questions);
	CLEANUP_STRING struct string body = {0};
	if (questions->count == 1)
		write_one(first, manner, &body);
	else
		write_several(questions, manner, &body);
	if (questions->terminal_only > 0)
		string_appendf(&body, "\nNot among these: %zu more, for a terminal only: sbx prompts",
			       questions->terminal_only);
	append_line(&body, "The answer could not be given", questions->note, manner->markup);
	int64_t latest_ms = first->deadline_ms;
	for (size_t i = 1; i < questions->count; i++)
		if (questions->prompts[i]->deadline_ms > latest_ms) latest_ms = questions->prompts[i]->deadline_ms;
	*ret = (struct notice){.summary = summary_of(questions),
			       .body = string_steal(&body),
			       .icon = looks[risk].icon,
			       .urgency = looks[risk].urgency,
			       .expire_ms = latest_ms > manner->now_ms ? latest_ms - manner->now_ms : 1};
	if (manner->buttons && !first->confirm_terminal) add_buttons(questions, ret);
}

void notice_more(size_t count, struct notice *ret) {
	*ret = (struct notice){
		.summary = string_format("sbx: %zu more question%s", count, count == 1 ? " waits" : "s wait"),
		.body = string_copy("They are shown here as the others are answered. In a terminal: sbx prompts"),
		.icon = "dialog-question",
		.urgency = URGENCY_NORMAL,
		.transient = true};
}

void notice_missed(size_t count, const struct strings *lines, const struct notice_manner *manner, struct notice *ret) {
	CLEANUP_STRING struct string body = {0};
	string_append(&body, "Nobody answered, so they were denied, this once:");
	for (size_t i = 0; i < lines->count; i++) {
		string_append(&body, "\n• ");
		append_escaped(&body, lines->items[i], manner->markup);
	}
	if (count > lines->count) string_appendf(&body, "\nand %zu more", count - lines->count);
	string_append(&body, "\nAll of them: sbx history --since 1d --verdict deny");
	*ret = (struct notice){.summary = string_format("sbx: %zu question%s expired while you were not disturbed",
							count, count == 1 ? "" : "s"),
			       .body = string_steal(&body),
			       .icon = "dialog-information",
			       .urgency = URGENCY_LOW,
			       .expire_ms = MISSED_MS};
}
