#include "commands/commands.h"

/* clang-format off */
static const struct command *const commands[] = {
	&command_run,
	&command_prompts,
	&command_allow,
	&command_deny,
	&command_monitor,
	&command_grant,
	&command_revoke,
	&command_grants,
	&command_sessions,
	&command_kill,
	&command_publish,
	&command_home,
	&command_history,
	&command_why,
	&command_suggest,
	&command_policy,
	&command_check,
	&command_request,
	&command_describe,
	&command_doctor,
	&command_completion,
	&command_complete,
	NULL,
};
/* clang-format on */

const struct command *const *command_all(void) {
	return commands;
}
