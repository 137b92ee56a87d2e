/*
 * screen_picture: the bytes that draw what a full-screen program shows (the theory: screen.c).
 *
 * Promises: at most LIMIT_PICTURE of them; either all that are needed, or none (`picture_is_whole`).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct picture {
	struct string bytes;
	unsigned rows; /* of the screen */
	bool whole;
	bool placed;    /* where the cursor is, is known */
	bool home;      /* it is at the first place */
	bool saved;     /* it was saved (DECSC) in the picture */
	bool floating;  /* only its column is known */
	unsigned feeds; /* so many lines down, then */
};

/* Nothing is on the screen but what comes now. Where the cursor is, is not known yet. */
void picture_begin(struct picture *picture);
void picture_give_up(struct picture *picture);
bool picture_is_whole(const struct picture *picture);

void picture_add(struct picture *picture, const char *bytes, size_t size);       /* wherever the cursor is */
void picture_add_there(struct picture *picture, const char *bytes, size_t size); /* where it is counts */
void picture_add_line(struct picture *picture, const char *bytes, size_t size); /* letters, what goes about in a line */

/* The cursor goes to a place that doesn't depend on where it was. */
void picture_place(struct picture *picture);
