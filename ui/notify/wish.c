#include "wish.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "lines.h"
#include "ui/human.h"
#include "ui/prompt_text.h"

enum {
	WHO_COLUMNS = 16,
	WHAT_COLUMNS = 32,  /* of a policy's own words */
	GIVES_COLUMNS = 10, /* "connecting": GNOME Shell has room for three buttons with that */
	LABELS = 3,         /* the registrable domain has at most, but for some of hosting companies: example.co.uk */
};

static bool is_custom(const struct prompt *prompt) {
	return prompt->permission.kind == PERMISSION_CUSTOM;
}

/* All that is in a folder is meant (docs/protocol.md, prompt). */
static bool is_of_folder(const struct prompt *prompt) {
	return permission_is_of_files(&prompt->permission) && prompt->description;
}

static bool writes(const struct prompt *prompt) {
	return prompt->permission.kind == PERMISSION_FS_WRITE;
}

char *wish_who(const struct prompt *prompt) {
	char *program = prompt_program(prompt, WHO_COLUMNS);
	if (program) return program;
	CLEANUP_FREE char *profile = text_visible_cut(prompt->profile ? prompt->profile : "?", WHO_COLUMNS);
	return string_format("profile %s", profile);
}

char *wish_what(const struct prompt *prompt) {
	if (is_of_folder(prompt))
		return string_copy(writes(prompt) ? "read and write a whole folder" : "read a whole folder");
	if (!is_custom(prompt)) return string_copy(permission_traits(&prompt->permission)->what);
	if (prompt->description) return text_visible_cut(prompt->description, WHAT_COLUMNS);
	return string_format("use %s", prompt->permission.name);
}

char *wish_gives(const struct prompt *prompt) {
	if (!is_custom(prompt)) return string_copy(permission_traits(&prompt->permission)->gives);
	return string_copy(strlen(prompt->permission.name) <= GIVES_COLUMNS ? prompt->permission.name : "it");
}

static char *whole_target(const struct prompt *prompt) {
	const char *target = prompt->target ? prompt->target : "";
	const bool path = permission_is_of_path(&prompt->permission),
		   port = prompt->permission.kind == PERMISSION_NET_LISTEN;
	CLEANUP_FREE char *whole = path ? human_path(target) : string_format(port ? "port %s" : "%s", target);
	return text_visible(whole);
}

/* Of a program it is the file, whatever names lead to it (docs/protocol.md, prompt). */
char *wish_reach(const struct prompt *prompt) {
	const bool linked = prompt->permission.kind == PERMISSION_PROC_SPAWN && prompt->name;
	CLEANUP_FREE char *path = linked ? human_path(prompt->name) : prompt_reach(prompt);
	if (!path) return NULL;
	CLEANUP_FREE char *visible = text_visible(path);
	return string_format(linked ? "Allowing covers the file %s" : "Allowing covers the whole folder %s", visible);
}

static char *listing_verb(const struct prompt *prompt) {
	if (is_of_folder(prompt)) return string_copy(writes(prompt) ? "read and write all of" : "read all of");
	if (is_custom(prompt)) return wish_what(prompt);
	return string_copy(permission_traits(&prompt->permission)->lists);
}

/* Where what a target is known by begins in its visible text. */
static const char *known_by(const struct prompt *prompt, const char *visible) {
	const char *p = visible + strlen(visible);
	if (permission_is_of_path(&prompt->permission)) return path_name(visible);
	if (prompt->permission.kind != PERMISSION_NET_ACCESS || *visible == '[') return visible;
	for (size_t labels = 0; p > visible && labels < LABELS; p--) labels += p[-1] == '.';
	return p > visible ? p + 1 : visible;
}

static char *target_behind(const char *before, const struct prompt *prompt, size_t lines, bool *ret_whole) {
	const char *breaks = permission_is_of_path(&prompt->permission) ? "/" : ".";
	CLEANUP_FREE char *visible = whole_target(prompt);
	char *tail = lines_tail(before, visible, known_by(prompt, visible), breaks, lines);
	*ret_whole = tail != NULL;
	return tail ? tail : mem_expect(lines_tail("", visible, visible + strlen(visible), NULL, lines));
}

char *wish_target(const struct prompt *prompt, size_t lines, bool *ret_whole) {
	return target_behind("", prompt, lines, ret_whole);
}

static char *brief_target(const char *verb, const struct prompt *prompt) {
	bool whole;
	CLEANUP_FREE char *before = string_format("• %s ", verb);
	char *target = target_behind(before, prompt, 1, &whole);
	if (whole) return target;
	free(target);
	return target_behind(before, prompt, 2, &whole);
}

char *wish_listed(const struct prompt *prompt, bool brief) {
	CLEANUP_FREE char *verb = listing_verb(prompt);
	CLEANUP_FREE char *target = brief ? brief_target(verb, prompt) : whole_target(prompt);
	CLEANUP_FREE char *reach = wish_reach(prompt);
	if (!reach || brief) return string_format("%s %s%s", verb, target, reach ? ", and more" : "");
	return string_format("%s %s. %s", verb, target, reach);
}
