/*
 * terminal: the user's terminal on one side, the tool's pty on the other, as sudo's use_pty does it.
 *
 * Promises: the user's terminal is only touched while we are its foreground process group, and is left as it was
 * found; its description is opened anew, so nobody else's O_NONBLOCK changes. What the tool may do to its pty (TIOCSTI,
 * modes) doesn't reach the user's terminal. A prompt leaves a full-screen program's picture as it was (screen.h).
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/string.h"

struct terminal;

/* *ret_terminal stays NULL when none of 0, 1, 2 is a terminal; `is_terminal` says which are. */
int terminal_open(struct event_base *base, bool is_terminal[3], struct terminal **ret_terminal, struct error *error);

struct winsize terminal_size(const struct terminal *terminal);
struct termios terminal_modes(const struct terminal *terminal); /* as found */
bool terminal_is_foreground(const struct terminal *terminal);
bool terminal_is_of(const struct terminal *terminal, pid_t group); /* its foreground is that group */
bool terminal_is_gone(const struct terminal *terminal);            /* it was hung up */

/* Copy between the terminal and `master` (taken over). What is typed goes to the tool only after terminal_take. */
void terminal_attach(struct terminal *terminal, int master);

void terminal_take(struct terminal *terminal);    /* raw, typing goes to the tool; nothing when in the background */
void terminal_release(struct terminal *terminal); /* as found, typing is not read */
void terminal_resize(struct terminal *terminal);  /* SIGWINCH */

/*
 * For a prompt: the tool's output waits, and the terminal is as found, until terminal_go_on, which puts back what the
 * tool had made of it and makes it redraw. What is appended to *first goes to the terminal before all else.
 */
void terminal_hold(struct terminal *terminal, struct string *first);
void terminal_go_on(struct terminal *terminal);
void terminal_pause(struct terminal *terminal, bool paused);      /* for another run's: the tool's output waits */
int terminal_reopen(const struct terminal *terminal);             /* a blocking descriptor of its own, or -1 */
void terminal_recover(const struct terminal *terminal);           /* it was killed: the modes as found */
void terminal_give(const struct terminal *terminal, pid_t group); /* make a process group the foreground one */

/* The tool has ended: show what it still wrote; one that was `killed` left its screen as it was. */
void terminal_drain(struct terminal *terminal, bool killed);
bool terminal_has_more(const struct terminal *terminal, bool killed); /* would that write anything? NULL is allowed */
void terminal_free(struct terminal *terminal);
DEFINE_CLEANUP(struct terminal *, terminal_free);
