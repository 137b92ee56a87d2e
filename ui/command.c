#include "ui/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "runner/inside.h"
#include "ui/nearest.h"

const char *command_word(const struct command *command) {
	const char *space = strrchr(command->name, ' ');
	return space ? space + 1 : command->name;
}

const struct command *command_lookup(const struct command *const *list, const char *word) {
	for (; *list; list++)
		if (strcmp(command_word(*list), word) == 0) return *list;
	return NULL;
}

static int unknown_command(const struct command *const *list, const char *before, const char *word,
			   struct error *error) {
	struct nearest nearest = nearest_start(word);
	for (; *list; list++)
		if (!(*list)->hidden) nearest_offer(&nearest, command_word(*list));
	CLEANUP_FREE char *shown = text_visible_cut(word, 40);
	const char *found = nearest_found(&nearest);
	if (found)
		return error_set(error, EINVAL, "unknown command '%s%s': did you mean 'sbx %s%s'?", before, shown,
				 before, found);
	return error_set(error, EINVAL, "unknown command '%s%s'", before, shown);
}

static int refuse_root(const struct command *command, struct error *error) {
	if (!command->refuses_root || (geteuid() != 0 && getuid() != 0)) return 0;
	return error_set(
		error, EPERM,
		"sbx does not run as root (user 0), since the kernel's own files stay writable for it whatever "
		"a sandbox does: do this as an ordinary user, or start one with 'sbx run --as-user NAME -- "
		"COMMAND'");
}

static int check_operands(const struct command *command, const struct strings *operands, struct error *error) {
	if (operands->count < command->operands_least)
		return error_set(error, EINVAL, "too few arguments: sbx %s %s", command->name, command->operands);
	if (operands->count <= command->operands_most) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(operands->items[command->operands_most], 40);
	if (command->operands_most == 0)
		return error_set(error, EINVAL, "unexpected argument '%s': it takes options only", shown);
	return error_set(error, EINVAL, "unexpected argument '%s': sbx %s %s", shown, command->name, command->operands);
}

static int command_run_parsed(const struct command *command, char *const *argv, char *const *whole, void *values,
			      bool *ret_understood, struct error *error) {
	CLEANUP_STRINGS struct strings operands = {0};
	int r = options_parse(&command->options, argv, values, &operands, error);
	if (r == 1) {
		command_help(command, stdout);
		return EXIT_DONE;
	}
	if (r == 0) r = check_operands(command, &operands, error);
	if (r < 0) return r;
	struct command_call call = {.command = command, .values = values, .operands = &operands, .argv = whole};
	*ret_understood = true;
	if (command->refuses_root && !command->works_inside && inside_refuse(error) < 0) {
		log_error("%s: %s", command->name, error->message);
		return EXIT_FAILED;
	}
	r = refuse_root(command, error);
	return r < 0 ? r : command->run(&call, error);
}

static int command_run_words(const struct command *command, char *const *argv, char *const *whole, bool *ret_understood,
			     struct error *error) {
	void *values = mem_alloc(1, command->values_size + 1);
	int r = command_run_parsed(command, argv, whole, values, ret_understood, error);
	options_finish(&command->options, values);
	free(values);
	return r;
}

/* No subcommand was named, and the command does nothing by itself. */
static int expect_subcommand(const struct command *command, const char *word, struct error *error) {
	const bool help = word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
	if (!help) return error_set(error, EINVAL, "expected %s", command->operands);
	command_help(command, stdout);
	return EXIT_DONE;
}

static int command_dispatch(const struct command *command, char *const *argv, char *const *whole,
			    const struct command **ret_command, bool *ret_understood, struct error *error) {
	*ret_command = command;
	if (command->commands && argv[0] && argv[0][0] != '-') {
		const struct command *sub = command_lookup(command->commands, argv[0]);
		CLEANUP_FREE char *before = string_format("%s ", command->name);
		if (!sub) return unknown_command(command->commands, before, argv[0], error);
		return command_dispatch(sub, argv + 1, whole, ret_command, ret_understood, error);
	}
	if (!command->run) return expect_subcommand(command, argv[0], error);
	return command_run_words(command, argv, whole, ret_understood, error);
}

/* `understood`: the words were; what went wrong then, no help about usage mends. */
static int report(const struct command *command, int r, bool understood, const struct error *error) {
	if (r >= 0) return r;
	if (command)
		log_error("%s: %s", command->name, error->message);
	else
		log_error("%s", error->message);
	if (r != -EINVAL) return command && command->failure ? command->failure : EXIT_NO;
	if (understood) return EXIT_USAGE;
	if (command)
		log_error("'sbx %s --help' shows how it is used", command->name);
	else
		log_error("'sbx --help' shows how it is used");
	return EXIT_USAGE;
}

/* Output that was cut short (a full disk) must not look like success. */
static int flush_output(int status) {
	if (fflush(stdout) == 0 && !ferror(stdout)) return status;
	log_error("writing the output: %s", strerror(errno));
	return status == EXIT_DONE ? EXIT_NO : status;
}

int command_main(const struct command *const *commands, char *const *argv) {
	struct error error = ERROR_NONE;
	const char *word = argv[0] ? argv[1] : NULL;
	if (!word) {
		command_help_all(commands, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		const struct command *about = argv[2] ? command_lookup(commands, argv[2]) : NULL;
		if (argv[2] && !about)
			return report(NULL, unknown_command(commands, "", argv[2], &error), false, &error);
		if (about)
			command_help(about, stdout);
		else
			command_help_all(commands, stdout);
		return flush_output(EXIT_DONE);
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
		printf("sbx %s\n", SBX_VERSION);
		return flush_output(EXIT_DONE);
	}
	if (word[0] == '-') {
		CLEANUP_FREE char *shown = text_visible_cut(word, 40);
		return report(NULL, error_set(&error, EINVAL, "unknown option '%s': expected a command first", shown),
			      false, &error);
	}
	const struct command *command = command_lookup(commands, word);
	if (!command) return report(NULL, unknown_command(commands, "", word, &error), false, &error);
	bool understood = false;
	int r = command_dispatch(command, argv + 2, argv, &command, &understood, &error);
	return flush_output(report(command, r, understood, &error));
}
