/*
 * rulesets: those by which something runs, or may: of each sandbox that runs, and of each profile.
 *
 * Promises: a profile's is what holds outside of any project, where `${project}` lets nothing through.
 */
#pragma once

#include "core/broker.h"
#include "policy/ruleset.h"

/* Borrowed. */
struct rulesets_item {
	const struct ruleset *ruleset;
	const char *profile;
	int64_t session;       /* 0: of none */
	bool has_host_network; /* no rule holds for net:access */
};

void rulesets_visit(struct broker *broker, void (*visit)(void *context, const struct rulesets_item *item),
		    void *context);
