#include "description.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "ui/output.h"

static const struct {
	const char *name, *sentence;
} networks[] = {
	{"native", "Connections are made by name, each held until it is decided."},
	{"proxy", "Connections go through the proxy that the environment names, each held until it is decided."},
	{"none", "There is no network."},
	{"host", "The network is the host's."},
};

static const char *network_sentence(const json_t *described) {
	const char *network = json_string_value(json_object_get(described, "network"));
	for (size_t i = 0; i < ARRAY_LENGTH(networks); i++)
		if (string_equal(networks[i].name, network)) return networks[i].sentence;
	return "";
}

static bool same_permission(const json_t *a, const json_t *b) {
	return string_equal(json_string_value(json_object_get(a, "permission")),
			    json_string_value(json_object_get(b, "permission")));
}

static bool is_first_of_permission(const json_t *list, size_t index) {
	for (size_t i = 0; i < index; i++)
		if (same_permission(json_array_get(list, i), json_array_get(list, index))) return false;
	return true;
}

/* Everything of one permission. */
struct style {
	const char *before_name, *after_name, *before, *after, *between, *nothing;
};

/* Visible, and nothing in it ends what it stands between. */
static char *text_of(const json_t *json, const char *key) {
	CLEANUP_FREE char *visible = json_visible(json, key);
	struct string text = {0};
	for (const char *at = visible; *at; at++) {
		if (*at == '`')
			string_append(&text, "\\x60");
		else
			string_append_char(&text, *at);
	}
	return string_steal(&text);
}

static char *item_text(const struct style *style, const json_t *item) {
	CLEANUP_FREE char *pattern = text_of(item, "pattern");
	CLEANUP_FREE char *until = json_visible(item, "until");
	const bool ends = !string_equal(until, "-");
	return string_format("%s%s%s%s%s%s", style->before, pattern, style->after, ends ? " (until " : "",
			     ends ? until : "", ends ? ")" : "");
}

/* Files of one folder are one line where they are many: "/app/{.envrc, .git, .vimrc}". */
enum { TOGETHER = 3 };

/* How much of it is the folder, with its slash; 0: it stands by itself. */
static size_t folder_size(const json_t *item) {
	const char *pattern = json_string_value(json_object_get(item, "pattern"));
	const char *slash = pattern && *pattern == '/' ? strrchr(pattern, '/') : NULL;
	return slash && slash > pattern && !json_object_get(item, "until") ? (size_t)(slash + 1 - pattern) : 0;
}

static bool are_together(const json_t *a, const json_t *b) {
	const size_t size = folder_size(a);
	return size > 0 && size == folder_size(b) && same_permission(a, b) &&
	       strncmp(json_string_value(json_object_get(a, "pattern")),
		       json_string_value(json_object_get(b, "pattern")), size) == 0;
}

static size_t count_together(const json_t *list, const json_t *item) {
	size_t index, count = 0;
	json_t *other;
	json_array_foreach ((json_t *)list, index, other) count += are_together(item, other);
	return count;
}

static bool is_first_together(const json_t *list, size_t index) {
	for (size_t i = 0; i < index; i++)
		if (are_together(json_array_get(list, i), json_array_get(list, index))) return false;
	return true;
}

static char *together_text(const struct style *style, const json_t *list, const json_t *item) {
	CLEANUP_STRING struct string text = {0};
	size_t index;
	json_t *other;
	json_array_foreach ((json_t *)list, index, other) {
		if (!are_together(item, other)) continue;
		CLEANUP_FREE char *pattern = text_of(other, "pattern");
		const char *name = strrchr(pattern, '/') + 1;
		if (text.size == 0)
			string_appendf(&text, "%s%.*s{%s", style->before, (int)(name - pattern), pattern, name);
		else
			string_appendf(&text, ", %s", name);
	}
	string_appendf(&text, "}%s", style->after);
	return string_steal(&text);
}

static void print_permission(FILE *out, const struct style *style, const json_t *list, const json_t *first) {
	CLEANUP_FREE char *name = json_visible(first, "permission");
	const char *between = "";
	size_t index;
	json_t *item;
	fprintf(out, "%s%s%s", style->before_name, name, style->after_name);
	json_array_foreach ((json_t *)list, index, item) {
		if (!same_permission(item, first)) continue;
		const bool together = count_together(list, item) >= TOGETHER;
		if (together && !is_first_together(list, index)) continue;
		CLEANUP_FREE char *text = together ? together_text(style, list, item) : item_text(style, item);
		fprintf(out, "%s%s", between, text);
		between = style->between;
	}
	fputc('\n', out);
}

static void print_list(FILE *out, const struct style *style, const json_t *list) {
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)list, index, item)
		if (is_first_of_permission(list, index)) print_permission(out, style, list, item);
	if (json_array_size(list) == 0) fputs(style->nothing, out);
}

static void print_own(FILE *out, const json_t *described, const char *before_name, const char *after_name) {
	size_t index;
	json_t *item;
	json_array_foreach (json_object_get(described, "permissions"), index, item) {
		CLEANUP_FREE char *name = json_visible(item, "name");
		CLEANUP_FREE char *words = json_visible(item, "description");
		fprintf(out, "%s%s%s%s\n", before_name, name, after_name, words);
	}
}

void description_print(FILE *out, const json_t *described) {
	static const struct style style = {"  ", "\n    ", "", "", "\n    ", "  nothing\n"};
	CLEANUP_FREE char *profile = json_visible(described, "profile");
	CLEANUP_FREE char *project = json_visible(described, "project");
	fprintf(out, "Profile %s in %s. %s\n", profile, project, network_sentence(described));
	fputs("May, without a question:\n", out);
	print_list(out, &style, json_object_get(described, "allow"));
	fputs("May ask for:\n", out);
	print_list(out, &style, json_object_get(described, "ask"));
	print_own(out, described, "The user's own permission ", ": ");
	if (json_is_true(json_object_get(described, "more"))) fputs("There is more than is listed here.\n", out);
}

void description_print_markdown(FILE *out, const json_t *described) {
	static const struct style style = {"- `", "`: ", "`", "`", ", ", "Nothing.\n"};
	CLEANUP_FREE char *profile = text_of(described, "profile");
	CLEANUP_FREE char *project = text_of(described, "project");
	fprintf(out,
		"# The sandbox you work in\n\n"
		"You run inside sbx, profile `%s`, project `%s`. System files (`/usr`, `/etc`) can be read, `/tmp` and "
		"the home "
		"folder are your own and end with you. What is not listed here is not there, or is refused. %s\n\n"
		"## Allowed\n\n",
		profile, project, network_sentence(described));
	print_list(out, &style, json_object_get(described, "allow"));
	fputs("\n## Allowed when the user says yes\n\n"
	      "Using one of these waits while the user is asked:\n\n",
	      out);
	print_list(out, &style, json_object_get(described, "ask"));
	if (json_array_size(json_object_get(described, "permissions")) > 0)
		fputs("\n## Permissions of the user's own\n\n"
		      "Ask for these before you do what they are about:\n\n",
		      out);
	print_own(out, described, "- `", "`: ");
	if (json_is_true(json_object_get(described, "more"))) fputs("\nThere is more than is listed here.\n", out);
	fputs("\n## How to ask\n\n"
	      "- `sbx request PERMISSION TARGET --reason \"why you need it\"`, for example `sbx request fs:read "
	      "~/notes.txt --reason \"to sum up your notes\"` or `sbx request net:access example.org:443 --reason \"to "
	      "fetch the schema\"`. Exit status 0: allowed, use it now. 1: denied. 125: unknown.\n"
	      "- Ask before you need it, for no more than you need, once, with an honest reason: the user reads it.\n"
	      "- A denial looks like `Permission denied` (EACCES), `No such file or directory` or a refused "
	      "connection. "
	      "Do not try again in a loop and do not look for a way around it: go on without, or tell the user what is "
	      "missing.\n"
	      "- `sbx describe` prints this anew; grants end and new ones come.\n",
	      out);
}
