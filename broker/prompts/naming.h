/*
 * naming: may a sandbox look a name up at all: is any port of it allowed, or would one be asked about (attack N5)?
 *
 * Promises: as the stack would decide about every single port, without asking about any: nobody is asked, no program
 * run, no grant used up, nothing recorded. What can't be known without a program, or without looking at very many
 * grants, is an ask: the connection itself is judged in any case. The cost doesn't grow with the number of grants.
 */
#pragma once

#include "core/broker.h"
#include "schema/host.h"
#include "schema/verdict.h"
#include "sessions/session.h"

/* Allow, ask or deny, and why; the caller finishes it. */
void naming_decide(struct broker *broker, const struct session *session, const struct host *host,
		   struct verdict *ret_verdict);
