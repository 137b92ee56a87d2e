/*
 * pending: a prompt that waits, as prompts.c and answer.c share it.
 */
#pragma once

#include "base/random.h"
#include "checking.h"
#include "prompts.h"
#include "schema/prompt.h"

struct showing {
	struct client *agent;
	char token[RANDOM_TOKEN_SIZE];
};

struct prompt_pending {
	TAILQ_ENTRY(prompt_pending) link;
	struct broker *broker;
	struct prompt prompt; /* the snapshot; its token stays empty */
	bool private_allowed, direct;
	int64_t lifetime_ms;
	bool summary; /* of a flood: nobody waits for it, and its answer is no grant */
	struct checking *waiters;
	size_t waiter_count;
	struct showing *showings;
	size_t showing_count;
	struct event *deadline;
};

struct prompt_pending *pending_find(const struct broker *broker, int64_t id); /* NULL */
/* The rules of its subject; borrowed until the loop's next turn. */
int pending_rules(const struct broker *broker, const struct prompt *prompt, const struct ruleset **ret_ruleset,
		  struct error *error);

/* Within a transaction: what has become of the prompt. `detail` is given up. */
int pending_record(const struct prompt_pending *pending, enum event_kind kind, int verdict, int64_t grant,
		   json_t *detail, struct error *error);

/* Agents are told, and it is freed with its waiters. */
void pending_close(struct prompt_pending *pending, const char *how, const char *verdict);
