/*
 * why_changes: what would change how a request is decided, after the walk through the stack.
 *
 * Promises: a command does what its words say when it is typed where `sbx why` was; a grant is named only where the
 * stack asks for grants before what decided.
 */
#pragma once

#include <jansson.h>

#include "base/string.h"
#include "schema/advice.h"
#include "schema/permission.h"
#include "schema/verdict.h"

/* Borrowed. */
struct why_answer {
	const struct permission *permission;
	const struct advice_about *about;
	const struct verdict *verdict;
	const json_t *steps;        /* of the reply of `why` */
	const char *untrusted_path; /* a .sbx.yaml of the project that doesn't count as a whole, or NULL */
	const char *project;
};

/* One of command and place, or none: `what` says it all. Visible text. */
struct why_change {
	char *what;
	char *command; /* "sbx …" */
	char *place;   /* "file:line" */
};

struct why_changes {
	struct why_change *items;
	size_t count;
};

void why_changes_find(const struct why_answer *answer, struct why_changes *ret_changes);
json_t *why_changes_to_json(const struct why_changes *changes); /* [{what, command, place}] */
void why_changes_finish(struct why_changes *changes);
