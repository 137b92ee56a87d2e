#include "base/resolved.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum { LINKS_MAX = 40 }; /* path_resolution(7) */

static void leave_folder(struct string *at) {
	const char *slash = at->size > 0 ? strrchr(at->data, '/') : NULL;
	at->size = slash ? (size_t)(slash - at->data) : 0;
	at->data[at->size] = '\0';
}

/* Put the link's text and what was still to walk in place of `rest`. */
static void follow(struct string *at, const char *text, char **rest) {
	char *longer = string_format("%s/%s", text, *rest);
	free(*rest);
	*rest = longer;
	if (text[0] != '/') {
		leave_folder(at);
		return;
	}
	at->size = 0;
	at->data[0] = '\0';
}

/* The next name of `rest`, which is shortened by it; NULL at the end. Freed by the caller. */
static char *take_name(char **rest) {
	const char *start = *rest + strspn(*rest, "/");
	const size_t size = strcspn(start, "/");
	if (size == 0) return NULL;
	char *name = string_copy_bytes(start, size), *tail = string_copy(start + size);
	free(*rest);
	*rest = tail;
	return name;
}

char *resolved_path_outside(const char *path, const struct strings *folders) {
	CLEANUP_STRING struct string at = {0};
	CLEANUP_FREE char *rest = string_copy(path);
	char text[PATH_MAX], *name;
	unsigned links = 0;
	string_append(&at, "");
	for (; (name = take_name(&rest)) != NULL; free(name)) {
		if (strcmp(name, "..") == 0) leave_folder(&at);
		if (path_is_dots(name)) continue;
		string_appendf(&at, "/%s", name);
		if (path_is_below_any(at.data, (const char *const *)folders->items, folders->count)) continue;
		const ssize_t size = links < LINKS_MAX ? readlink(at.data, text, sizeof text - 1) : -1;
		if (size < 0) continue; /* it is no link, or nothing that can be looked at */
		text[size] = '\0';
		links++;
		follow(&at, text, &rest);
	}
	if (at.size == 0) string_append(&at, "/");
	return links > 0 ? string_steal(&at) : NULL;
}

char *resolved_path(const char *path) {
	static const struct strings none = {0};
	return resolved_path_outside(path, &none);
}
