/*
 * index: the rules that might match a target, found without looking at all of them.
 *
 * Promises: every rule that matches is among those visited (pattern_match still decides); the cost is that of the
 * target's folders plus the rules whose patterns have wildcards, however many literal rules there are.
 */
#pragma once

#include <stddef.h>

#include "policy/ruleset.h"

struct rule_index;

/* Borrows the rules. */
struct rule_index *rule_index_new(const struct rule *rules, size_t count);
void rule_index_free(struct rule_index *index);

void rule_index_visit(const struct rule_index *index, const struct permission *permission, const char *target,
		      void (*visit)(void *context, const struct rule *rule), void *context);

/* net:access: the rules that might match the host with some port. */
void rule_index_visit_host(const struct rule_index *index, const char *host,
			   void (*visit)(void *context, const struct rule *rule), void *context);
