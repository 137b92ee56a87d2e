/*
 * grant_set: the grants in force for one subject, read once and compiled, for the many lookups that make a view.
 *
 * Promises: finds what grants_find would at the moment it was made, without the database.
 */
#pragma once

#include "grants.h"

struct grant_set {
	struct grant_list list;
	struct pattern **patterns; /* one a grant */
	struct moment now;
};

int grant_set_load(struct grants *grants, const struct clock *clock, const struct subject *subject, int64_t session,
		   struct grant_set *ret_set, struct error *error);
void grant_set_finish(struct grant_set *set);
#define CLEANUP_GRANT_SET __attribute__((cleanup(grant_set_finish)))

/* stack.h's find: `context` is the set. */
bool grant_set_find(void *context, const struct request *request, struct grant *ret_grant,
		    struct pattern_rank *ret_rank);
