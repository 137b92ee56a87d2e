#include <assert.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan.h"

static const char *const words[] = {
	[MOUNT_READ] = "read",           [MOUNT_WRITE] = "write", [MOUNT_PIN] = "pin",
	[MOUNT_FRESH] = "fresh",         [MOUNT_OWN] = "own",     [MOUNT_HIDE_FOLDER] = "hide-folder",
	[MOUNT_HIDE_FILE] = "hide-file", [MOUNT_LINK] = "link",   [MOUNT_HELD] = "hold-link",
	[MOUNT_CURTAIN] = "ask",         [MOUNT_PROC] = "proc",   [MOUNT_DEV] = "dev",
	[MOUNT_TEXT] = "text",
};
static_assert(ARRAY_LENGTH(words) == MOUNT_KIND_COUNT, "a word for every kind of mount");

static void append_list(struct string *text, const char *word, const struct strings *list) {
	for (size_t i = 0; i < list->count; i++) {
		CLEANUP_FREE char *path = text_visible(list->items[i]);
		string_appendf(text, "%-11s %s\n", word, path);
	}
}

char *mount_text(const struct mount *mount) {
	struct string text = {0};
	CLEANUP_FREE char *path = text_visible(mount->path);
	CLEANUP_FREE char *source = mount->source ? text_visible(mount->source) : NULL;
	string_appendf(&text, "%-11s %s", words[mount->kind], path);
	if (mount->kind == MOUNT_LINK)
		string_appendf(&text, " -> %s", source);
	else if (source && mount->kind != MOUNT_TEXT && !string_equal(mount->source, mount->path))
		string_appendf(&text, " from %s", source);
	if (mount->kind == MOUNT_HIDE_FOLDER) string_appendf(&text, " mode %04o", mount->mode);
	return string_steal(&text);
}

char *plan_text(const struct plan *plan) {
	struct string text = {0};
	for (size_t i = 0; i < plan->count; i++) {
		CLEANUP_FREE char *mount = mount_text(&plan->mounts[i]);
		string_appendf(&text, "%s\n", mount);
	}
	append_list(&text, "watch", &plan->missing);
	append_list(&text, "hard-links", &plan->shared);
	append_list(&text, "note", &plan->notes);
	return string_steal(&text);
}
