/* `sbx completion`: a script for bash, made from the tables. */
#include <stdio.h>

#include "ui/command.h"

static void print_options(const struct command *command) {
	for (size_t i = 0; i < command->options.count; i++) printf(" --%s", command->options.options[i].name);
	printf(" --help");
}

static void print_case(const struct command *command) {
	printf("\t\t%s) words='", command->name);
	for (const struct command *const *sub = command->commands; sub && *sub; sub++)
		printf("%s ", (*sub)->name + strlen(command->name) + 1);
	print_options(command);
	printf("' ;;\n");
}

static int run(struct command_call *call, struct error *error) {
	(void)call, (void)error;
	puts("# bash completion for sbx: eval \"$(sbx completion)\"\n"
	     "_sbx() {\n"
	     "\tlocal words= word=${COMP_WORDS[COMP_CWORD]}\n"
	     "\tcase ${COMP_WORDS[1]} in");
	for (const struct command *const *command = command_all(); *command; command++) print_case(*command);
	printf("\tesac\n\tif ((COMP_CWORD == 1)); then words='--help --version");
	for (const struct command *const *command = command_all(); *command; command++) printf(" %s", (*command)->name);
	puts("'; fi\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	     "}\n"
	     "complete -o default -F _sbx sbx");
	return EXIT_DONE;
}

const struct command command_completion = {
	.name = "completion",
	.operands = "",
	.summary = "Print the completion script for bash.",
	.details = "To use it: eval \"$(sbx completion)\" in ~/.bashrc. Names come from the tables that sbx itself "
		   "parses with.",
	.run = run,
};
