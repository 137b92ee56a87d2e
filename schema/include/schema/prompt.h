/*
 * prompt: a question as agents see it: an immutable snapshot (attack B6).
 *
 * Promises: the JSON keys are those of design section 9, plus "token" in what a registered agent is sent.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"
#include "base/string.h"
#include "schema/permission.h"

struct prompt {
	int64_t id;
	int64_t session;
	int64_t bundle; /* the first prompt of those that are asked together; 0: it is asked alone */
	char *profile, *project;
	char *command; /* that the session runs, as its user gave it; or NULL */
	struct permission permission;
	char *description; /* of a permission of the user's own, by its policy; or NULL */
	char *target;
	char *name;    /* in the target, a folder: the path that the call is about; of a connection, the other host that
			  its first bytes ask for; or NULL */
	char *process; /* or NULL */
	struct strings parents;
	char *reason; /* or NULL */
	char *why;    /* which rule asks */
	bool confirm_terminal;
	bool opens_folder;     /* so an allow can't be for one call (request.h) */
	bool denial_lasts;     /* a denial for once holds for the session: asked at the start, denied twice already */
	struct strings scopes; /* "exact", "folder", "host", "domain", … what the answer may name */
	int64_t deadline_ms;   /* wall clock */
	int64_t lifetime_ms;   /* of an allow that names none */
	bool desktop;          /* a desktop agent shows it: a run's own terminal needn't interrupt */
	char token[RANDOM_TOKEN_SIZE]; /* single use; empty where it isn't told */
};

void prompt_finish(struct prompt *prompt);
json_t *prompt_to_json(const struct prompt *prompt); /* with "token" only when it is set */
int prompt_from_json(const json_t *json, struct prompt *ret_prompt, struct error *error);
#define CLEANUP_PROMPT __attribute__((cleanup(prompt_finish)))
