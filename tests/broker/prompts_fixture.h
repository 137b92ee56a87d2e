/*
 * prompts_fixture: a real sbxd whose rules ask, runners that ask it, and agents that answer.
 *
 * Promises: every test begins without grants and without prompts.
 */
#pragma once

#include "support/broker.h"

/* The policy of prompts_setup_waits: what nobody is there for waits, for a minute. Its profile comes last in it. */
extern const char prompts_waiting[];

int prompts_setup_waits(void **state);
int prompts_setup_hasty(void **state);  /* for half a second */
int prompts_setup_lonely(void **state); /* and where nobody is there it is denied at once */
#define PROMPTS_TEST(test, setup) cmocka_unit_test_setup_teardown(test, setup, broker_teardown)

struct peer *runner_new(void); /* with a session whose view has come */
struct peer *agent_new(const char *kind);

int64_t ask(struct peer *runner, const char *target);
/* "allow ask", "deny ask" …, or an error's code; waits for it. */
void expect_verdict(struct peer *runner, int64_t id, const char *expected);

/* `token` may be NULL; `keys` over the usual ones are given up, and may be NULL. */
json_t *answer(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys);
void answer_well(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys);
void answer_refused(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys,
		    const char *says);

size_t count_prompts(struct peer *peer);
void expect_prompts(struct peer *peer, size_t count); /* soon */
int64_t the_prompt(struct peer *peer);                /* the one that is pending */
void expect_gone(struct peer *agent, int64_t prompt, const char *how);
void expect_gone_by(struct peer *agent, int64_t prompt, const char *answer); /* its JSON */
