#include "prompt_answers.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "ui/flow.h"
#include "ui/human.h"
#include "ui/prompt_text.h"

enum {
	WORD_COLUMNS = 13,  /* "  always k7  " */
	NUMBER_COLUMNS = 6, /* "  12  " */
	FRAME_LINES = 13,   /* of a question about several are not its list */
	COMMAND_INDENT = 2,
	MEANING_INDENT = 6, /* below its command */
};

static void append_word(struct string *out, const char *word, const char *meaning, size_t width) {
	string_appendf(out, "  %-*s", WORD_COLUMNS - 2, word);
	flow_append(out, meaning, WORD_COLUMNS, width);
}

/* The target with the folder that an allow covers, where it covers one. With less room than `columns` the middle of
 * each is cut, never the words that an allow covers a folder. Freed by the caller. */
static char *words_of_thing(const struct prompt *prompt, size_t columns) {
	CLEANUP_FREE char *place = prompt_reach(prompt), *more = NULL;
	if (place) {
		CLEANUP_FREE char *folder = text_visible_cut(place, columns / 2 - strlen(" (and all in )"));
		more = string_format(" (and all in %s)", folder);
		columns -= text_columns(more);
	}
	CLEANUP_FREE char *verb = permission_sentence(&prompt->permission, prompt->description, "");
	const size_t said = text_columns(verb);
	CLEANUP_FREE char *about = prompt_target_for(prompt, columns > said ? columns - said : 0);
	CLEANUP_FREE char *sentence = permission_sentence(&prompt->permission, prompt->description, about ? about : "");
	CLEANUP_FREE char *shown = text_visible_cut(sentence, columns);
	return string_format("%s%s", shown, more ? more : "");
}

static bool has_whole(const char *words, const char *bytes) {
	CLEANUP_FREE char *visible = text_visible(bytes ? bytes : "");
	return strstr(words, visible);
}

/* False: the middle of what an allow is about is cut. */
static bool append_thing(struct string *out, size_t number, const struct prompt *prompt, size_t width, size_t lines) {
	CLEANUP_FREE char *words = words_of_thing(prompt, (width - NUMBER_COLUMNS - 1) * lines);
	CLEANUP_FREE char *place = prompt_reach(prompt);
	string_appendf(out, "  %2zu  ", number);
	flow_append(out, words, NUMBER_COLUMNS, width);
	return has_whole(words, prompt->target) && has_whole(words, place);
}

static bool asked_by_one(const struct prompt *prompts, size_t count) {
	for (size_t i = 1; i < count; i++)
		if (!string_equal(prompts[i].process, prompts[0].process)) return false;
	return prompts[0].process;
}

bool prompt_answers_things(const struct prompt *prompts, size_t count, int64_t now_ms, size_t width, size_t rows,
			   struct string *out) {
	const bool by_one = asked_by_one(prompts, count);
	CLEANUP_FREE char *who = prompt_who(prompts);
	CLEANUP_FREE char *place = prompt_place(prompts);
	CLEANUP_FREE char *asker = prompt_asker(prompts);
	const size_t lines = 2 * count + FRAME_LINES <= rows ? 2 : 1;
	int64_t deadline_ms = prompts->deadline_ms;
	bool whole = true;
	string_appendf(out, "sbx: %s wants %zu things:\n", who, count);
	for (size_t i = 0; i < count; i++) {
		whole &= append_thing(out, i + 1, &prompts[i], width, lines);
		if (prompts[i].deadline_ms < deadline_ms) deadline_ms = prompts[i].deadline_ms;
	}
	CLEANUP_FREE char *left = human_duration(deadline_ms - now_ms);
	if (by_one) text_labelled(out, "asked by", asker, width, 2);
	text_labelled(out, "project", place, width, 1);
	string_appendf(out, "  prompts  %lld to %lld, %s left\n", (long long)prompts[0].id,
		       (long long)prompts[count - 1].id, left);
	return whole;
}

bool prompt_answers_last(const struct prompt *prompts, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (!prompts[i].denial_lasts) return false;
	return count > 0;
}

/* What a denial without other words comes to. */
static const char *denial_of(const struct prompt *prompt) {
	if (prompt->denial_lasts) return "until this run ends";
	return prompt->session > 0 ? "this call fails; the third time it is denied until the run ends" : "this time";
}

size_t prompt_answers_rows(const char *text, size_t width) {
	size_t rows = 0, columns = 0;
	for (; *text; text++) {
		const unsigned char byte = (unsigned char)*text;
		if (byte == '\n') {
			rows += width > 0 && columns > width ? (columns + width - 1) / width : 1;
			columns = 0;
		} else if ((byte & 0xc0) != 0x80) {
			columns += byte < 0x80 ? 1 : 2;
		}
	}
	return rows;
}

static void append_indented(struct string *out, const char *bytes, size_t width, size_t columns) {
	CLEANUP_FREE char *shown = text_visible_cut(bytes, columns);
	string_append(out, "  ");
	flow_append(out, shown, 2, width);
}

static void append_short(const struct prompt *prompt, size_t width, size_t columns, struct string *out) {
	CLEANUP_FREE char *who = prompt_who(prompt);
	CLEANUP_FREE char *what = permission_sentence(&prompt->permission, prompt->description, "");
	CLEANUP_FREE char *shown = text_visible(what);
	for (size_t end = strlen(shown); end > 0 && shown[end - 1] == ' ';) shown[--end] = '\0';
	CLEANUP_FREE char *target = prompt_target(prompt);
	CLEANUP_FREE char *place = prompt_reach(prompt);
	string_append(out, "sbx: ");
	CLEANUP_FREE char *head = string_format("%s wants to %s:", who, shown);
	flow_append(out, head, strlen("sbx: "), width);
	append_indented(out, target ? target : "", width, columns);
	if (!place) return;
	flow_append(out, "Allowing covers the whole folder:", 0, width);
	append_indented(out, place, width, columns);
}

bool prompt_answers_short(const struct prompt *prompt, size_t width, size_t lines, struct string *out) {
	CLEANUP_STRING struct string whole = {0}, cut = {0};
	append_short(prompt, width, SIZE_MAX, &whole);
	const bool fits = prompt_answers_rows(whole.data, width) <= lines;
	if (!fits) append_short(prompt, width, width - 3, &cut);
	string_append(out, fits ? whole.data : cut.data);
	return fits;
}

void prompt_answers_words(const struct prompt *prompts, size_t count, const char *code, size_t width,
			  struct string *out) {
	const bool one = count == 1;
	CLEANUP_FREE char *lifetime = human_duration(prompts->lifetime_ms);
	CLEANUP_FREE char *allow = string_format("allow %s", code);
	CLEANUP_FREE char *always = string_format("always %s", code);
	CLEANUP_FREE char *for_a_time =
		string_format("%sfor %s, in this project", one ? "" : "all of them, ", lifetime);
	flow_append(out, "Type an answer and press Enter (? needs no Enter):", 0, width);
	const bool lasts = prompt_answers_last(prompts, count);
	CLEANUP_FREE char *denial = string_format("%s %s (also Ctrl-C)", one ? "not" : "none of them,",
						  lasts ? "in this run" : "this time");
	append_word(out, "deny", denial, width);
	append_word(out, allow, for_a_time, width);
	append_word(out, always,
		    one ? "always, in this project (until you revoke it)"
			: "all of them, always, in this project (until you revoke them)",
		    width);
	if (!one) append_word(out, "choose", "one after the other", width);
	append_word(out, "?", one ? "details, and other answers" : "each of them in full", width);
	CLEANUP_FREE char *place = one ? prompt_reach(prompts) : NULL;
	if (!place) return;
	flow_append(out, "Allowing covers the whole folder, because saving may replace the file:", 0, width);
	append_indented(out, place, width, SIZE_MAX);
	string_appendf(out, "Only the file: sbx allow %lld\n", (long long)prompts->id);
}

/* In a comment, which not every shell takes for one when it is pasted: nothing in it is more than a word to any. */
static char *place_word(const char *path, size_t columns) {
	CLEANUP_FREE char *place = human_path(path);
	CLEANUP_FREE char *shown = text_visible_cut(place, columns);
	const bool home = shown[0] == '~';
	CLEANUP_FREE char *rest = shown[home] ? text_shell_word(shown + home) : string_copy("");
	return string_format("%s%s", home ? "~" : "", rest);
}

/* The broker's words for a folder with all that is in it. */
static bool is_of_folder(const struct prompt *prompt) {
	return permission_is_of_files(&prompt->permission) && prompt->description &&
	       string_ends(prompt->description, "everything in");
}

static char *scope_meaning(const struct prompt *prompt, const char *scope, size_t columns) {
	const bool folder = string_equal(scope, "folder");
	if (string_equal(scope, "host")) return string_copy("any port of the host");
	if (string_equal(scope, "domain")) return string_copy("the domain with all its names");
	if (string_equal(scope, prompt->name)) return string_copy("this one alone");
	if (string_equal(scope, "exact") && !is_of_folder(prompt)) return string_copy("the target alone");
	if (!folder && !string_equal(scope, "exact")) return string_copy("everything in it");
	CLEANUP_FREE char *path = folder ? path_parent(prompt->target) : string_copy(prompt->target);
	CLEANUP_FREE char *place = place_word(path, columns);
	return string_format("%s %s", folder ? "its folder" : "everything in", place);
}

/* Whole, however long, and the meaning as a comment, in its own line where there is no room: to be pasted as it is. */
static void append_command(struct string *out, const char *command, const char *meaning, size_t width) {
	const bool in_one_line =
		COMMAND_INDENT + text_columns(command) + text_columns(" # ") + text_columns(meaning) <= width;
	if (in_one_line)
		string_appendf(out, "%*s%s # %s\n", COMMAND_INDENT, "", command, meaning);
	else
		string_appendf(out, "%*s%s\n%*s# %s\n", COMMAND_INDENT, "", command, MEANING_INDENT, "", meaning);
}

static void append_scope(struct string *out, const struct prompt *prompt, const char *scope, size_t width) {
	CLEANUP_FREE char *word = text_shell_word(scope);
	CLEANUP_FREE char *command = string_format("sbx allow %lld --scope %s", (long long)prompt->id, word);
	CLEANUP_FREE char *meaning = scope_meaning(prompt, scope, width / 2);
	append_command(out, command, meaning, width);
}

static void append_commands(struct string *out, const struct prompt *prompt, size_t width) {
	string_append(out, "Or in another terminal:\n");
	for (size_t i = 0; i < prompt->scopes.count; i++) append_scope(out, prompt, prompt->scopes.items[i], width);
	static const struct {
		const char *verb, *option, *meaning;
	} commands[] = {{"allow", "--once", "this one call"}, /* the first: not of a folder */
			{"allow", "--session", "until the sandbox ends"},
			{"allow", "--ttl 10m", "or any other time"},
			{"deny", "--always", "and ask no more"}};
	for (size_t i = prompt->opens_folder ? 1 : 0; i < ARRAY_LENGTH(commands); i++) {
		if (prompt->session == 0 && strcmp(commands[i].option, "--session") == 0) continue;
		CLEANUP_FREE char *command =
			string_format("sbx %s %lld %s", commands[i].verb, (long long)prompt->id, commands[i].option);
		append_command(out, command, commands[i].meaning, width);
	}
}

void prompt_answers_details(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out) {
	CLEANUP_FREE char *target = prompt_target(prompt);
	CLEANUP_FREE char *place = prompt_reach(prompt);
	CLEANUP_FREE char *covers = place ? string_copy(place) : string_copy_or_null(prompt->target);
	CLEANUP_FREE char *left = human_duration(prompt->deadline_ms - now_ms);
	CLEANUP_FREE char *until = human_time(now_ms + prompt->lifetime_ms);
	CLEANUP_FREE char *allow = string_format("until %s", until);
	string_appendf(out, "\nPrompt %lld, %s left:\n", (long long)prompt->id, left);
	text_labelled(out, "asks for", prompt->permission.name, width, UNCUT);
	text_labelled(out, "meaning", prompt->description, width, UNCUT);
	text_labelled(out, "target", target, width, UNCUT);
	text_labelled(out, "rule", prompt->why, width, UNCUT);
	if (prompt->confirm_terminal) text_labelled(out, "confirm", "only in a terminal", width, UNCUT);
	text_labelled(out, "process", prompt->process, width, UNCUT);
	for (size_t i = 0; i < prompt->parents.count; i++)
		text_labelled(out, i == 0 ? "below" : "", prompt->parents.items[i], width, UNCUT);
	text_labelled(out, "reason", prompt->reason, width, UNCUT);
	text_labelled(out, "profile", prompt->profile, width, UNCUT);
	text_labelled(out, "project", prompt->project, width, UNCUT);
	flow_append(out, "What you answer holds for this profile in this project:", 0, width);
	text_labelled(out, "deny", denial_of(prompt), width, UNCUT);
	text_labelled(out, "allow", allow, width, UNCUT);
	text_labelled(out, "always", "until you revoke it", width, UNCUT);
	text_labelled(out, "covers", covers, width, UNCUT);
	append_commands(out, prompt, width);
}
