/*
 * lines: how many lines a text takes in a notification, so that no button is offered for what isn't seen.
 *
 * Promises: a server that has at least LINES_COLUMNS average letters a line needs no more lines than are told here:
 * letters that proportional type draws wide count twice or more, and of the ways in which servers break a long word
 * (UAX #14 lets a line end behind many signs) the one that takes most lines counts.
 */
#pragma once

#include <stddef.h>

enum {
	LINES_SHOWN = 6, /* GNOME Shell 43 shows of an expanded notification's body (ui/messageList.js) */
	LINES_COLUMNS = 40,
};

/* Of visible text (base/text.h), whose own lines end with '\n'; without markup. */
size_t lines_of(const char *visible);

/* The longest end of one line of visible text that takes at most so many lines with `before` in front, an ellipsis
 * between. It begins with one of `breaks`, or behind it where that is a dot (NULL: anywhere), and at `least`, which
 * points into the text, at the latest; NULL: none does. Without `before`. Freed by the caller. */
char *lines_tail(const char *before, const char *visible, const char *least, const char *breaks, size_t lines);

/* Its beginning, so many columns at most, an ellipsis behind what is longer. Freed by the caller. */
char *lines_head(const char *visible, size_t columns);
