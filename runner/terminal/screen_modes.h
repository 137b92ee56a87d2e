/*
 * screen_modes: the switches of a terminal (DEC private modes) that a tool has thrown and a question throws back.
 *
 * Promises: those of the table in screen_modes.c, and no others. A question begins where all are as a terminal has
 * them when it is switched on (prompt_terminal's clean slate).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

struct screen_modes {
	uint32_t changed, saved; /* bits: rows of the table; saved: XTSAVE */
};

enum {
	SCREEN_MODE_ORIGIN = 6,   /* lines count from the upper margin; moves the cursor there */
	SCREEN_MODE_KEYPAD = 66,  /* DECNKM, also as ESC = and ESC > */
	SCREEN_MODE_MARGINS = 69, /* there may be margins at the left and right */
};

void screen_modes_set(struct screen_modes *modes, unsigned number, bool on);
bool screen_modes_on(const struct screen_modes *modes, unsigned number);
bool screen_modes_known(unsigned number);
bool screen_modes_draw(unsigned number); /* it says where and how letters appear */
void screen_modes_save(struct screen_modes *modes, unsigned number);
void screen_modes_restore(struct screen_modes *modes, unsigned number);
void screen_modes_soft_reset(struct screen_modes *modes);

/* What throws them again: those that draw, but for the origin, or all others. */
void screen_modes_append(const struct screen_modes *modes, bool draw, struct string *out);
void screen_modes_append_usual(const struct screen_modes *modes, struct string *out); /* what throws all back */
