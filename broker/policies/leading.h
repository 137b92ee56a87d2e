/*
 * leading: may a name that is allowed lead to this address?
 *
 * Promises: a denial that names the address, or the IPv4 address in it, is the answer, and nothing is recorded: who
 * asked says so when it acts by it (message `event`). What isn't denied is allowed, for the name was.
 */
#pragma once

#include "core/broker.h"
#include "policy/ruleset.h"
#include "policy/stack.h"
#include "schema/request.h"

/* `request` is net:access of an address. -EINVAL where it is of a name. */
int leading_decide(struct broker *broker, const struct ruleset *ruleset, const struct request *request,
		   struct verdict *ret_verdict, struct error *error);

/* Does a rule or grant deny the address that `hosts:` of the ruleset gives the name that is asked for? Then *verdict,
 * which allowed it or asked, becomes that denial: the connection would be refused all the same. */
bool leading_denies(const struct stack_context *context, const struct request *request, struct verdict *verdict);
