/*
 * checking: a check on its way to a verdict, which may lead by programs (exec.h) and by the user (prompts.h).
 *
 * Promises: each time that it goes on it walks the stack anew from the start, with what programs have said so far: a
 * grant that was revoked meanwhile, or a changed policy, counts. Exactly one reply, after its record is written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/stack.h"
#include "schema/request.h"
#include "schema/verdict.h"
#include "wire/client.h"

struct checking {
	struct client *client; /* borrowed; it is forgotten before it goes */
	int64_t id;            /* of the client's message */
	struct request request;
	bool ask;    /* the user may be asked */
	bool again;  /* what lives already: nobody is asked, nothing recorded */
	bool wanted; /* an item of the session's `want` (wants.h), whose reply that is */
	struct stack_exec_answers said;
};

/* Decide and reply, or have it wait for a program or the user. It is taken over, and zero afterwards. */
void checking_go_on(struct checking *checking);

/* Is what settles it recorded as decided? Nothing was reached for yet where it is wanted, unless it is a variable. */
bool checking_decides(const struct checking *checking);
void checking_reply(const struct checking *checking, const struct verdict *verdict);
void checking_refuse(const struct checking *checking, const struct error *error); /* it won't be answered */
void checking_finish(struct checking *checking);
#define CLEANUP_CHECKING __attribute__((cleanup(checking_finish)))
