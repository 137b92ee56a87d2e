/*
 * outlets: all by which bytes of this run reach a terminal: its own pty, pipes that others read, and standard error of
 * the runner itself. While a question stands there they are held together (attack R19).
 *
 * Ownership: the three are borrowed by whoever has a copy, and each may be NULL.
 */
#pragma once

#include <stdbool.h>

#include "output.h"
#include "own_lines.h"
#include "terminal.h"

struct outlets {
	struct terminal *terminal;   /* NULL: none of the standard descriptors is one */
	struct output *output;       /* NULL: nobody reads what the tool writes */
	struct own_lines *own_lines; /* NULL: it has neither of them */
};

/* A question of our own begins: `first` is what its process writes before all else (terminal_hold). */
void outlets_leave(const struct outlets *outlets, struct string *first);
void outlets_return(const struct outlets *outlets);             /* it has ended */
void outlets_pause(const struct outlets *outlets, bool paused); /* another run's begins, or has ended */
/* The tool has ended, or was `killed` (terminal_drain): something is still to be written, or to be read of what was. */
bool outlets_have_more(const struct outlets *outlets, bool killed);
