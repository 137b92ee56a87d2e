/*
 * remaining: what lets a target through without any grant: rules, and networks that no rule holds for.
 *
 * Promises: looked at are the rules of all sandboxes that run, and those of each profile as it is outside of any
 * project; one that lets anything of the target through is told of, once, with where it stands. Where a rule lets
 * through only what another one denies all of, it isn't; where that can't be seen without a search, it is.
 */
#pragma once

#include <jansson.h>

#include "broker.h"
#include "schema/pattern.h"

/* [{rule, profile, permission, target, session}], as the reply to `revoke` has them, of the targets that one of the
 * patterns means; *ret_more had no room. */
json_t *remaining_rules(struct broker *broker, const struct permission *permission,
			const struct pattern *const *patterns, size_t count, int64_t *ret_more);
