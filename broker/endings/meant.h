/*
 * meant: what `revoke --match` is about, by all its names.
 *
 * Promises: the target as it is written and where it leads by links, for everybody; and of net:access, for each
 * ruleset (rulesets.h), what its `hosts:` makes the same: the names that lead to the target's address, and its own
 * address.
 */
#pragma once

#include "core/broker.h"
#include "schema/pattern.h"
#include "sessions/rulesets.h"

struct meant_name {
	struct pattern *pattern;
	char *profile;   /* of the ruleset; NULL: of everybody */
	int64_t session; /* likewise; 0: of none */
};

struct meant {
	struct permission permission;
	struct meant_name *names;
	size_t count;
};

/* `resolved`: where the target leads by links, or NULL. */
int meant_find(struct broker *broker, const struct permission *permission, const char *target, const char *resolved,
	       struct meant *meant, struct error *error);
void meant_finish(struct meant *meant);

/* Of that ruleset, or of everybody? */
bool meant_name_holds(const struct meant_name *name, const struct rulesets_item *item);

/* The grants in force that let any of it through, and denials that cover the target by one of everybody's names. */
int meant_collect(struct broker *broker, const struct meant *meant, struct grant_list *list, struct error *error);

/* Does the allow, which needn't be in force, let any of it through? */
bool meant_overlaps(const struct meant *meant, const struct grant *grant);

/* Does the grant reach no farther? */
bool meant_covers(const struct meant *meant, const struct grant *grant);

/* Added to *list: allows for one use that have had it (spent.h), and that it overlaps. */
int meant_collect_spent(struct broker *broker, const struct meant *meant, struct grant_list *list, struct error *error);
