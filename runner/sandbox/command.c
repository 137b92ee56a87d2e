#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "calls/regular.h"
#include "finds/place.h"

enum {
	COMMAND_LINKS_MAX = 40,    /* path_resolution(7) */
	COMMAND_SCRIPTS_MAX = 5,   /* the kernel's own nesting of #! lines, execve(2) */
	COMMAND_SHEBANG_MAX = 256, /* BINPRM_BUF_SIZE */
};

struct finder {
	const char *search, *home, *untrusted;
	bool tainted; /* something in the untrusted tree has led here */
	struct command *command;
};

void command_finish(struct command *command) {
	free(command->path);
	free(command->real);
	strings_finish(&command->places);
	*command = (struct command){0};
}

/* Calls `each` for the folders of a PATH until it returns true. */
static bool search_each(const char *search, bool (*each)(void *context, const char *folder), void *context) {
	while (search && *search) {
		size_t size = strcspn(search, ":");
		CLEANUP_FREE char *folder = string_copy_bytes(search, size);
		if (folder[0] == '/' && each(context, folder)) return true;
		search += size + (search[size] == ':');
	}
	return false;
}

struct lookup {
	const char *name;
	char *found, *unusable;
};

static bool lookup_in(void *context, const char *folder) {
	struct lookup *lookup = context;
	CLEANUP_FREE char *path = path_join(folder, lookup->name);
	struct stat status;
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode)) return false;
	if (access(path, X_OK) == 0) {
		lookup->found = STEAL(path);
		return true;
	}
	if (!lookup->unusable) lookup->unusable = STEAL(path);
	return false;
}

static int find_on_path(const char *search, const char *name, char **ret_path, struct error *error) {
	struct lookup lookup = {.name = name};
	search_each(search, lookup_in, &lookup);
	CLEANUP_FREE char *found = lookup.found, *unusable = lookup.unusable;
	if (found) return path_normalise(NULL, found, ret_path, error);
	if (unusable) return error_set(error, EACCES, "%s is not executable", unusable);
	return error_set(error, ENOENT, "%s: command not found", name);
}

/* The parents' links resolved but not the last name: where the file itself lies. */
static char *real_entry(const char *path) {
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FREE char *real = mem_expect(realpath(folder, NULL));
	return real ? path_join(real, path_name(path)) : NULL;
}

static void show_place(struct finder *finder, const char *path) {
	/* what lies in the project is shown with it, if at all */
	if (finder->untrusted && path_is_below(path, finder->untrusted))
		finder->tainted = true;
	else
		place_add(path, finder->home, finder->tainted, &finder->command->places);
}

/* Adds the place of each file on the way from `path` to what it links to; returns that, or NULL. */
static char *follow_links(struct finder *finder, const char *path) {
	show_place(finder, path);
	CLEANUP_FREE char *at = real_entry(path);
	for (int hops = 0; at && hops < COMMAND_LINKS_MAX; hops++) {
		show_place(finder, at);
		char text[PATH_MAX];
		ssize_t size = readlink(at, text, sizeof text - 1);
		if (size < 0) return STEAL(at);
		text[size] = '\0';
		CLEANUP_FREE char *folder = path_parent(at);
		CLEANUP_FREE char *next = text[0] == '/' ? string_copy(text) : path_join(folder, text);
		free(at);
		at = real_entry(next);
	}
	return NULL;
}

/* The program that `#!/usr/bin/env …` starts: options and assignments are skipped, as env(1) does. */
static char *env_program(char *arguments) {
	for (char *word = strtok_r(arguments, " \t", &arguments); word; word = strtok_r(NULL, " \t", &arguments)) {
		if (word[0] != '-' && !strchr(word, '=')) return string_copy(word);
	}
	return NULL;
}

/* What a script's first line names: its interpreter, and what env(1) would start. */
static void read_shebang(const char *file, char **ret_interpreter, char **ret_program) {
	CLEANUP_FREE char *text = NULL;
	if (regular_read(file, COMMAND_SHEBANG_MAX, &text, NULL, NULL) < 0 || !string_starts(text, "#!")) return;
	text[strcspn(text, "\r\n")] = '\0';
	char *interpreter = text + 2 + strspn(text + 2, " \t");
	char *rest = interpreter + strcspn(interpreter, " \t");
	if (*rest) *rest++ = '\0';
	if (interpreter[0] != '/') return;
	*ret_interpreter = string_copy(interpreter);
	if (string_equal(path_name(interpreter), "env")) *ret_program = env_program(rest);
}

static char *follow(struct finder *finder, const char *path, int depth) {
	char *real = follow_links(finder, path);
	if (!real || depth >= COMMAND_SCRIPTS_MAX) return real;
	CLEANUP_FREE char *interpreter = NULL, *program = NULL;
	read_shebang(real, &interpreter, &program);
	if (interpreter) free(follow(finder, interpreter, depth + 1));
	CLEANUP_FREE char *found = NULL;
	if (program && find_on_path(finder->search, program, &found, NULL) == 0) free(follow(finder, found, depth + 1));
	return real;
}

int command_find(const char *name, const char *search, const char *directory, const char *home, const char *untrusted,
		 struct command *ret_command, struct error *error) {
	CLEANUP_COMMAND struct command command = {0};
	int r;
	if (!strchr(name, '/')) {
		if (!*name) return error_set(error, ENOENT, "the command's name is empty");
		r = find_on_path(search, name, &command.path, error);
	} else {
		r = path_normalise(directory, name, &command.path, error);
	}
	if (r < 0) return r;
	struct stat status;
	if (stat(command.path, &status) < 0) return error_errno(error, "%s", name);
	if (S_ISDIR(status.st_mode)) return error_set(error, EACCES, "%s is a directory", name);
	if (access(command.path, X_OK) < 0) return error_errno(error, "%s", name);

	struct finder finder = {.search = search, .home = home, .untrusted = untrusted, .command = &command};
	command.real = follow(&finder, command.path, 0);
	if (!command.real) return error_set(error, ELOOP, "%s: too many links", name);
	*ret_command = command;
	command = (struct command){0};
	return 0;
}

struct visible_path {
	bool (*visible)(const void *context, const char *path);
	const void *context;
	struct string joined;
};

static bool keep_visible(void *context, const char *folder) {
	struct visible_path *kept = context;
	CLEANUP_FREE char *normal = NULL;
	if (path_normalise(NULL, folder, &normal, NULL) < 0 || !kept->visible(kept->context, normal)) return false;
	string_appendf(&kept->joined, "%s%s", kept->joined.size > 0 ? ":" : "", normal);
	return false;
}

char *command_visible_path(const char *search, bool (*visible)(const void *context, const char *path),
			   const void *context) {
	struct visible_path kept = {.visible = visible, .context = context};
	search_each(search, keep_visible, &kept);
	if (kept.joined.size == 0) string_append(&kept.joined, "/usr/local/bin:/usr/bin:/bin");
	return string_steal(&kept.joined);
}
