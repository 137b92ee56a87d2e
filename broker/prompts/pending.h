/*
 * pending: one prompt that waits: its snapshot, the checks that want its answer, the agents that were shown it.
 *
 * Promises: the snapshot never changes; whoever waits gets exactly one reply, or is handed on; it ends through
 * pending_close.
 */
#pragma once

#include "base/random.h"
#include "programs/checking.h"
#include "prompts.h"
#include "schema/prompt.h"

struct showing {
	struct client *agent;
	char token[RANDOM_TOKEN_SIZE];
	bool desktop; /* as it was told */
};

struct prompt_pending {
	TAILQ_ENTRY(prompt_pending) link;
	struct broker *broker;
	struct prompt prompt; /* the snapshot; its token stays empty */
	bool private_allowed, direct;
	int64_t timeout_ms;
	char *rule;   /* that asks, "file:line"; or NULL */
	bool summary; /* of a flood: nobody waits for it, and its answer is no grant */
	bool walk;    /* its target is a tree, in which those who wait want each its own */
	bool wanted;  /* by the session at its start (wants.h) */
	bool leads;   /* the first of its bundle, from its start on */
	struct checking *waiters;
	size_t waiter_count;
	struct showing *showings;
	size_t showing_count;
	struct event *deadline;
};

struct pending_wish {
	const struct request *request;
	const struct verdict *verdict; /* which asks */
	const char *tree;              /* what is asked about instead of the request's target; or NULL */
	const struct ruleset *ruleset;
	bool summary;
	const char *wanted; /* at the session's start: what is shown instead of the request's target; or NULL */
	int64_t bundle;     /* that it belongs to, or 0 */
	bool leads;         /* it is the first of one */
};

/* Shown to nobody yet; pending_start puts it in the list and in the history. When that fails it is for pending_free. */
struct prompt_pending *pending_new(struct broker *broker, const struct pending_wish *wish);
int pending_start(struct prompt_pending *pending, struct error *error);
void pending_free(struct prompt_pending *pending); /* with its waiters */

struct prompt_pending *pending_find(const struct broker *broker, int64_t id); /* NULL */
/* The rules of its subject; borrowed until the loop's next turn. */
int pending_rules(const struct broker *broker, const struct prompt *prompt, const struct ruleset **ret_ruleset,
		  struct error *error);

void pending_add(struct prompt_pending *pending, struct checking *checking); /* taken over */
void pending_remove(struct prompt_pending *pending, size_t waiter);
/* Out of the prompt, not answered: the caller's. */
struct checking pending_take(struct prompt_pending *pending, size_t waiter);

/* Does the client see prompts of that session? */
bool pending_seen_by(const struct client *client, int64_t session);
void pending_show(struct prompt_pending *pending, struct client *agent);
void pending_show_all(struct prompt_pending *pending);
/* To whoever was shown it and could show it otherwise: whether a desktop agent does, when that is new. */
void pending_tell_desktop(struct prompt_pending *pending);
json_t *pending_to_json(const struct prompt_pending *pending, const char *token); /* for whom it is shown; or NULL */

/* May it be answered by whom, and does an allow open what, this verdict says? */
bool pending_has_terms(const struct prompt_pending *pending, const struct request *request,
		       const struct verdict *verdict);

/* Within a transaction: what has become of the prompt. `detail` is given up. */
int pending_record(const struct prompt_pending *pending, enum event_kind kind, int verdict, int64_t grant,
		   json_t *detail, struct error *error);
/* The same alone, for what allows nothing: "expired", "cancelled", "covered". */
void pending_note(const struct prompt_pending *pending, const char *state);

/*
 * Agents are told that it has ended, once. `answer`: what ended it, as `prompt-gone` has it, taken over; or NULL. This
 * comes before the waiters' replies: the process that gets its reply may end at once, and a terminal that hears of
 * that first would say that the question was taken back.
 */
void pending_tell_gone(struct prompt_pending *pending, const char *how, const char *verdict, json_t *answer);
/* Agents that were not told yet are, and it is freed with its waiters. */
void pending_close(struct prompt_pending *pending, const char *how, const char *verdict, json_t *answer);
