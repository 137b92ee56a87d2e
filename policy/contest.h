/*
 * contest: which of a subject's rules decides a request (design section 4, "Which rule wins"). Pure.
 */
#pragma once

#include "index.h"
#include "policy/ruleset.h"

struct winner {
	const struct rule *rule; /* NULL: none */
	struct pattern_rank rank;
};

struct winner contest_decide(const struct rule_index *index, const struct permission *permission, const char *target);

/* net:access of an address, by those rules alone that name addresses. */
struct winner contest_address(const struct rule_index *index, const char *target);

/* The closest sticky rule that speaks of such a request. */
struct winner contest_sticky(const struct rule_index *index, const struct permission *permission, const char *target);
