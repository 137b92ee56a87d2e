/*
 * judge: the walk through the stack without words: what view_build needs a few hundred times, and what stack_decide
 * puts into sentences.
 */
#pragma once

#include "policy/stack.h"
#include "stack_line.h"

/* What one module says. */
struct answer {
	bool given; /* false: it passes */
	enum effect effect;
	const struct rule *rule;              /* rules, ask: what decided; grants that pass: what they don't lift */
	const char *place;                    /* protect: the protected path */
	struct grant *grant;                  /* grants: what was found, or NULL; owned */
	const struct stack_exec_answer *said; /* exec: what the program said, or NULL: it wasn't asked */
	const struct stack_exec *needed;      /* exec: the walk can't go on without it; or NULL */
};
void answer_finish(struct answer *answer);

/* Called for every line of the stack that was asked. The answer is borrowed. */
typedef void judge_step(void *context, const struct stack_line *line, const struct answer *answer, bool counted);

/*
 * The answer that counted (given is false when none did, or when a program must be asked first: `needed`) and the line
 * it came from. `step` may be NULL. The caller finishes the answer.
 */
void judge(const struct stack_context *context, const struct request *request, struct answer *ret_answer,
	   struct stack_line *ret_line, judge_step *step, void *step_context);
