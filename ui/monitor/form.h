/*
 * form: the few lines that stand between a key and what it does: an answer with its lifetime and scope, or the
 * end of a grant.
 *
 * Promises: bound to the prompts or the grant it was opened for; nothing is given by Enter alone or by a key that comes
 * within PROMPT_DELAY_MS after it appeared (attack B10); what must be confirmed in a terminal needs the whole word.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/string.h"
#include "prompts.h"
#include "schema/grant.h"

enum form_kind { FORM_NONE, FORM_ANSWER, FORM_REVOKE };
enum form_field { FORM_FIELD_LIFETIME, FORM_FIELD_SCOPE, FORM_FIELD_COUNT };
enum { FORM_WORD_MAX = 16, FORM_LIFETIMES = 7 };

struct form_lifetime {
	enum lifetime lifetime;
	int64_t ttl_ms; /* of LIFETIME_UNTIL */
};

struct monitor_form {
	enum form_kind kind;
	enum effect effect;
	int64_t *ids; /* prompts, or the grant; owned */
	size_t count;
	char *title;             /* visible text; owned */
	struct strings subjects; /* what it is about, one by one; not made visible yet */
	int64_t session;
	struct form_lifetime lifetimes[FORM_LIFETIMES];
	size_t lifetime_count, lifetime; /* the chosen one */
	struct strings scopes, scope_words;
	size_t scope;
	enum form_field field;
	bool confirm; /* the word is to be typed */
	bool opens_folder;
	bool unseen; /* the window is too small for all of that: nothing is allowed; set when it is drawn */
	char typed[FORM_WORD_MAX + 1];
	int64_t since_ms; /* boot clock */
};

/* All of them answered alike: one prompt, or a bundle. */
void form_answer(struct monitor_form *form, const struct waiting *prompts, size_t count, enum effect effect,
		 int64_t now_ms);
void form_revoke(struct monitor_form *form, const struct grant *grant, int64_t now_ms);
void form_close(struct monitor_form *form);

/* A prompt is gone: true when none is left and the form is closed by that. */
bool form_drop(struct monitor_form *form, int64_t prompt);

void form_move(struct monitor_form *form, long by);      /* to another field */
void form_change(struct monitor_form *form, long by);    /* another value of it */
void form_type(struct monitor_form *form, int key);      /* a letter of the word, or '\b' */
bool form_is_confirmed(const struct monitor_form *form); /* the word is there, or none is needed */

/* The body of an `answer`, of the prompt among those that it is for. */
json_t *form_answer_body(const struct monitor_form *form, const struct prompt *prompt);

/* What is chosen, in words. The first is freed by the caller, the second borrowed. */
char *form_lifetime_words(const struct monitor_form *form);
const char *form_scope_words(const struct monitor_form *form);
