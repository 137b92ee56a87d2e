/*
 * command_policy: the subcommands of `sbx policy` that have a file of their own.
 */
#pragma once

#include "ui/command.h"

extern const struct command command_policy_trust;
