/*
 * leads: denials of files that name a link, where it leads.
 *
 * Promises: only the part of a pattern before its first wildcard is followed, as in a plan (runner/linked.h). Of a
 * moment: whoever keeps the rules asks whether it is still so.
 */
#pragma once

#include "base/string.h"
#include "policy/ruleset.h"

/* What denials name, and where each place led: "" = nowhere else. Zero-initialise. */
struct leads {
	const struct ruleset_follow *follow;
	struct strings places, there;
};

/* Adds to the rules those that the denials among them make where they lead. `follow` NULL: none. */
int leads_add(struct leads *leads, const struct ruleset_follow *follow, struct rule **rules, size_t *count,
	      struct error *error);
bool leads_are_current(const struct leads *leads);
void leads_finish(struct leads *leads);

void rule_lead_free(struct rule_lead *lead); /* NULL is allowed */

/* The name by the link of a target that such a rule matches. Freed by the caller. */
char *rule_lead_name(const struct rule_lead *lead, const char *target);
