/* What completion offers where. What a broker tells is tested in tests/e2e/completion.bats, with the shells. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "commands/commands.h"
#include "completion/complete.h"
#include "schema/limits.h"
#include "support/cmocka.h"

/* "run|--profile|": what is offered for the last of these words, a line each. */
static char *offered(const char *line) {
	CLEANUP_STRINGS struct strings words = {0};
	for (const char *at = line;; at++) {
		const size_t size = strcspn(at, "|");
		strings_take(&words, string_copy_bytes(at, size));
		at += size;
		if (!*at) break;
	}
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	complete_words(command_all(), words.items, words.count, out);
	fclose(out);
	return text;
}

static void assert_offers(const char *line, const char *const *expected) {
	CLEANUP_FREE char *all = offered(line);
	CLEANUP_FREE char *text = string_format("\n%s", all);
	for (; *expected; expected++) {
		const bool unwanted = **expected == '!';
		CLEANUP_FREE char *whole = string_format("\n%s", *expected + unwanted);
		if ((strstr(text, whole) != NULL) == unwanted)
			fail_msg("'sbx %s': %s '%s' in:%s", line, unwanted ? "unexpected" : "expected",
				 *expected + unwanted, text);
	}
}

static void each_word_is_completed_by_what_the_tables_say(void **state) {
	(void)state;
	static const struct {
		const char *line;
		const char *expected[8]; /* "!": not */
	} cases[] = {
		{"", {"run\t", "policy\t", "completion\t", "!complete\t", "!--"}},
		{"re", {"revoke\t", "!run"}},
		{"-", {"--help\t", "--version\t", "!run"}},
		{"help|pol", {"policy\t"}},
		{"policy|", {"check\t", "show\t", "trust\t", "!policy"}},
		{"policy|trust|", {":directories\n"}},
		{"policy|check|", {":files\n"}},
		{"policy|trust|--f", {"--forget\t", "!--yes"}},
		{"home|", {"keep\t", "clear\t", "!--json"}},
		{"home|k", {"keep\t", "!clear"}},
		{"home|-", {"--json\t", "--help\t", "!keep"}},
		{"home|--json|-", {"--help\t", "!--json"}},
		{"home|clear|n", {"npm\n", "node\n"}},
		{"home|clear|--project|", {":directories\n"}},
		{"home|keep|--profile|n", {"npm\n"}},
		{"completion|", {"bash\n", "zsh\n", "fish\n"}},
		{"grants|", {"--all\t", "--json\t", "--help\t"}},
		{"grants|--all|--", {"--json\t", "!--all"}},
		{"run|--allow|fs:read=/x|--a", {"--allow\t"}}, /* may be repeated */
		{"run|--profile|n", {"npm\n", "node\n", "!git"}},
		{"run|--profile=n", {"--profile=npm\n", "!npm"}},
		{"run|--allow|", {"fs:read\tread\n", "env:read\t", "!:files"}},
		{"run|--allow|fs:read|", {":files\n"}},
		{"run|--allow|fs:read=~/", {":files\n", "!fs"}},
		{"run|--allow=fs:read|", {":files\n"}},
		{"run|--allow|env:read=", {":variables\n"}},
		{"run|--allow|fs:read|~/x|", {":command 4\n"}},
		{"run|--env|", {":variables\n"}},
		{"run|--as-user|", {":users\n"}},
		{"run|--cwd|", {":directories\n"}},
		{"run|--policy=", {":files\n"}},
		{"run|", {":command 1\n", "!--"}},
		{"run|--|", {":command 2\n"}},
		{"run|--offline|--|make|-", {":command 3\n", "!--"}},
		{"run|make|--profile|", {":command 1\n", "!npm"}}, /* make's own option */
		{"run|--|--profile|", {":command 2\n", "!npm"}},
		{"grant|", {"net:access\t"}},
		{"grant|proc:spawn|", {":programs\n"}},
		{"grant|net:access=l", {"net:access=localhost:\t"}},
		{"grant|fs:read=/x|", {"!:files", "!fs:read"}},
		{"grant|--ttl|1h|env:read|", {":variables\n"}},
		{"grant|--ttl|", {"15m\t", "1h\t"}},
		{"grant|--ttl|20", {"20s\tseconds\n", "20d\t", "!1h"}},
		{"grant|--ttl|x", {"!x"}},
		{"history|--verdict|", {"allow\n", "deny\n"}},
		{"history|--permission|net:a", {"net:access\t"}},
		{"revoke|--match|fs:write|", {":files\n"}},
		{"grant|--nonsense|", {"fs:read\t"}},
		{"nonsense|", {"!run", "!:"}},
		{"policy|nonsense|", {"!check", "!:"}},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) assert_offers(cases[i].line, cases[i].expected);
}

/* A list of fewer words than needed, or of none. */
static void any_words_do(void **state) {
	(void)state;
	char *const none[] = {NULL};
	complete_words(command_all(), none, 0, stdout);
	static const char *const lines[] = {
		"|",       "||",  "run|",    "run|--allow",     "run|--allow=",     "run|=",
		"run|--=", "--|", "grant|=", "grant|fs:read|=", "grant|--match=|=", "publish|x|y|"};
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		CLEANUP_FREE char *text = offered(lines[i]);
		assert_non_null(text);
	}
}

/* Nothing that a shell, or who reads its list, would take for something else. */
static void what_cannot_be_shown_is_not_offered(void **state) {
	(void)state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct completion completion = {.word = "", .typed = "", .out = out};
	complete_offer(&completion, "/home/ada/a\nb", "x");
	complete_offer(&completion, "/home/ada/\x1b[2J", NULL);
	complete_offer(&completion, "/home/ada/\xe2\x80\xae", NULL);
	complete_offer(&completion, "12", "a\tb\nc\x1b[2J");
	fclose(out);
	assert_string_equal(text, "12\ta\\tb\\nc\\x1b[2J\n");
	free(text);
}

static void candidates_are_bounded(void **state) {
	(void)state;
	FILE *out = fopen("/dev/null", "we");
	struct completion completion = {.word = "", .typed = "", .out = out};
	for (size_t i = 0; i < 2 * LIMIT_COMPLETIONS; i++) complete_offer(&completion, "x", NULL);
	fclose(out);
	assert_int_equal(completion.offered, LIMIT_COMPLETIONS);
}

/* Every word by which help calls an operand or a value: none is forgotten. */
static void knows_operands_of(const struct command *command) {
	for (const char *word = command->operands; *word; word += strspn(word, " ")) {
		const size_t size = strcspn(word, " ");
		CLEANUP_FREE char *text = string_copy_bytes(word, size);
		const char *bare = text + strspn(text, "[");
		word += size;
		if (command->commands || *bare == '-' || *bare == '|' || strcmp(bare, "ARG]...") == 0) continue;
		if (!complete_knows(bare)) fail_msg("sbx %s: what completes the operand %s?", command->name, bare);
	}
}

static void knows_values_of(const struct command *command) {
	for (size_t i = 0; i < command->options.count; i++) {
		const struct option_info *option = &command->options.options[i];
		if (option->value && !complete_knows(option->value))
			fail_msg("sbx %s: what completes --%s %s?", command->name, option->name, option->value);
	}
	for (const struct command *const *sub = command->commands; sub && *sub; sub++) knows_values_of(*sub);
	if (!command->hidden) knows_operands_of(command);
}

static void every_value_of_the_tables_has_its_completion(void **state) {
	(void)state;
	for (const struct command *const *command = command_all(); *command; command++) knows_values_of(*command);
	assert_false(complete_knows("NONSENSE"));
	assert_false(complete_knows("PROF"));
	assert_false(complete_knows(""));
}

/* No broker runs in this home, and none must be there afterwards. */
static int setup(void **state) {
	static char home[] = "/tmp/sbx-complete-XXXXXX";
	if (!mkdtemp(home)) return -1;
	setenv("HOME", home, 1);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("XDG_CONFIG_HOME");
	*state = home;
	return 0;
}

static int teardown(void **state) {
	return rmdir(*state); /* it is empty yet */
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_is_completed_by_what_the_tables_say),
		cmocka_unit_test(any_words_do),
		cmocka_unit_test(what_cannot_be_shown_is_not_offered),
		cmocka_unit_test(candidates_are_bounded),
		cmocka_unit_test(every_value_of_the_tables_has_its_completion),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
