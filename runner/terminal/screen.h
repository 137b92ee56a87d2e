/*
 * screen: what a tool has made of the user's terminal, so that a question can be put there and everything be put back.
 *
 * Promises: follows the tool's output as it went to the terminal; bounded whatever it is (LIMIT_PICTURE,
 * LIMIT_SEQUENCE); says nothing to the terminal itself but the bytes that the caller is to send. What is sent makes no
 * terminal answer: queries of the tool's are not repeated. Where it is wrong about the terminal (a control it doesn't
 * know), a question is still seen and answered as ever, for that rests on nothing here (ui/prompt/prompt_terminal.c);
 * only what comes after looks otherwise until the tool draws it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/string.h"

struct screen;

struct screen *screen_new(unsigned rows);
void screen_free(struct screen *screen);

void screen_see(struct screen *screen, const char *bytes, size_t size); /* the tool's, as the terminal got them */
void screen_resized(struct screen *screen, unsigned rows);

/*
 * Before a question: to where it doesn't harm what the tool shows. A tool that `reads_keys` (its terminal is not in
 * canonical mode) and goes about on the main screen gets its own back afterwards, so the question is put on the other.
 */
void screen_leave(struct screen *screen, bool reads_keys, struct string *out);

enum screen_back {
	SCREEN_AS_IT_WAS,
	SCREEN_BELOW, /* the question stands where the tool writes lines; what it draws there it may want to draw anew
		       */
	SCREEN_LOST,  /* the tool must draw it */
};

/* After it: back, with what the tool had switched on. */
enum screen_back screen_return(const struct screen *screen, struct string *out);

/*
 * The tool has ended. What it left open would swallow what is written next, and where letters are read as bytes some
 * are controls. One that was killed had no time to put back what else it had switched on; of any other that is what it
 * wanted (tput(1)).
 */
void screen_end(const struct screen *screen, bool killed, struct string *out);

DEFINE_CLEANUP(struct screen *, screen_free);
#define CLEANUP_SCREEN CLEANUP(screen_free_p)
