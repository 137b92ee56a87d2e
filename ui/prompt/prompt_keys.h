/*
 * prompt_keys: what a person types at a question, key by key.
 *
 * Promises: a line counts when Enter ends it, and one that is longer than any word never does; the only keys that count
 * alone are those that allow nothing: Ctrl-C, Ctrl-D, Ctrl-Z and, on an empty line, `?`. The terminal's modes are put
 * back by prompt_keys_end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/error.h"

enum { PROMPT_LINE_MAX = 64 };

struct prompt_keys {
	int fd, gone_fd;
	bool is_terminal;
	struct termios before;
	char line[PROMPT_LINE_MAX + 1];
	size_t size;
	bool spoilt;  /* it is too long, or was ended by Ctrl-D */
	char control; /* of an escape sequence: the byte that tells its form; 0: none */
};

enum prompt_key {
	KEY_LINE,    /* in `line`, without its end; "" also for one that is no word */
	KEY_DENY,    /* Ctrl-C, Ctrl-D, or the end of what is no terminal */
	KEY_DETAILS, /* ? */
};

void prompt_keys_begin(struct prompt_keys *keys, int fd, int gone_fd);
void prompt_keys_end(struct prompt_keys *keys);

/* Wait without reading. -ECANCELED: gone_fd became readable. */
int prompt_keys_wait(const struct prompt_keys *keys, int ms, struct error *error);

/* What was typed so far counts as nothing. */
void prompt_keys_forget(struct prompt_keys *keys);

/* An enum prompt_key, or -ECANCELED, -EINTR for ^Z, -EIO when the terminal is gone. Typed keys are echoed. */
int prompt_keys_read(struct prompt_keys *keys, struct error *error);
