/*
 * text: suggestions as a policy file, with why as comments, or as JSON.
 *
 * Promises: what comes out loads as a policy whose rules are just the suggestions, whatever bytes a target has: no text
 * from the history stands outside double quotes but visible ones in comments, one line each.
 */
#pragma once

#include <jansson.h>

#include "base/string.h"
#include "suggest/suggest.h"

/* Descriptions of the user's own permissions: "db:access" → what a question says. */
struct suggest_words {
	const char *about;         /* "session 12", "the last 7d" */
	const json_t *permissions; /* [{"name", "description"}]; or NULL */
};

void suggest_text(struct suggest *suggest, const struct suggest_words *words, struct string *out);
json_t *suggest_json(struct suggest *suggest); /* one array; the caller's */
