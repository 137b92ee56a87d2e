/*
 * command: the table of sbx's subcommands: what main dispatches by and --help prints.
 *
 * Promises: one file per command (command_NAME.c), each defining one constant of this type; options, help and the
 * number of operands are data, so that parsing and help cannot differ. A command returns its exit status, or a
 * negative errno with the error filled, which main prints as `sbx: what: why`: exit 2 for -EINVAL (usage), else 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/string.h"
#include "ui/option.h"

/* Exit codes of sbx (sbx(1), EXIT STATUS); `sbx run` has more (runner/run.h). EXIT_FAILED: neither yes nor no. */
enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_FAILED = 125 };

struct command;

struct command_call {
	const struct command *command;
	void *values;             /* what the options said: the command's own structure */
	struct strings *operands; /* may be taken */
	char *const *argv;        /* the whole command line of sbx */
};

struct command {
	const char *name; /* "grant", "policy check" */
	const char *operands;
	const char *summary; /* one line */
	const char *details; /* paragraphs, wrapped when printed; or NULL */
	struct option_table options;
	size_t values_size;
	size_t operands_least, operands_most;
	bool hidden;                           /* for programs: neither help nor completion names it */
	bool refuses_root;                     /* it needs the broker: refused inside a sandbox, too */
	bool works_inside;                     /* not that */
	int failure;                           /* exit status when it fails, where EXIT_NO is an answer; 0: EXIT_NO */
	const struct command *const *commands; /* subcommands, NULL-terminated; or NULL */
	/* NULL: it has subcommands, and does nothing without one. */
	int (*run)(struct command_call *call, struct error *error);
};

/* The whole program: find the command in the list (NULL-terminated, in the order of --help), parse, run, print the
 * error. */
int command_main(const struct command *const *commands, char *const *argv);

/* "check" of "policy check". Borrowed. */
const char *command_word(const struct command *command);
const struct command *command_lookup(const struct command *const *list, const char *word); /* or NULL */
void command_help(const struct command *command, FILE *out);
void command_help_all(const struct command *const *commands, FILE *out);

/* Text broken at spaces so that no line is wider than 80 columns, every line indented. '\n' starts a new line. */
void print_wrapped(FILE *out, size_t indent, const char *text);
