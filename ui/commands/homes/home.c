/* `sbx home`: what tools have left in the homes that profiles have of their own. */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "commands/commands.h"
#include "policy/policy.h"
#include "runner/home_list.h"
#include "runner/home_size.h"
#include "runner/homes.h"
#include "schema/message.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/table.h"
#include "ui/words.h"

enum { NAMES_SHOWN = 4, HASH_PART = 17 }; /* "-" and the digits of a project's hash */

static const char mark = '*';

struct values {
	bool json;
};

static const struct option_info options[] = {
	{"json", OPTION_FLAG, NULL, "One JSON array: profile, project, folder, bytes, more, names, hides.",
	 offsetof(struct values, json)},
};

static const struct table_column columns[] = {
	{"PROFILE", false, false}, {"PROJECT", true, false}, {"SIZE", false, true}, {"WHAT", true, false}};

struct listing {
	const char *home;
	char *here; /* the current project, or NULL */
	struct table *table;
	struct json_list list;
	bool json, hides; /* did something hide a name of the user's? */
};

/* Has the user's home the name, too? */
static bool is_hidden(const char *home, const char *name) {
	CLEANUP_FREE char *path = path_join(home, name);
	struct stat status;
	return fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
}

/* The path is known of the current one alone: a hash says whether it is that. */
static char *project_path(const struct listing *listing, const struct home_entry *entry) {
	CLEANUP_FREE char *here = listing->here ? homes_of_project(listing->home, listing->here) : NULL;
	const bool same = here && entry->project && strcmp(path_name(here), entry->project) == 0;
	return same ? string_copy(listing->here) : NULL;
}

static char *project_words(const struct listing *listing, const struct home_entry *entry) {
	if (!entry->project) return NULL;
	CLEANUP_FREE char *path = project_path(listing, entry);
	if (path) return human_path(path);
	const size_t size = strlen(entry->project);
	return string_copy_bytes(entry->project, size > HASH_PART ? size - HASH_PART : size);
}

static char *names_words(struct listing *listing, const struct strings *names) {
	CLEANUP_STRING struct string words = {0};
	for (size_t i = 0; i < names->count && i < NAMES_SHOWN; i++) {
		const bool hides = is_hidden(listing->home, names->items[i]);
		string_appendf(&words, "%s~/%s", i == 0 ? "" : " ", names->items[i]);
		if (hides) string_append_char(&words, mark);
		listing->hides |= hides;
	}
	if (names->count > NAMES_SHOWN) string_appendf(&words, " and %zu more", names->count - NAMES_SHOWN);
	return string_steal(&words);
}

static void add_row(struct listing *listing, const struct home_entry *entry, const struct home_size *size,
		    const struct strings *names) {
	CLEANUP_FREE char *project = project_words(listing, entry);
	CLEANUP_FREE char *bytes = human_size(size->bytes);
	CLEANUP_FREE char *what = names_words(listing, names);
	table_cell(listing->table, entry->profile);
	table_cell(listing->table, project);
	table_cellf(listing->table, "%s%s", size->more ? "> " : "", bytes);
	table_cell(listing->table, what);
}

static void add_object(struct listing *listing, const struct home_entry *entry, const struct home_size *size,
		       const struct strings *names) {
	CLEANUP_FREE char *project = project_path(listing, entry);
	json_t *object = json_object(), *all = json_array(), *hides = json_array();
	json_object_set_new(object, "profile", message_bytes(entry->profile));
	json_object_set_new(object, "project", message_bytes(project ? project : entry->project));
	json_object_set_new(object, "folder", message_bytes(entry->folder));
	json_object_set_new(object, "bytes", json_integer((json_int_t)size->bytes));
	json_object_set_new(object, "more", json_boolean(size->more));
	for (size_t i = 0; i < names->count; i++) {
		json_array_append_new(all, message_bytes(names->items[i]));
		if (is_hidden(listing->home, names->items[i]))
			json_array_append_new(hides, message_bytes(names->items[i]));
	}
	json_object_set_new(object, "names", all);
	json_object_set_new(object, "hides", hides);
	json_list_item(&listing->list, object);
	json_decref(object);
}

/* One that has nothing in it isn't listed: a run leaves mount points of sbx's, and nothing else. */
static void add_home(struct listing *listing, const struct home_entry *entry) {
	CLEANUP_STRINGS struct strings names = {0};
	struct home_size size = {0};
	CLEANUP_FD int folder = policy_is_profile_name(entry->profile) ? home_open(entry->folder, NULL) : -1;
	if (folder >= 0) homes_names(folder, &names);
	if (names.count == 0) return;
	home_size(folder, &size);
	if (listing->json)
		add_object(listing, entry, &size, &names);
	else
		add_row(listing, entry, &size, &names);
}

static void print_end(struct listing *listing) {
	if (listing->json) {
		json_list_end(&listing->list);
		return;
	}
	if (table_rows(listing->table) == 0) {
		puts("Tools have left nothing in the homes that profiles have of their own. What one writes there is "
		     "kept, "
		     "and listed here: sbx run -- COMMAND");
		return;
	}
	table_print(listing->table, stdout, terminal_width(stdout), true);
	putchar('\n');
	if (listing->hides) printf("%c hides yours of the same name, unless that is granted.\n", mark);
	puts("To have something in your own home: sbx home keep PATH. To remove all: sbx home clear PROFILE");
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	struct listing listing = {.home = home_directory(), .json = values->json, .list = {.out = stdout}};
	if (!listing.home) return error_set(error, ENOENT, "you have no home directory: set HOME");
	CLEANUP_TABLE struct table *table = table_new(columns, ARRAY_LENGTH(columns));
	CLEANUP_HOME_LIST struct home_list homes = {0};
	listing.table = table;
	words_project(NULL, &listing.here, NULL);
	home_list_read(listing.home, &homes);
	for (size_t i = 0; i < homes.count; i++) add_home(&listing, &homes.items[i]);
	print_end(&listing);
	free(listing.here);
	return EXIT_DONE;
}

static const struct command *const home_commands[] = {&command_home_keep, &command_home_clear, NULL};

const struct command command_home = {
	.name = "home",
	.operands = "[keep PATH... | clear PROFILE]",
	.summary = "List what tools have left in their profiles' own homes.",
	.details = "A profile has a home of its own (home: in a policy), which its tools write to instead of yours. "
		   "Needs no "
		   "broker.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.commands = home_commands,
	.run = run,
};
