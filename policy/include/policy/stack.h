/*
 * stack: PAM's idea: an ordered list of modules that answer allow, deny, or pass; the first answer that counts ends
 * the walk, and no answer at the end is a deny (design section 4).
 *
 * Promises: pure: grants come in through a function, the prompt goes out as EFFECT_ASK. The modules are a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/ruleset.h"
#include "schema/grant.h"
#include "schema/request.h"
#include "schema/verdict.h"

/* The grant that covers a request most closely (deny before allow where equal), and how closely. */
struct stack_grants {
	/* *ret_grant is a copy that the stack finishes. */
	bool (*find)(void *context, const struct request *request, struct grant *ret_grant,
		     struct pattern_rank *ret_rank);
	void *context;
};

struct stack_context {
	const struct ruleset *ruleset;
	const struct stack_grants *grants;
	const struct strings *protected; /* normal paths that can never be granted (design section 10.6) */
	const char *flooded;             /* why the session is denied everything now, or NULL */
};

/* One step of the walk, for `sbx why`. */
struct stack_step {
	const char *module;    /* static */
	const char *control;   /* "requisite", "sufficient" or "" */
	struct verdict answer; /* its module is empty when the module passed */
	bool counted;
};
enum { STACK_STEPS_MAX = 16 };

struct stack_walk {
	struct stack_step steps[STACK_STEPS_MAX];
	size_t count;
};

/* *ret_verdict: allow, deny, or EFFECT_ASK with module "ask" when the user must be asked. `walk` may be NULL. */
void stack_decide(const struct stack_context *context, const struct request *request, struct verdict *ret_verdict,
		  struct stack_walk *walk);
void stack_walk_finish(struct stack_walk *walk);

/*
 * The view of a session (schema/view.h): the stack asked for every path that a rule, a grant or `protected` names.
 * `grants` are all those in force for the subject, and stand in the place of context->grants here; `names` are the
 * caller's variables. Caller frees.
 */
struct view *view_build(const struct stack_context *context, const struct subject *subject, int64_t session,
			const struct grant *grants, size_t grant_count, const struct strings *names);

/* What the stack says of one path, for message `resolve`. */
enum view_mode view_mode_of_path(const struct stack_context *context, const struct subject *subject, int64_t session,
				 const char *path, bool *ret_ask_write);
