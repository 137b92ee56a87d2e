#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

/* Append the names of `path` to `out`, which holds a normal path without its trailing slash ("" for the root). */
static int append_names(struct string *out, const char *path, struct error *error) {
	while (*path) {
		size_t size = strcspn(path, "/");
		if (size == 0) {
			path++;
			continue;
		}
		if (size > NAME_MAX)
			return error_set(error, ENAMETOOLONG, "a name in the path is longer than %d bytes", NAME_MAX);
		if (size == 2 && memcmp(path, "..", 2) == 0) {
			char *slash = out->data ? strrchr(out->data, '/') : NULL;
			if (slash) {
				*slash = '\0';
				out->size = (size_t)(slash - out->data);
			}
		} else if (!(size == 1 && *path == '.')) {
			string_append_char(out, '/');
			string_append_bytes(out, path, size);
		}
		path += size;
	}
	return 0;
}

int path_normalise(const char *directory, const char *path, char **ret_path, struct error *error) {
	CLEANUP_STRING struct string out = {0};
	if (*path == '\0') return error_set(error, EINVAL, "the path is empty");
	int r = 0;
	if (*path != '/') {
		if (!directory || *directory != '/') return error_set(error, EINVAL, "the path must begin with '/'");
		r = append_names(&out, directory, error);
	}
	if (r == 0) r = append_names(&out, path, error);
	if (r < 0) return r;
	if (out.size == 0) string_append_char(&out, '/');
	if (out.size >= PATH_MAX)
		return error_set(error, ENAMETOOLONG, "the path is longer than %d bytes", PATH_MAX - 1);
	*ret_path = string_steal(&out);
	return 0;
}

bool path_is_below(const char *path, const char *tree) {
	if (strcmp(tree, "/") == 0) return true;
	size_t size = strlen(tree);
	return strncmp(path, tree, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

bool path_is_below_any(const char *path, const char *const *trees, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (path_is_below(path, trees[i])) return true;
	return false;
}

size_t path_depth(const char *path) {
	if (path[1] == '\0') return 0;
	size_t depth = 0;
	for (; *path; path++)
		if (*path == '/') depth++;
	return depth;
}

int path_compare(const char *a, const char *b) {
	while (*a && *a == *b) a++, b++;
	/* the slash sorts before all that may be in a name, the end before the slash */
	int one = *a == '/' ? 1 : *a ? (unsigned char)*a + 1 : 0;
	int two = *b == '/' ? 1 : *b ? (unsigned char)*b + 1 : 0;
	return one - two;
}

char *path_join(const char *directory, const char *name) {
	return string_format(string_ends(directory, "/") ? "%s%s" : "%s/%s", directory, name);
}

char *path_parent(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash && slash > path ? string_copy_bytes(path, (size_t)(slash - path)) : string_copy("/");
}

bool path_has_up(const char *path) {
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0')) return true;
	return false;
}

const char *path_last(const char *path, size_t *ret_size) {
	const char *end = path + strlen(path);
	while (end > path && end[-1] == '/') end--;
	const char *name = end;
	while (name > path && name[-1] != '/') name--;
	*ret_size = (size_t)(end - name);
	return name;
}

bool path_is_dots(const char *name) {
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

const char *path_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
