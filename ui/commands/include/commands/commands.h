/*
 * commands: sbx's subcommands, one file each, and their list.
 *
 * Promises: the only room that all the others of ui/ are below: none of them knows a command by its name.
 */
#pragma once

#include "ui/command.h"

extern const struct command command_run, command_grant, command_revoke, command_grants, command_sessions, command_kill,
	command_publish, command_prompts, command_allow, command_deny, command_check, command_history, command_why,
	command_suggest, command_monitor, command_policy, command_request, command_describe, command_doctor,
	command_completion, command_complete, command_home;

const struct command *const *command_all(void); /* NULL-terminated, in the order of --help */
