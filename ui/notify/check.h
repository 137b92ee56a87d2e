/* check: `sbx-notify --check`: what there is of a desktop, for `sbx doctor` and for people. */
#pragma once

#include <stdbool.h>

/* Prints it; 0 when prompts can be answered by buttons there, 1 when not. Takes at most some seconds. */
int check_print(bool json);
