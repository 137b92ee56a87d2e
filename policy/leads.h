/*
 * leads: denials of files that name a link, where it leads.
 *
 * Promises: only the part of a pattern before its first wildcard is followed, as in a plan (runner/sandbox/linked.h).
 * Of a moment: whoever keeps the rules asks whether it is still so. However many denials there are and wherever they
 * lead, LIMIT_LEAD_LOOKS bounds what following them costs, apart for the rules of a project's file, which a tool may
 * have written. A denial that isn't followed for that, or whose pattern would be too long, is one by its name alone.
 */
#pragma once

#include "base/string.h"
#include "policy/ruleset.h"

struct leads;

/* Adds to the rules those that the denials among them make where they lead. `follow` NULL: none. */
struct leads *leads_new(const struct ruleset_follow *follow, struct rule **rules, size_t *count);
void leads_free(struct leads *leads); /* NULL is allowed */

bool leads_are_current(struct leads *leads);
/* Denials by their names alone; *ret_origin: of the first, borrowed. */
size_t leads_left_out(const struct leads *leads, const char **ret_origin);

/* The name by the link of a target that such a rule matches. Freed by the caller. */
char *rule_lead_name(const struct rule_lead *lead, const char *target);
