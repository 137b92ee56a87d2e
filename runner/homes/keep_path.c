#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "runner/home_keep.h"
#include "schema/home.h"

enum { PATH_COLUMNS = 80 };

static int refuse(struct error *error, const char *text, const char *why) {
	CLEANUP_FREE char *shown = text_visible_cut(text, PATH_COLUMNS);
	return error_set(error, EINVAL, "'%s' %s", shown, why);
}

/* "~/x", "x" and "/home/ada/x" → "/home/ada/x" */
static int to_absolute(const char *home, const char *text, char **ret_path, struct error *error) {
	const char *rest = text[0] == '~' && (text[1] == '/' || text[1] == '\0') ? text + 1 : text;
	CLEANUP_FREE char *below = rest != text || text[0] != '/' ? string_format("%s/%s", home, rest) : NULL;
	return path_normalise(NULL, below ? below : text, ret_path, error);
}

int keep_path(const char *home, const char *text, char **ret_path, struct error *error) {
	CLEANUP_FREE char *normal_home = NULL;
	CLEANUP_FREE char *path = NULL;
	if (*text == '\0') return error_set(error, EINVAL, "a path is empty: expected one such as ~/.toolrc");
	if (path_has_up(text)) return refuse(error, text, "has '..' in it: give the path without");
	int r = path_normalise(NULL, home, &normal_home, error);
	if (r == 0) r = to_absolute(normal_home, text, &path, error);
	if (r < 0) return r;
	if (!path_is_below(path, normal_home))
		return refuse(error, text, "is not in your home: expected a path such as ~/.toolrc");
	if (home_has_folder(normal_home, path))
		return refuse(error, text,
			      "is a folder that many programs share: name what is in it that you want to keep ('sbx "
			      "home' lists it)");
	*ret_path = string_copy(path + strlen(normal_home) + (normal_home[1] ? 1 : 0));
	return 0;
}
