/*
 * screen_parse: what a tool writes to its terminal, in pieces that mean something.
 *
 * Promises: takes bytes apart as vt100.net/emu/dec_ansi_parser does, however they are cut; a piece is handed out when
 * it is complete, and none is longer than LIMIT_SEQUENCE: of a longer string the beginning is handed out, a longer
 * control only its last letter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

enum screen_piece {
	PIECE_TEXT,    /* letters; a sequence of UTF-8 is whole */
	PIECE_AT_ONCE, /* one byte below space; in the middle of a control it comes before that */
	PIECE_ESCAPE,  /* ESC and what belongs to it */
	PIECE_CONTROL, /* ESC [ … letter */
	PIECE_CUT,     /* the letter of a longer one */
	PIECE_STRING,  /* OSC, DCS and the like, with its end */
};

struct screen_parse {
	enum screen_state { GROUND, POINT, ESCAPE, CONTROL, STRING, STRING_ESCAPE } state;
	struct string sequence; /* since it began, while state isn't GROUND */
	bool cut;               /* there was more of it */
	unsigned point_left;    /* bytes of a letter in UTF-8 */
	void (*take)(void *context, enum screen_piece piece, const char *bytes, size_t size);
	void *context;
};

void screen_parse_see(struct screen_parse *parse, const char *bytes, size_t size);

/* What makes a terminal that has just been switched on expect the rest of what isn't complete. Of one that is too long
 * to be kept another beginning, of what comes to nothing. */
void screen_parse_resume(const struct screen_parse *parse, struct string *out);

void screen_parse_finish(struct screen_parse *parse);
