/*
 * remaining: what lets a target through without any grant: rules, and networks that no rule holds for.
 *
 * Promises: looked at are the rules of each ruleset (rulesets.h); one that lets anything of the target through is told
 * of, once, with where it stands. Where a rule lets through only what another one denies all of, it isn't; where that
 * can't be seen without a search, it is.
 */
#pragma once

#include <jansson.h>

#include "core/broker.h"
#include "meant.h"

/* [{rule, profile, permission, target, session}], as the reply to `revoke` has them; *ret_more had no room. */
json_t *remaining_rules(struct broker *broker, const struct meant *meant, int64_t *ret_more);
