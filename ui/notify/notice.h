/*
 * notice: what a notification says, and its buttons (design section 8).
 *
 * Promises: all of it is visible text (base/text.h), bounded, and escaped where the server reads markup; no part of a
 * body looks like a link, which servers would open with what a tool has written (attack R16). The summary's
 * words are sbx's, and the name of the program that the user started: none that a process gives itself. The body begins
 * with what a button answers: the target, all that an allow covers, whose it is, where, and until when it waits. What
 * servers show at least (lines.h) holds all of that, or there is no button that allows, but one that opens a terminal
 * (attack R16). There is never a lone button, nor one called "default": servers fire those by a click anywhere (Desktop
 * Notifications Specification 1.2, "Actions"). What needs a terminal, or a server without buttons, gets the command in
 * their place. No input or output here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "schema/grant.h"
#include "schema/prompt.h"

enum {
	NOTICE_LISTED_MAX = 6, /* questions in one notification */
	NOTICE_BUTTONS = 3,    /* GNOME Shell drops more */
};

/* The values of the hint `urgency`. */
enum notice_urgency { URGENCY_LOW, URGENCY_NORMAL, URGENCY_CRITICAL };

struct notice_button {
	const char *verb; /* the action's key is this, "-" and a token */
	char *label;
	bool reviews; /* it answers nothing, and opens a terminal */
	enum effect effect;
	enum lifetime lifetime;
	int64_t ttl_ms; /* of LIFETIME_UNTIL */
};

struct notice {
	char *summary, *body;
	const char *icon; /* its name: our own, or one of the icon naming specification */
	enum notice_urgency urgency;
	bool transient;    /* not kept by the server once it is off the screen */
	int64_t expire_ms; /* 0: never */
	struct notice_button buttons[NOTICE_BUTTONS];
	size_t button_count;
};

void notice_finish(struct notice *notice);
#define CLEANUP_NOTICE __attribute__((cleanup(notice_finish)))

struct notice_questions {
	const struct prompt *prompts[NOTICE_LISTED_MAX]; /* borrowed; they agree in confirm_terminal */
	size_t count;                                    /* ≥ 1 */
	size_t terminal_only; /* others of the session that need a terminal, and have a notification of their own */
	const char *note;     /* what became of an answer, a sentence; or NULL */
};

/* How to say it: the server's abilities, and the time. */
struct notice_manner {
	bool buttons, markup;
	bool narrow;    /* no three buttons fit */
	int64_t now_ms; /* wall clock */
};

void notice_ask(const struct notice_questions *questions, const struct notice_manner *manner, struct notice *ret);
/* More questions wait than are shown. */
void notice_more(size_t count, struct notice *ret);
/* Nobody was to be disturbed, and these were denied meanwhile; of `count` some are named, by notice_line. */
void notice_missed(size_t count, const struct strings *lines, const struct notice_manner *manner, struct notice *ret);

/* "npm: connect to example.org:443". Visible, not escaped. Freed by the caller. */
char *notice_line(const struct prompt *prompt);

/* The key of a button's action. Freed by the caller. */
char *notice_key(const struct notice_button *button, const char *token);
/* The button that this key with this token is of; NULL. */
const struct notice_button *notice_find(const struct notice *notice, const char *token, const char *key);
