/*
 * checking: a check on its way to a verdict, as it is handed on between programs (exec.h) and the user
 * (prompts/check_flow.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/stack.h"
#include "schema/request.h"
#include "schema/verdict.h"
#include "wire/client.h"

/* Where it is (prompts/check_flow.c). */
enum checking_state {
	CHECKING_WALKED, /* in no place: its stack is walked */
	CHECKING_WAITING_PROGRAM,
	CHECKING_ASKING,
	CHECKING_SETTLED,
};

struct checking {
	enum checking_state state;
	struct client *client; /* borrowed; it is forgotten before it goes */
	int64_t id;            /* of the client's message */
	struct request request;
	bool ask;    /* the user may be asked */
	bool again;  /* what lives already: nobody is asked, nothing recorded */
	bool wanted; /* an item of the session's `want` (wants.h), whose reply that is */
	struct stack_exec_answers said;
};

/* Is what settles it recorded as decided? Nothing was reached for yet where it is wanted, unless it is a variable. */
bool checking_decides(const struct checking *checking);
void checking_finish(struct checking *checking);
#define CLEANUP_CHECKING __attribute__((cleanup(checking_finish)))
