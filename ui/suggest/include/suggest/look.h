/*
 * look: suggestions of what the broker has recorded: rows, grants, what the rules and the broker say of each.
 *
 * Promises: asks nobody, records nothing.
 */
#pragma once

#include <jansson.h>

#include "suggest/suggest.h"

struct suggest_found {
	struct suggest *suggest; /* finished */
	json_t *permissions;     /* suggest_words.permissions */
	bool cut;                /* older rows were not looked at */
};
void suggest_found_finish(struct suggest_found *found);
#define CLEANUP_SUGGEST_FOUND __attribute__((cleanup(suggest_found_finish)))

/* `filter` as in `list` (docs/protocol.md); taken over. */
int suggest_look(json_t *filter, struct suggest_found *ret_found, struct error *error);
