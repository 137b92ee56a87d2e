#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "prompt/prompt_answers.h"
#include "support/cmocka.h"

enum { WIDTH = 80 };

static struct prompt tree_prompt(const char *tree, const char *name) {
	struct prompt prompt = {.id = 3,
				.session = 7,
				.permission = permission_of(PERMISSION_FS_READ),
				.description = string_copy("read everything in"),
				.target = string_copy(tree),
				.name = string_copy(name),
				.opens_folder = true};
	strings_add(&prompt.scopes, "exact");
	strings_add(&prompt.scopes, name);
	return prompt;
}

static char *details(const struct prompt *prompt) {
	struct string out = {0};
	prompt_answers_details(prompt, 0, WIDTH, &out);
	return string_steal(&out);
}

static void the_scopes_of_a_tree_are_called_what_they_are(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	CLEANUP_PROMPT struct prompt home = tree_prompt("/home/ada", "/home/ada/c1.h");
	CLEANUP_FREE char *text = details(&home);
	assert_non_null(strstr(text, "\n  sbx allow 3 --scope exact # everything in ~\n"));
	assert_non_null(strstr(text, "\n  sbx allow 3 --scope /home/ada/c1.h # this one alone\n"));
	assert_null(strstr(text, "--once"));
	CLEANUP_PROMPT struct prompt below = tree_prompt("/home/ada/notes", "/home/ada/notes/a");
	CLEANUP_FREE char *notes = details(&below);
	assert_non_null(strstr(notes, "--scope exact # everything in ~/notes\n"));
}

static void a_file_has_its_folder_and_those_above(void **state) {
	(void)state;
	struct prompt prompt = tree_prompt("/srv/a/b/file", "/srv/a");
	free(prompt.name);
	free(prompt.description);
	prompt.name = prompt.description = NULL;
	prompt.opens_folder = false;
	strings_add(&prompt.scopes, "folder");
	CLEANUP_FREE char *text = details(&prompt);
	prompt_finish(&prompt);
	assert_non_null(strstr(text, "--scope exact # the target alone\n"));
	assert_non_null(strstr(text, "--scope /srv/a # everything in it\n"));
	assert_non_null(strstr(text, "--scope folder # its folder /srv/a/b\n"));
	assert_non_null(strstr(text, "\n  sbx allow 3 --once # this one call\n"));
	assert_non_null(strstr(text, "\n  sbx deny 3 --always # and ask no more\n"));
}

/* A meaning that needs a line of its own is a comment there, and no name in it is more than a word. */
static void every_line_of_the_commands_can_be_pasted(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt =
		tree_prompt("/srv/$(touch x); a long name of a folder/in/another", "/srv/$(touch x); a long name of a "
										   "folder/in/another/name.txt");
	CLEANUP_FREE char *text = details(&prompt);
	const char *at = strstr(text, "Or in another terminal:\n");
	assert_non_null(at);
	assert_non_null(strstr(at, "/name.txt'\n      # this one alone\n"));
	assert_non_null(strstr(at, "# everything in '/srv/$(touch x)"));
	for (at = strchr(at, '\n') + 1; *at; at = strchr(at, '\n') + 1)
		assert_true(string_starts(at, "  sbx ") || string_starts(at, "      # "));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scopes_of_a_tree_are_called_what_they_are),
		cmocka_unit_test(a_file_has_its_folder_and_those_above),
		cmocka_unit_test(every_line_of_the_commands_can_be_pasted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
