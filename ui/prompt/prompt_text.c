#include "ui/prompt_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "ui/file_words.h"
#include "ui/flow.h"
#include "ui/human.h"
#include "ui/socket_words.h"

enum {
	LABEL_COLUMNS = 11, /* "  profile  " */
	NAME_LINES = 3,     /* of the name that a target is asked for; past that its middle is cut */
	NAME_COLUMNS = 22,  /* of a process, a profile */
};

static const char link_of_chain[] = " › ";

/* Of "curl (412)" the number, or 0, and the bytes of the name in front of it. */
static long split(const char *process, size_t *ret_size) {
	const char *number = strrchr(process, ' ');
	*ret_size = strlen(process);
	if (!number || number[1] != '(' || strcmp(number + 2 + strspn(number + 2, "0123456789"), ")") != 0) return 0;
	*ret_size = (size_t)(number - process);
	return strtol(number + 2, NULL, 10);
}

/* A name as a link of the chain: it brings no link of its own. */
static void append_link(struct string *out, const char *process) {
	size_t size;
	split(process, &size);
	CLEANUP_FREE char *own = string_copy_bytes(process, size);
	for (char *fake; (fake = strstr(own, "›"));) memset(fake, '?', strlen("›"));
	string_append(out, own);
}

static char *nameless(const struct prompt *prompt) {
	if (prompt->session == 0) return string_copy("a process");
	/* What a session wants at its start (docs/protocol.md, want). */
	if (prompt->bundle > 0 || prompt->denial_lasts)
		return string_format("session %lld, before its tool starts", (long long)prompt->session);
	return string_format("a process in session %lld", (long long)prompt->session);
}

/* A process chooses its own name (prctl(2), PR_SET_NAME), and its parents theirs. */
static long append_chain(struct string *out, const struct prompt *prompt) {
	size_t size;
	for (size_t i = prompt->parents.count; i-- > 0;) {
		append_link(out, prompt->parents.items[i]);
		string_append(out, link_of_chain);
	}
	append_link(out, prompt->process);
	return split(prompt->process, &size);
}

char *prompt_chain(const struct prompt *prompt) {
	struct string out = {0};
	if (!prompt->process) return nameless(prompt);
	const long number = append_chain(&out, prompt);
	if (number > 0) string_appendf(&out, " (%ld)", number);
	return string_steal(&out);
}

char *prompt_asker(const struct prompt *prompt) {
	struct string out = {0};
	if (!prompt->process) return nameless(prompt);
	const long number = append_chain(&out, prompt);
	string_append(&out, " (");
	if (number > 0) string_appendf(&out, "pid %ld, ", number);
	if (prompt->session > 0) string_appendf(&out, "session %lld; ", (long long)prompt->session);
	string_append(&out, "name not verified)");
	return string_steal(&out);
}

/* The whole command begins with the program. */
char *prompt_program(const struct prompt *prompt, size_t columns) {
	const char *command = prompt->command ? prompt->command : "";
	CLEANUP_FREE char *program = string_copy_bytes(command, strcspn(command, " "));
	const char *name = path_name(program);
	return *name ? text_visible_cut(name, columns) : NULL;
}

/* Of what a process calls itself, anything but a plain word stands in quotation marks, so that it can't read on into
 * our sentence. */
char *prompt_who(const struct prompt *prompt) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
	size_t size;
	char *program = prompt_program(prompt, NAME_COLUMNS);
	if (program) return program;
	if (!prompt->process && prompt->session > 0) return string_format("session %lld", (long long)prompt->session);
	if (!prompt->process) return nameless(prompt);
	split(prompt->process, &size);
	CLEANUP_FREE char *name = string_copy_bytes(prompt->process, size);
	if (size > 0 && strspn(name, plain) == size) return text_visible_cut(name, NAME_COLUMNS);
	CLEANUP_FREE char *shown = text_visible_cut(name, NAME_COLUMNS - 2);
	return string_format("«%s»", shown);
}

const char *prompt_scope(const struct prompt *prompt) {
	return prompt->scopes.count > 0 ? prompt->scopes.items[0] : "exact";
}

char *prompt_reach(const struct prompt *prompt) {
	const char *scope = prompt_scope(prompt);
	if (strcmp(scope, "exact") == 0) return NULL;
	CLEANUP_FREE char *folder = prompt->target ? path_parent(prompt->target) : NULL;
	return human_path(strcmp(scope, "folder") == 0 && folder ? folder : scope);
}

enum prompt_risk prompt_risk(const struct prompt *prompt) {
	return prompt->confirm_terminal ? RISK_HIGH : permission_traits(&prompt->permission)->risk;
}

char *prompt_target(const struct prompt *prompt) {
	if (!prompt->target || !prompt->name) return string_copy_or_null(prompt->target);
	if (prompt->permission.kind == PERMISSION_NET_ACCESS)
		return string_format("%s (its first bytes ask for %s, which must be allowed, too)", prompt->target,
				     prompt->name);
	const enum permission_kind kind = prompt->permission.kind;
	const char *words = kind == PERMISSION_PROC_SPAWN ? "which is" : kind == PERMISSION_FS_LINK ? "as" : "for";
	return string_format("%s (%s %s)", prompt->target, words, prompt->name);
}

char *prompt_target_for(const struct prompt *prompt, size_t columns) {
	CLEANUP_FREE char *whole = prompt_target(prompt);
	CLEANUP_FREE char *visible = text_visible(whole ? whole : "");
	return text_columns(visible) <= columns ? STEAL(whole) : string_copy_or_null(prompt->target);
}

static void shorten(char **path) {
	char *whole = *path;
	if (!whole) return;
	*path = human_path(whole);
	free(whole);
}

void prompt_shorten(struct prompt *prompt) {
	shorten(&prompt->target);
	shorten(&prompt->name);
}

void text_labelled(struct string *out, const char *label, const char *bytes, size_t width, size_t lines) {
	if (!bytes) return;
	/* A wide character may leave a column empty at each line's end. */
	CLEANUP_FREE char *visible = text_visible_cut(bytes, (width - LABEL_COLUMNS - 1) * lines);
	string_appendf(out, "  %s%*s", label, LABEL_COLUMNS - 2 - (int)text_columns(label), "");
	flow_append(out, visible, LABEL_COLUMNS, width);
}

char *prompt_place(const struct prompt *prompt) {
	CLEANUP_FREE char *place = human_path(prompt->project);
	CLEANUP_FREE char *profile = text_visible_cut(prompt->profile ? prompt->profile : "?", NAME_COLUMNS);
	return string_format("%s (profile %s)", place, profile);
}

/* "sbx: npm wants to connect to:", in two lines where one is too short. */
static void append_head(struct string *out, const struct prompt *prompt, size_t width) {
	CLEANUP_FREE char *asker = prompt_who(prompt);
	CLEANUP_FREE char *sentence = permission_sentence(&prompt->permission, prompt->description, "");
	CLEANUP_FREE char *what = text_visible_cut(sentence, width - 4);
	size_t end = strlen(what);
	while (end > 0 && what[end - 1] == ' ') what[--end] = '\0';
	CLEANUP_FREE char *who = string_format("sbx: %s wants to", asker);
	bool fits = text_columns(who) + text_columns(what) + 2 <= width;
	string_appendf(out, "%s%s%s:\n", who, fits ? " " : "\n  ", what);
}

/* Or NULL. */
static const char *meaning_of(const struct prompt *prompt) {
	const char *path = prompt->name ? prompt->name : prompt->target;
	if (prompt->permission.kind == PERMISSION_IPC_CONNECT && prompt->target) return socket_meaning(prompt->target);
	if (prompt->permission.kind == PERMISSION_FS_LINK && prompt->target) return file_meaning(prompt->target);
	return prompt->permission.kind == PERMISSION_FS_WRITE && path ? file_meaning(path) : NULL;
}

void prompt_describe(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out) {
	if (width < 40) width = 40;
	CLEANUP_FREE char *processes = prompt_asker(prompt);
	CLEANUP_FREE char *place = prompt_place(prompt);
	CLEANUP_FREE char *left = human_duration(prompt->deadline_ms - now_ms);
	append_head(out, prompt, width);
	bool net = prompt->permission.kind == PERMISSION_NET_ACCESS;
	CLEANUP_FREE char *target = net ? prompt_target_for(prompt, (width - LABEL_COLUMNS - 1) * NAME_LINES)
					: string_copy_or_null(prompt->target);
	text_labelled(out, "target", target ? target : "", width, UNCUT);
	const bool link = prompt->permission.kind == PERMISSION_FS_LINK;
	if (!net) text_labelled(out, link ? "the link" : "for", prompt->name, width, link ? UNCUT : NAME_LINES);
	text_labelled(out, "that is", meaning_of(prompt), width, 2);
	text_labelled(out, "asked by", processes, width, 2);
	text_labelled(out, "project", place, width, 1);
	text_labelled(out, "rule", prompt->why, width, 2);
	text_labelled(out, "reason", prompt->reason, width, 2); /* the tool's own words prove nothing */
	string_appendf(out, "  prompt   %lld, %s left\n", (long long)prompt->id, left);
}
