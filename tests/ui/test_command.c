/* The table of commands: what help says, and that wrong usage is told apart. No broker is started here. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "support/cmocka.h"

static char *help_of(const struct command *command) {
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (command)
		command_help(command, out);
	else
		command_help_all(command_all(), out);
	fclose(out);
	return text;
}

static void assert_fits(const char *help) {
	CLEANUP_FREE char *copy = string_copy(help);
	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
		if (text_columns(line) > 80 && !strstr(line, "Usage: ")) fail_msg("wider than 80 columns: %s", line);
}

static void help_has_every_option_of(const struct command *command) {
	CLEANUP_FREE char *help = help_of(command);
	assert_fits(help);
	assert_non_null(strstr(help, command->summary));
	for (size_t i = 0; i < command->options.count; i++) {
		CLEANUP_FREE char *option = string_format("  --%s", command->options.options[i].name);
		assert_non_null(strstr(help, option));
		assert_true(command->options.options[i].offset < command->values_size);
		assert_int_equal(command->options.options[i].value == NULL,
				 command->options.options[i].kind == OPTION_FLAG);
	}
	for (const struct command *const *sub = command->commands; sub && *sub; sub++) help_has_every_option_of(*sub);
}

static void help_names_every_command_and_option(void **state) {
	(void)state;
	CLEANUP_FREE char *all = help_of(NULL);
	assert_fits(all);
	for (const struct command *const *command = command_all(); *command; command++) {
		CLEANUP_FREE char *line = string_format("\n  %s ", (*command)->name);
		assert_int_equal(strstr(all, line) == NULL, (*command)->hidden);
		help_has_every_option_of(*command);
	}
}

/* What command_main says on stderr, and its exit status. */
static int run_main(char *const *argv, char **ret_said) {
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	int saved = dup(STDERR_FILENO);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	int status = command_main(command_all(), argv);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	assert_int_equal(file_read_fd(ends[0], "pipe", 65536, ret_said, NULL, NULL), 0);
	close(ends[0]);
	return status;
}

static void wrong_usage_exits_2_and_says_what_was_expected(void **state) {
	(void)state;
	static const struct {
		const char *argv[6];
		const char *said;
	} cases[] = {
		{{"sbx"}, "Usage: sbx COMMAND"},
		{{NULL}, "Usage: sbx COMMAND"},
		{{"sbx", "grnt"}, "did you mean 'sbx grant'?"},
		{{"sbx", "frobnicate"}, "'sbx --help' shows"},
		{{"sbx", "\x1b[2J"}, "'\\x1b[2J'"},
		{{"sbx", "--hlep"}, "unknown option '--hlep'"},
		{{"sbx", "help", "grnt"}, "did you mean 'sbx grant'?"},
		{{"sbx", "grant"}, "sbx grant PERM TARGET"},
		{{"sbx", "grant", "fs:read", "/x", "/y"}, "unexpected argument '/y'"},
		{{"sbx", "grants", "--jsno"}, "did you mean --json?"},
		{{"sbx", "policy"}, "check [FILE] | show"},
		{{"sbx", "policy", "chekc"}, "did you mean 'sbx policy check'?"},
		{{"sbx", "policy", "distrust"}, "unknown command 'policy distrust'"},
		{{"sbx", "home", "liste"}, "unknown command 'home liste'"},
		{{"sbx", "home", "--jsno"}, "did you mean --json?"},
		{{"sbx", "home", "--json", "keep"}, "unexpected argument 'keep'"},
		{{"sbx", "home", "keep"}, "sbx home keep PATH..."},
		{{"sbx", "run"}, "too few arguments"},
		{{"sbx", "run", "--timeout", "forever", "true"}, "15m"},
		{{"sbx", "allow", "--", "x"}, NULL},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *said = NULL;
		int status = run_main((char *const *)cases[i].argv, &said);
		if (!cases[i].said) continue;
		assert_int_equal(status, 2);
		if (!strstr(said, cases[i].said)) fail_msg("expected '%s' in: %s", cases[i].said, said);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_names_every_command_and_option),
		cmocka_unit_test(wrong_usage_exits_2_and_says_what_was_expected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
