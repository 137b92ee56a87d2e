/*
 * screen_style: how the letters look that a tool writes next: bold, colours and so on (SGR, CSI … m).
 *
 * Promises: bounded, whatever comes; what is not known is passed over.
 */
#pragma once

#include <stdint.h>

#include "base/string.h"

enum { SCREEN_COLOUR_SIZE = 24, SCREEN_COLOURS = 3 };

struct screen_style {
	uint16_t attributes; /* bits: rows of the table in screen_style.c */
	char underline;      /* 0, or the digit of its kind: 1 straight, 3 curly … */
	/* Of the letters, the ground, the line; as they were said ("31", "38;5;208", "48:2::1:2:3"); "": the usual one.
	 */
	char colours[SCREEN_COLOURS][SCREEN_COLOUR_SIZE];
};

/* The parameters of an SGR: what stands between "CSI" and "m". */
void screen_style_take(struct screen_style *style, const char *parameters);

/* The SGR that makes it from plain letters; nothing for these. */
void screen_style_append(const struct screen_style *style, struct string *out);
