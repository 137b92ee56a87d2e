/*
 * prompts: questions that wait for an answer (design section 8): the head of prompts/.
 *
 * For: a check's way to its verdict (check_flow), its question (prompts, pending), the answer (answer), what is asked
 * at a session's start (wants), whose turn a terminal is (turns), `sbx publish`, and what a session may look up
 * (naming). Guarantees: each check ends exactly once, and nothing else sends a verdict. What is shown never changes
 * (attack B6); every agent has its own single-use token for each prompt (B7); equal requests of a session share one
 * prompt; one that isn't answered by its deadline is denied once; one whose first request, which it shows, doesn't wait
 * any more is taken down, and the others ask anew; of a session that floods there is one summary. An answer is in the
 * database before anybody profits from it. May be called by: handlers, service.c. In: checks, answers. Out: verdicts,
 * prompts for agents, rows of the history.
 */
#pragma once

#include <jansson.h>

#include "core/broker.h"
#include "policies/decision.h"
#include "schema/grant.h"
#include "schema/request.h"
#include "wants.h"
#include "wire/client.h"

/*
 * The stack said ask (`decision`): true when it waits now (the reply comes later; `checking` was taken over), false
 * when it was decided without asking: `decision` is a denial then.
 */
bool prompts_ask(struct checking *checking, const struct ruleset *ruleset, struct decision *decision);

/* What the session asks for at its start (wants.h): a prompt each, put together by their `bundle` when there are more.
 * Each check is taken over; what can't be asked about is settled at once. A flood doesn't count them: it is the user's
 * own list, and there is one in a session. */
void prompts_ask_together(struct session *session, struct wants_item *items, size_t count);

/* `flood` has denied this: where it is time to, ask whether the session (NULL: whoever has none) may ask on. */
void prompts_summarize(struct broker *broker, const struct session *session, const struct ruleset *ruleset,
		       const struct request *asked);

/* True when that check was waiting: it gets an ECANCELED reply. */
bool prompts_cancel(struct client *client, int64_t check);

void prompts_forget_client(struct broker *broker, struct client *client);
void prompts_forget_session(struct broker *broker, const struct session *session);

/* The client has become an agent: what is pending is shown to it. */
void prompts_show_all(struct client *agent);
/* A desktop agent has come or gone, or shows what it is told or doesn't any more: the others are told. */
void prompts_tell_desktop(struct broker *broker);

/* Rules or grants have changed: what is decided by now needs no answer. */
void prompts_recheck(struct broker *broker);

/* One page: prompts after (`newest`: before) the cursor. */
void prompts_list(struct broker *broker, bool newest, int64_t cursor, int64_t session, json_t *items,
		  int64_t *ret_next);
