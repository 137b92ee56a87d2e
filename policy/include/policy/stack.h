/*
 * stack: PAM's idea: an ordered list of modules that answer allow, deny, or pass; the first answer that counts ends
 * the walk, and no answer at the end is a deny (design section 4).
 *
 * Promises: pure: grants come in through a function, the prompt goes out as EFFECT_ASK, and so does what a program has
 * to be asked (`exec` lines): the caller has it run and walks anew with its answer. The modules are a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

enum { STACK_STEPS_MAX = 16 }; /* lines of a stack */

/* A program that a line of the stack names. */
struct stack_exec {
	struct strings argv; /* the first is an absolute path */
	int64_t timeout_ms;
	char *text; /* the command line as the policy writes it: what an answer is kept under */
};

/* Does a line of the stack in these documents name exactly this command (ended by NULL), with as much time? */
bool policy_allows_exec(struct policy_document *const *documents, size_t count, char *const *argv, int64_t timeout_ms);

/* Adds which of the programs that its stack names can't be run, and so deny; `name` is the document's file, `owner` as
 * exec_file_check has it. */
void policy_check_programs(const struct policy_document *document, const char *name, uid_t owner,
			   struct strings *errors);

/* What a program said to one request. */
struct stack_exec_answer {
	char *command; /* stack_exec.text; owned */
	bool passes;
	enum effect effect; /* EFFECT_ALLOW or EFFECT_DENY */
	bool failed;        /* the denial is for want of an answer */
	char *why;          /* or NULL; owned */
};

struct stack_exec_answers {
	struct stack_exec_answer *items;
	size_t count;
};
/* Takes the texts over. */
void stack_exec_answers_add(struct stack_exec_answers *answers, struct stack_exec_answer answer);
void stack_exec_answers_finish(struct stack_exec_answers *answers);

struct stack_context {
	const struct ruleset *ruleset;
	const struct stack_grants *grants;
	const struct strings *protected; /* normal paths that can never be granted (design section 10.6) */
	const char *flooded;             /* why what would be asked is denied now, or NULL */
	/* What programs have said to this very request; NULL: none is asked, their lines pass. */
	const struct stack_exec_answers *exec;
};

/* One step of the walk, for `sbx why`. */
struct stack_step {
	const char *module;    /* static */
	const char *control;   /* "requisite", "sufficient" or "" */
	struct verdict answer; /* its module is empty when the module passed */
	bool counted;
};
struct stack_walk {
	struct stack_step steps[STACK_STEPS_MAX];
	size_t count;
};

/*
 * *ret_verdict: allow, deny, or EFFECT_ASK with module "ask" when the user must be asked. `walk` may be NULL. Not NULL
 * when the walk needs a program's answer to go on (borrowed from the policy): the verdict is a denial then.
 */
const struct stack_exec *stack_decide(const struct stack_context *context, const struct request *request,
				      struct verdict *ret_verdict, struct stack_walk *walk);
/*
 * A name that is allowed leads to the address that the request (net:access) is about: does a rule or a grant that names
 * addresses deny that? *ret_verdict: that denial, or an allow.
 */
void stack_decide_address(const struct stack_context *context, const struct request *request,
			  struct verdict *ret_verdict);
void stack_walk_finish(struct stack_walk *walk);

/*
 * The view of a session (schema/view.h): the stack asked for every path that a rule, a grant or `protected` names.
 * `grants` are all those in force for the subject, and stand in the place of context->grants here; `names` are the
 * caller's variables. Caller frees.
 */
struct view *view_build(const struct stack_context *context, const struct subject *subject, int64_t session,
			const struct grant *grants, size_t grant_count, const struct strings *names);

/*
 * The view that view_build made, as it is with one allow more, which context->grants finds by now: what lies at and
 * below it is asked for anew. False when that is much, or not enough: build it anew. For the answer that somebody waits
 * for.
 */
bool view_add_grant(struct view *view, const struct stack_context *context, const struct subject *subject,
		    int64_t session, const struct grant *grant);

/* What the stack says of one path, for message `resolve`: an entry of a view, whose `path` is borrowed and whose
 * `resolved` the caller frees. */
struct view_path view_path_of(const struct stack_context *context, const struct subject *subject, int64_t session,
			      const char *path);
