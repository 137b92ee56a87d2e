/*
 * terminfo: is anything known of the terminal? By itself, for <term.h> makes macros of words such as `columns`.
 */
#pragma once

#include <stdbool.h>

bool terminfo_is_known(void); /* $TERM is in the database */
