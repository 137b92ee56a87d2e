/* `sbx completion`: the scripts that make a shell ask `sbx complete` (ui/completion). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "commands/commands.h"
#include "completion/complete.h"

static const struct {
	const char *shell, *script;
} scripts[] = {{"bash", script_bash}, {"zsh", script_zsh}, {"fish", script_fish}};

static int run(struct command_call *call, struct error *error) {
	const char *login = getenv("SHELL");
	const char *shell = call->operands->count > 0 ? call->operands->items[0] : login ? path_name(login) : "bash";
	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
		if (strcmp(scripts[i].shell, shell) != 0) continue;
		fputs(scripts[i].script, stdout);
		return EXIT_DONE;
	}
	CLEANUP_FREE char *shown = text_visible_cut(shell, 40);
	return error_set(error, EINVAL, "there is no script for '%s'; expected bash, zsh or fish", shown);
}

const struct command command_completion = {
	.name = "completion",
	.operands = "[bash|zsh|fish]",
	.summary = "Print the completion script for your shell.",
	.details =
		"An installed sbx needs none of this. Else: bash: eval \"$(sbx completion bash)\" in ~/.bashrc; zsh: "
		"eval \"$(sbx completion zsh)\" in ~/.zshrc, after compinit; fish: sbx completion fish | source in "
		"~/.config/fish/config.fish. Default: the shell that $SHELL names.",
	.operands_most = 1,
	.run = run,
};
