#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "ui/command.h"

enum { HELP_WIDTH = 80, HELP_INDENT = 2, HELP_COLUMN = 24 };

void print_wrapped(FILE *out, size_t indent, const char *text) {
	size_t column = 0;
	while (*text) {
		size_t size = strcspn(text, " \n");
		CLEANUP_FREE char *word = string_copy_bytes(text, size);
		size_t columns = text_columns(word);
		if (column > 0 && column + 1 + columns > HELP_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (column == 0)
			column = (size_t)fprintf(out, "%*s", (int)indent, "");
		else
			column += (size_t)fprintf(out, " ");
		fputs(word, out);
		column += columns;
		text += size;
		if (*text == '\n') {
			fputc('\n', out);
			column = 0;
		}
		if (*text) text++;
	}
	fputc('\n', out);
}

static void help_option(FILE *out, const char *name, const char *value, const char *text) {
	CLEANUP_FREE char *head =
		string_format("%*s--%s%s%s", HELP_INDENT, "", name, value ? " " : "", value ? value : "");
	if (strlen(head) >= HELP_COLUMN - 1) {
		fprintf(out, "%s\n", head);
		print_wrapped(out, HELP_COLUMN, text);
		return;
	}
	/* The first line starts behind the name: print it as if the name were part of the indent. */
	char *wrapped = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&wrapped, &size);
	if (!memory) mem_exhausted();
	print_wrapped(memory, HELP_COLUMN, text);
	bool failed = ferror(memory) != 0;
	failed |= fclose(memory) != 0;
	if (failed || !wrapped) mem_exhausted(); /* glibc's fclose tells nothing of a text that it had no room for */
	fprintf(out, "%-*s%s", HELP_COLUMN, head, wrapped + HELP_COLUMN);
	free(wrapped);
}

/* "sbx-policy(1)" for `sbx policy check`. A page of that name leads to the one where the command is
 * (docs/CMakeLists.txt). */
static void help_manual(FILE *out, const struct command *command) {
	const size_t size = strcspn(command->name, " ");
	if (!command->hidden) fprintf(out, "\nManual: sbx-%.*s(1)\n", (int)size, command->name);
}

void command_help(const struct command *command, FILE *out) {
	const char *options = command->options.count > 0 ? " [OPTION]..." : "";
	const char *space = *command->operands ? " " : "";
	fprintf(out, "Usage: sbx %s%s%s%s\n\n", command->name, options, space, command->operands);
	print_wrapped(out, 0, command->summary);
	if (command->details) {
		fputc('\n', out);
		print_wrapped(out, 0, command->details);
	}
	if (command->commands) {
		fputs("\nCommands:\n", out);
		for (const struct command *const *sub = command->commands; *sub; sub++)
			fprintf(out, "  %-22s%s\n", (*sub)->name, (*sub)->summary);
	}
	if (!command->run) {
		help_manual(out, command);
		return;
	}
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < command->options.count; i++) {
		const struct option_info *option = &command->options.options[i];
		help_option(out, option->name, option->value, option->help);
	}
	help_option(out, "help", NULL, "Show this help and exit.");
	help_manual(out, command);
}

void command_help_all(const struct command *const *commands, FILE *out) {
	fputs("Usage: sbx COMMAND [OPTION]... [ARGUMENT]...\n\n"
	      "Runs command-line tools with only what policy and your own grants allow; asks\n"
	      "when they reach for more.\n\nCommands:\n",
	      out);
	for (const struct command *const *command = commands; *command; command++)
		if (!(*command)->hidden) fprintf(out, "  %-12s%s\n", (*command)->name, (*command)->summary);
	fputs("\nOptions:\n"
	      "  --help      Show this help; 'sbx run --help' shows that command's.\n"
	      "  --version   Show the version.\n\n"
	      "Start with:  sbx run -- COMMAND\n"
	      "Then see:    sbx grants, sbx history, man sbx\n",
	      out);
}
