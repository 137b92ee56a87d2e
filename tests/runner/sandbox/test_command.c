/* Where commands are found, and what has to be shown for them to run. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "sandbox/command.h"
#include "support/cmocka.h"

static char *home;

static char *in(const char *name) {
	return path_join(home, name);
}

static void put(const char *name, const char *text, mode_t mode) {
	CLEANUP_FREE char *path = in(name);
	CLEANUP_FREE char *folder = path_parent(path);
	assert_int_equal(file_make_directories(folder, NULL), 0);
	assert_int_equal(file_write(path, text, strlen(text), mode, NULL), 0);
}

static void put_link(const char *name, const char *target) {
	CLEANUP_FREE char *path = in(name), *to = in(target);
	CLEANUP_FREE char *folder = path_parent(path);
	assert_int_equal(file_make_directories(folder, NULL), 0);
	assert_int_equal(symlink(to, path), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-command.XXXXXX";
	if (!mkdtemp(name)) return -1;
	home = realpath(name, NULL);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(home);
	return 0;
}

/* `name` is found on PATH folder `folder`; exactly these places (relative to home) must be shown. */
static void expect_places(const char *name, const char *folder, const char *const *places) {
	CLEANUP_COMMAND struct command command = {0};
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *search = string_format("%s/%s:/usr/bin:/bin", home, folder);
	if (command_find(name, search, home, home, NULL, &command, &error) < 0) fail_msg("%s", error.message);
	size_t count = 0;
	for (; places[count]; count++) {
		CLEANUP_FREE char *place = in(places[count]);
		if (!strings_contain(&command.places, place)) fail_msg("%s is not shown", place);
	}
	for (size_t i = 0; i < command.places.count && command.places.count != count; i++)
		print_message("shown: %s\n", command.places.items[i]);
	assert_int_equal(command.places.count, count);
}

static void node_of_nvm_shows_its_version_alone(void **state) {
	(void)state;
	put(".nvm/versions/node/v20.1.0/bin/node",
	    "\x7f"
	    "ELF",
	    0755);
	put(".nvm/versions/node/v20.1.0/lib/node_modules/npm/bin/npm-cli.js", "#!/usr/bin/env node\n", 0755);
	put_link(".nvm/versions/node/v20.1.0/bin/npm",
		 ".nvm/versions/node/v20.1.0/lib/node_modules/npm/bin/npm-cli.js");
	expect_places("node", ".nvm/versions/node/v20.1.0/bin", (const char *[]){".nvm/versions/node/v20.1.0", NULL});
	expect_places("npm", ".nvm/versions/node/v20.1.0/bin", (const char *[]){".nvm/versions/node/v20.1.0", NULL});
}

static void a_tool_of_uv_shows_its_venv_and_its_python(void **state) {
	(void)state;
	put(".local/share/uv/python/cpython-3.12/bin/python3.12",
	    "\x7f"
	    "ELF",
	    0755);
	put_link(".local/share/uv/tools/ruff/bin/python", ".local/share/uv/python/cpython-3.12/bin/python3.12");
	CLEANUP_FREE char *line = string_format("#!%s/.local/share/uv/tools/ruff/bin/python\nimport ruff\n", home);
	put(".local/share/uv/tools/ruff/bin/ruff", line, 0755);
	put_link(".local/bin/ruff", ".local/share/uv/tools/ruff/bin/ruff");
	expect_places("ruff", ".local/bin",
		      (const char *[]){".local/bin/ruff", ".local/share/uv/tools/ruff",
				       ".local/share/uv/python/cpython-3.12", NULL});
}

static void cargo_shows_rustup_but_no_credentials(void **state) {
	(void)state;
	put(".cargo/bin/cargo",
	    "\x7f"
	    "ELF",
	    0755);
	expect_places("cargo", ".cargo/bin", (const char *[]){".cargo/bin", ".rustup", NULL});
}

static void a_place_is_never_home_or_a_collection(void **state) {
	(void)state;
	put("bin/tool",
	    "\x7f"
	    "ELF",
	    0755);
	put("tool2",
	    "\x7f"
	    "ELF",
	    0755);
	put(".local/bin/tool3",
	    "\x7f"
	    "ELF",
	    0755);
	expect_places("tool", "bin", (const char *[]){"bin", NULL});
	expect_places("tool2", ".", (const char *[]){"tool2", NULL});
	expect_places("tool3", ".local/bin", (const char *[]){".local/bin/tool3", NULL});
}

static void an_unknown_installation_shows_the_folder_above_its_bin(void **state) {
	(void)state;
	put("tools/thing-1.0/bin/thing",
	    "\x7f"
	    "ELF",
	    0755);
	expect_places("thing", "tools/thing-1.0/bin", (const char *[]){"tools/thing-1.0", NULL});
}

static void a_link_in_the_project_shows_nothing_it_was_aimed_at(void **state) {
	(void)state;
	put("private/bin/script", "#!/bin/sh\n", 0755);
	put_link("app/run", "private/bin/script");
	CLEANUP_COMMAND struct command command = {0};
	CLEANUP_FREE char *app = in("app"), *shown = in("private");
	assert_int_equal(command_find("./run", "/usr/bin", app, home, app, &command, NULL), 0);
	assert_false(strings_contain(&command.places, shown));
	assert_int_equal(command.places.count, 0);
}

static void what_is_not_there_or_not_executable(void **state) {
	(void)state;
	put("bin/plain", "text", 0644);
	struct command command = {0};
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *search = in("bin");
	assert_int_equal(command_find("no-such-thing", search, home, home, NULL, &command, &error), -ENOENT);
	assert_int_equal(command_find("plain", search, home, home, NULL, &command, &error), -EACCES);
	assert_int_equal(command_find("./bin", search, home, home, NULL, &command, &error), -EACCES);
	assert_int_equal(command_find("", search, home, home, NULL, &command, &error), -ENOENT);
}

static bool only_usr(const void *context, const char *path) {
	(void)context;
	return path_is_below(path, "/usr");
}

static void path_keeps_the_visible_folders(void **state) {
	(void)state;
	CLEANUP_FREE char *kept =
		command_visible_path("/home/u/bin:.:/usr/bin:relative::/usr/local/bin/", only_usr, NULL);
	assert_string_equal(kept, "/usr/bin:/usr/local/bin");
	CLEANUP_FREE char *none = command_visible_path("/home/u/bin", only_usr, NULL);
	assert_string_equal(none, "/usr/local/bin:/usr/bin:/bin");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_of_nvm_shows_its_version_alone),
		cmocka_unit_test(a_tool_of_uv_shows_its_venv_and_its_python),
		cmocka_unit_test(cargo_shows_rustup_but_no_credentials),
		cmocka_unit_test(a_place_is_never_home_or_a_collection),
		cmocka_unit_test(an_unknown_installation_shows_the_folder_above_its_bin),
		cmocka_unit_test(a_link_in_the_project_shows_nothing_it_was_aimed_at),
		cmocka_unit_test(what_is_not_there_or_not_executable),
		cmocka_unit_test(path_keeps_the_visible_folders),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
