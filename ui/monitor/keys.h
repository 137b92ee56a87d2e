/*
 * keys: which key does what, where: one table that keys are looked up in and that both helps are made from.
 */
#pragma once

#include "base/string.h"
#include "model.h"

/* What curses has read: a character, or one of its KEY_…; unknown ones do nothing. */
void keys_press(struct monitor_model *model, int code);

/* "a allow  d deny  ? help": what fits the mode and pane, in as many columns. Freed by the caller. */
char *keys_line(const struct monitor_model *model, size_t width);

void keys_help(struct string *out); /* the page of `?` */
