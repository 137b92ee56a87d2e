/* The subcommands of `sbx home`. */
#pragma once

#include "ui/command.h"

extern const struct command command_home_keep, command_home_clear;
