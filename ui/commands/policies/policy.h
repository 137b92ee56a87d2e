/*
 * command_policy: the subcommands of `sbx policy` that have a file of their own.
 */
#pragma once

#include "commands/commands.h"

extern const struct command command_policy_trust;
