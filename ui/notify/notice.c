#include "notice.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "lines.h"
#include "ui/human.h"
#include "ui/prompt_text.h"
#include "ui/socket_words.h"
#include "wish.h"

enum {
	TARGET_LINES = 3, /* of the one question; what is longer loses its head */
	LISTED_COLUMNS = 80,
	WORDS_COLUMNS = 120,
	COMMAND_COLUMNS = 20,
	PROFILE_COLUMNS = 22,
	MISSED_MS = 15 * 1000, /* a summary that asks nothing stays on the screen */
};

static const char word_joiner[] = "\xe2\x81\xa0"; /* U+2060 */

void notice_finish(struct notice *notice) {
	free(notice->summary);
	free(notice->body);
	for (size_t i = 0; i < notice->button_count; i++) free(notice->buttons[i].label);
	*notice = (struct notice){0};
}

/* Text */

/* GNOME Shell makes a link of "://", "www." and "xx.yy/" in a body (findUrls, misc/util.js), which opens the browser
 * with what a tool has written into it: a way out. An invisible sign that no line ends at is put in front of this
 * letter, which such matchers look for. */
static bool could_link(const char *visible, const char *letter) {
	if (letter == visible) return false;
	if (*letter == '.') return letter[1] && !strchr(" \n", letter[1]) && !strchr(" \n/", letter[-1]);
	return *letter == '/' && letter[-1] == ':';
}

static void append_escaped(struct string *out, const char *visible, bool markup) {
	static const struct {
		char c;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
	for (const char *p = visible; *p; p++) {
		const char *entity = NULL;
		for (size_t i = 0; markup && i < ARRAY_LENGTH(entities); i++)
			if (entities[i].c == *p) entity = entities[i].entity;
		if (could_link(visible, p)) string_append(out, word_joiner);
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

char *notice_line(const struct prompt *prompt) {
	CLEANUP_FREE char *who = wish_who(prompt);
	CLEANUP_FREE char *listed = wish_listed(prompt, true);
	return string_format("%s: %s", who, listed);
}

/* "14:03:05" */
static const char *time_of_day(const char *time) {
	const char *space = strchr(time, ' ');
	return space ? space + 1 : time;
}

/* What they have in common is said once. */
static char *in_common(const struct notice_questions *questions, char *(*text)(const struct prompt *)) {
	CLEANUP_FREE char *first = text(questions->prompts[0]);
	for (size_t i = 1; i < questions->count; i++) {
		CLEANUP_FREE char *other = text(questions->prompts[i]);
		if (strcmp(first, other) != 0) return NULL;
	}
	return STEAL(first);
}

/* Without the folder of a program that was named by its whole path. */
static char *command_of(const struct prompt *prompt) {
	const char *command = prompt->command ? prompt->command : "";
	CLEANUP_FREE char *program = string_copy_bytes(command, strcspn(command, " "));
	CLEANUP_FREE char *typed = human_command(*program == '/' ? command + (path_name(program) - program) : command);
	CLEANUP_FREE char *visible = text_visible(typed);
	return lines_head(visible, COMMAND_COLUMNS);
}

/* Whom a grant is for: profile and project. */
static char *subject_of(const struct prompt *prompt) {
	return string_format("%s\n%s", prompt->profile ? prompt->profile : "", prompt->project ? prompt->project : "");
}

static char *project_of(const struct prompt *prompt) {
	CLEANUP_FREE char *path = human_path(prompt->project);
	CLEANUP_FREE char *visible = text_visible(path);
	char *tail = lines_tail("", visible, path_name(visible), "/", 1);
	return tail ? tail : STEAL(visible);
}

/* "npm install · ~/shop · waits until 14:03:05": the text stays as it is while time goes on. */
static void append_place(struct string *out, const struct notice_questions *questions) {
	const struct prompt *soonest = questions->prompts[0];
	for (size_t i = 1; i < questions->count; i++)
		if (questions->prompts[i]->deadline_ms < soonest->deadline_ms) soonest = questions->prompts[i];
	CLEANUP_FREE char *command = in_common(questions, command_of);
	CLEANUP_FREE char *project = in_common(questions, project_of);
	CLEANUP_FREE char *until = human_time(soonest->deadline_ms);
	if (command && *command) string_appendf(out, "%s · ", command);
	if (project) string_appendf(out, "%s · ", project);
	string_appendf(out, "waits until %s", time_of_day(until));
}

static const char *meaning(const struct prompt *prompt) {
	bool socket = prompt->permission.kind == PERMISSION_IPC_CONNECT && prompt->target;
	return socket ? socket_meaning(prompt->target) : NULL;
}

/* The essentials: what is seen at a glance, in visible text that isn't escaped yet. */
struct glance {
	struct string head; /* ends with '\n', or empty: what became of an answer, the command in place of buttons */
	struct string target;
	struct string rest; /* begins with '\n' */
	bool whole;         /* all that an allow covers is in it, in the lines that are seen */
};

static void glance_finish(struct glance *glance) {
	string_finish(&glance->head);
	string_finish(&glance->target);
	string_finish(&glance->rest);
}

static size_t glance_lines(const struct glance *glance) {
	CLEANUP_FREE char *all = string_format("%s%s%s", glance->head.data ? glance->head.data : "",
					       glance->target.data ? glance->target.data : "",
					       glance->rest.data ? glance->rest.data : "");
	return lines_of(all);
}

static void write_head(const struct notice_questions *questions, const struct notice_manner *manner,
		       struct string *out) {
	const struct prompt *first = questions->prompts[0];
	if (questions->note) {
		CLEANUP_FREE char *visible = text_visible_cut(questions->note, WORDS_COLUMNS);
		string_appendf(out, "%s\n", visible);
	}
	if (manner->buttons && !first->confirm_terminal) return;
	if (questions->count == 1)
		string_appendf(out, "Answer in a terminal: sbx allow %lld or sbx deny %lld\n", (long long)first->id,
			       (long long)first->id);
	else
		string_append(out, "Answer in a terminal: sbx allow NUMBER or sbx deny NUMBER\n");
}

static void glance_at_one(const struct notice_questions *questions, struct glance *ret) {
	const struct prompt *prompt = questions->prompts[0];
	CLEANUP_FREE char *reach = wish_reach(prompt);
	if (reach) string_appendf(&ret->rest, "\n%s", reach);
	string_append_char(&ret->rest, '\n');
	append_place(&ret->rest, questions);
	const size_t others = glance_lines(ret) - 1; /* an empty line stands for the target */
	const size_t room = others < LINES_SHOWN ? LINES_SHOWN - others : 1;
	CLEANUP_FREE char *target = wish_target(prompt, room < TARGET_LINES ? room : TARGET_LINES, &ret->whole);
	string_append(&ret->target, target);
	ret->whole = ret->whole && glance_lines(ret) <= LINES_SHOWN;
}

static char *list(const struct notice_questions *questions, bool common_subject, bool numbered, bool brief) {
	struct string out = {0};
	for (size_t i = 0; i < questions->count; i++) {
		const struct prompt *prompt = questions->prompts[i];
		CLEANUP_FREE char *line = common_subject ? wish_listed(prompt, brief) : notice_line(prompt);
		string_appendf(&out, "%s• %s", i > 0 ? "\n" : "", line);
		if (numbered) string_appendf(&out, " [%lld]", (long long)prompt->id);
	}
	return string_steal(&out);
}

/* One click for what is for several profiles or projects would be about more than a glance tells. */
static void glance_at_several(const struct notice_questions *questions, const struct notice_manner *manner,
			      struct glance *ret) {
	CLEANUP_FREE char *subject = in_common(questions, subject_of);
	const bool numbered = !manner->buttons || questions->prompts[0]->confirm_terminal;
	string_append_char(&ret->rest, '\n');
	append_place(&ret->rest, questions);
	CLEANUP_FREE char *whole = list(questions, subject, numbered, false);
	CLEANUP_FREE char *brief = list(questions, subject, numbered, true);
	ret->whole = subject && lines_of(whole) + glance_lines(ret) - 1 <= LINES_SHOWN;
	string_append(&ret->target, ret->whole ? whole : brief);
}

/* The details: what may be cut without harm */

static void append_name(struct string *out, const struct prompt *prompt, bool markup) {
	const char *label = permission_traits(&prompt->permission)->named;
	if (label) append_line(out, label, prompt->name, markup);
}

static void append_subject(struct string *out, const struct prompt *prompt, bool markup) {
	CLEANUP_FREE char *path = human_path(prompt->project);
	CLEANUP_FREE char *visible = text_visible_cut(path, LISTED_COLUMNS);
	CLEANUP_FREE char *profile = text_visible_cut(prompt->profile ? prompt->profile : "?", PROFILE_COLUMNS);
	string_append(out, "\nProfile ");
	append_escaped(out, profile, markup);
	string_append(out, prompt->project ? ", project " : ", ");
	append_escaped(out, visible, markup);
}

static void detail_one(const struct prompt *prompt, bool markup, struct string *out) {
	CLEANUP_FREE char *asker = prompt_asker(prompt);
	append_line(out, "That is", meaning(prompt), markup);
	append_name(out, prompt, markup);
	append_line(out, "Asked by", asker, markup);
	append_subject(out, prompt, markup);
	append_line(out, "Rule", prompt->why, markup);
	append_line(out, "Reason, in its own words", prompt->reason, markup);
	string_appendf(out, "\nPrompt %lld", (long long)prompt->id);
}

static void detail_several(const struct notice_questions *questions, bool markup, struct string *out) {
	CLEANUP_FREE char *asker = in_common(questions, prompt_asker);
	CLEANUP_FREE char *subject = in_common(questions, subject_of);
	append_line(out, "Asked by", asker, markup);
	if (subject) append_subject(out, questions->prompts[0], markup);
	string_append(out, "\nPrompts");
	for (size_t i = 0; i < questions->count; i++)
		string_appendf(out, "%s %lld", i > 0 ? "," : "", (long long)questions->prompts[i]->id);
	if (questions->terminal_only > 0)
		string_appendf(out, "\nNot among these: %zu more, for a terminal only: sbx prompts",
			       questions->terminal_only);
}

static char *body_of(const struct notice_questions *questions, const struct glance *glance, bool markup) {
	const bool bold = markup && questions->count == 1;
	struct string out = {0};
	append_escaped(&out, glance->head.data ? glance->head.data : "", markup);
	string_append(&out, bold ? "<b>" : "");
	append_escaped(&out, glance->target.data, markup);
	string_append(&out, bold ? "</b>" : "");
	append_escaped(&out, glance->rest.data, markup);
	if (questions->count == 1)
		detail_one(questions->prompts[0], markup, &out);
	else
		detail_several(questions, markup, &out);
	return string_steal(&out);
}

/* Buttons */

/* "1 hour", as a button has it. */
static char *lifetime_words(int64_t ms) {
	static const struct {
		int64_t ms;
		const char *unit, *plural;
	} units[] = {
		{INT64_C(24) * 3600 * 1000, "day", "days"}, {3600 * 1000, "hour", "hours"}, {60 * 1000, "min", "min"}};
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		const int64_t count = ms / units[i].ms;
		if (count > 0 && ms % units[i].ms == 0)
			return string_format("%lld %s", (long long)count, count == 1 ? units[i].unit : units[i].plural);
	}
	return human_duration(ms);
}

static void add_button(struct notice *notice, const struct notice_button *button) {
	assert(notice->button_count < NOTICE_BUTTONS);
	notice->buttons[notice->button_count++] = *button;
}

static int64_t shortest_lifetime(const struct notice_questions *questions) {
	int64_t shortest_ms = questions->prompts[0]->lifetime_ms;
	for (size_t i = 1; i < questions->count; i++)
		if (questions->prompts[i]->lifetime_ms < shortest_ms) shortest_ms = questions->prompts[i]->lifetime_ms;
	return shortest_ms;
}

/* What is allowed and for how long, so that each label says what its button gives. */
static void add_allowing(const struct notice_questions *questions, bool narrow, struct notice *notice) {
	const struct prompt *first = questions->prompts[0];
	const int64_t lifetime_ms = shortest_lifetime(questions);
	CLEANUP_FREE char *lifetime = lifetime_words(lifetime_ms);
	CLEANUP_FREE char *gives = questions->count > 1 ? string_copy("all") : wish_gives(first);
	add_button(notice, &(struct notice_button){.verb = "allow",
						   .label = string_format("Allow %s %s", gives, lifetime),
						   .effect = EFFECT_ALLOW,
						   .lifetime = LIFETIME_UNTIL,
						   .ttl_ms = lifetime_ms});
	if (questions->count > 1 || narrow) return;
	add_button(notice, &(struct notice_button){.verb = "always",
						   .label = string_copy(first->project ? "Always, in this project"
										       : "Always, anywhere"),
						   .effect = EFFECT_ALLOW,
						   .lifetime = LIFETIME_ALWAYS});
}

/* `whole`: all that an allow would cover is seen. */
static void add_buttons(const struct notice_questions *questions, bool whole, bool narrow, struct notice *notice) {
	add_button(notice, &(struct notice_button){.verb = "deny",
						   .label = string_copy(questions->count > 1 ? "Deny all" : "Deny"),
						   .effect = EFFECT_DENY,
						   .lifetime = LIFETIME_ONCE});
	if (!whole)
		add_button(notice,
			   &(struct notice_button){.verb = "review", .label = string_copy("Review"), .reviews = true});
	else if (permission_is_ask(&questions->prompts[0]->permission)) /* no grant comes of it */
		add_button(notice, &(struct notice_button){.verb = "allow",
							   .label = string_copy("Let it ask on"),
							   .effect = EFFECT_ALLOW,
							   .lifetime = LIFETIME_ONCE});
	else
		add_allowing(questions, narrow, notice);
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
	CLEANUP_FREE char *who = in_common(questions, wish_who);
	CLEANUP_FREE char *what = wish_what(questions->prompts[0]);
	if (questions->count == 1) return string_format("%s wants to %s", who, what);
	if (!who) return string_format("%zu questions of sandboxes", questions->count);
	return string_format("%s wants %zu things", who, questions->count);
}

/* A held call is critical: GNOME Shell shows the buttons of nothing else, and takes its banner down after seconds. The
 * summary of a flood holds nothing up. */
void notice_ask(const struct notice_questions *questions, const struct notice_manner *manner, struct notice *ret) {
	static const char *const icons[] = {[RISK_LOW] = "sbx", [RISK_NORMAL] = "sbx", [RISK_HIGH] = "dialog-warning"};
	const struct prompt *first = questions->prompts[0];
	__attribute__((cleanup(glance_finish))) struct glance glance = {0};
	write_head(questions, manner, &glance.head);
	if (questions->count == 1)
		glance_at_one(questions, &glance);
	else
		glance_at_several(questions, manner, &glance);
	int64_t latest_ms = first->deadline_ms;
	for (size_t i = 1; i < questions->count; i++)
		if (questions->prompts[i]->deadline_ms > latest_ms) latest_ms = questions->prompts[i]->deadline_ms;
	*ret = (struct notice){.summary = summary_of(questions),
			       .body = body_of(questions, &glance, manner->markup),
			       .icon = icons[highest_risk(questions)],
			       .urgency = permission_is_ask(&first->permission) ? URGENCY_NORMAL : URGENCY_CRITICAL,
			       .expire_ms = latest_ms > manner->now_ms ? latest_ms - manner->now_ms : 1};
	if (manner->buttons && !first->confirm_terminal) add_buttons(questions, glance.whole, manner->narrow, ret);
}

void notice_more(size_t count, struct notice *ret) {
	*ret = (struct notice){
		.summary = string_format("sbx: %zu more question%s", count, count == 1 ? " waits" : "s wait"),
		.body = string_copy("They are shown here as the others are answered. In a terminal: sbx prompts"),
		.icon = "sbx",
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
