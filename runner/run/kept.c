#include "kept.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "runner/homes.h"

enum { KEPT_SHOWN = 6, GONE_SHOWN = 3, NAME_COLUMNS = 80 };

/* One that lasts is looked at where it lies, without what is mounted in it. */
static int open_home(const struct scene *scene, pid_t init) {
	if (scene->own_home) return file_reach(scene->residence, ".", O_DIRECTORY);
	CLEANUP_FREE char *root = string_format("/proc/%d/root", init);
	CLEANUP_FD int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return at < 0 ? -1 : file_reach(at, scene->home + 1, O_DIRECTORY);
}

int kept_begin(struct kept *kept, const struct scene *scene, pid_t init, struct error *error) {
	if (scene->home_kind == VIEW_HOME_HIDDEN) return 0;
	kept->home = open_home(scene, init);
	if (kept->home < 0) return error_errno(error, "reaching the sandbox's home");
	if (!scene->own_home) return 0;
	homes_names(kept->home, &kept->before);
	homes_unread(kept->home);
	return 0;
}

/* What doesn't begin with a dot is what somebody may look for. */
static void put_plain_first(const struct strings *names, struct strings *sorted) {
	for (int dots = 0; dots < 2; dots++)
		for (size_t i = 0; i < names->count; i++)
			if ((names->items[i][0] == '.') == dots) strings_add(sorted, names->items[i]);
}

static void list(const struct strings *names, size_t most, struct string *line) {
	for (size_t i = 0; i < names->count && i < most; i++) {
		CLEANUP_FREE char *shown = text_visible_cut(names->items[i], NAME_COLUMNS);
		string_appendf(line, "%s~/%s", i == 0 ? "" : i + 1 == names->count ? " and " : ", ", shown);
	}
	if (names->count > most) string_appendf(line, " and %zu more", names->count - most);
}

char *kept_line(const struct kept *kept, const struct scene *scene) {
	CLEANUP_STRINGS struct strings after = {0}, made = {0}, sorted = {0};
	CLEANUP_STRING struct string line = {0};
	if (kept->home < 0) return NULL;
	homes_names(kept->home, &after);
	strings_subtract(&after, &kept->before, &made);
	put_plain_first(&made, &sorted);
	if (sorted.count == 0) return NULL;
	if (scene->own_home) {
		const bool project = scene->home_kind == VIEW_HOME_PROJECT;
		string_appendf(&line, "kept in %s's own home%s: ", scene->view->profile,
			       project ? " in this project" : "");
		list(&sorted, KEPT_SHOWN, &line);
		string_append(&line, " (sbx home)");
	} else {
		string_append(&line, "not kept: ");
		list(&sorted, GONE_SHOWN, &line);
	}
	return string_steal(&line);
}

void kept_finish(struct kept *kept) {
	fd_close(kept->home);
	strings_finish(&kept->before);
}
