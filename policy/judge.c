/*
 * Theory of operation
 *
 * PAM's idea: the lines of the stack are asked in order; a control word limits which answer counts (`requisite`: only a
 * deny, `sufficient`: only an allow, none: any), and the first answer that counts ends the walk. Nothing counted is a
 * deny, so forgetting a case here denies.
 *
 * A grant that ends above one of base's masks or sensitive places doesn't cover what lies below it: `grants` passes.
 * A sensitive place is a deny rule and has ended the walk before. A mask has not: it asks about what rules would allow,
 * and is silent where they allow nothing (contest.c), but here it was a grant that would have allowed, so `ask` asks
 * for it. A deny that a user gave counts however far above it ends.
 *
 * Likewise an allow that is less close than the rule which would ask in a terminal (`confirm: terminal`): a
 * notification may have given it, and what it covers was shown, not what lies in it.
 *
 * `flood` stands before rules and grants, but means only what would be asked: while a session is flooding, the module
 * walks the lines behind it and denies when they end in a question. So a flood breaks nothing that is allowed.
 *
 * An `exec` line answers with what its program has said to this request. Where it hasn't been asked the walk stops and
 * says what it needs; where programs are not to be asked at all (views, `sbx why`) the line passes.
 */
#include "judge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy_parts.h"
#include "sticky.h"

struct inquiry {
	const struct stack_context *context;
	const struct request *request;
	const struct stack_line *lines;
	size_t count;
	bool looking_ahead; /* for `flood` */
	bool found;         /* `rule` has been looked for */
	const struct rule *rule;
	struct pattern_rank rank; /* its */
	const struct rule *mask;  /* which keeps a grant from covering the target */
};

static void grant_free(struct grant *grant) {
	if (grant) grant_finish(grant);
	free(grant);
}

static const struct rule *inquiry_rule(struct inquiry *inquiry) {
	if (!inquiry->found)
		inquiry->rule = ruleset_find(inquiry->context->ruleset, &inquiry->request->permission,
					     inquiry->request->target, &inquiry->rank);
	inquiry->found = true;
	return inquiry->rule;
}

static void ask_protect(struct inquiry *inquiry, size_t line, struct answer *answer) {
	(void)line;
	const struct strings *protected = inquiry->context->protected;
	if (!protected || !permission_is_of_path(&inquiry->request->permission)) return;
	for (size_t i = 0; i < protected->count; i++) {
		if (!path_is_below(inquiry->request->target, protected->items[i])) continue;
		*answer = (struct answer){.given = true, .effect = EFFECT_DENY, .place = protected->items[i]};
		return;
	}
}

static void walk(struct inquiry *inquiry, size_t first, struct answer *ret_answer, size_t *ret_line, judge_step *step,
		 void *step_context);

static void ask_flood(struct inquiry *inquiry, size_t line, struct answer *answer) {
	if (!inquiry->context->flooded || inquiry->looking_ahead) return;
	struct inquiry ahead = *inquiry;
	struct answer end;
	size_t end_line;
	ahead.looking_ahead = true;
	walk(&ahead, line + 1, &end, &end_line, NULL, NULL);
	answer->needed = end.needed;
	if (end.given && end.effect == EFFECT_ASK) *answer = (struct answer){.given = true, .effect = EFFECT_DENY};
	answer_finish(&end);
}

static void ask_rules(struct inquiry *inquiry, size_t line, struct answer *answer) {
	(void)line;
	const struct rule *rule = inquiry_rule(inquiry);
	if (rule && rule->effect != EFFECT_ASK)
		*answer = (struct answer){.given = true, .effect = rule->effect, .rule = rule};
}

static struct grant *find_grant_of(const struct inquiry *inquiry, const struct request *request,
				   struct pattern_rank *ret_rank) {
	const struct stack_grants *grants = inquiry->context->grants;
	struct grant found = {0};
	if (!grants || !grants->find || !grants->find(grants->context, request, &found, ret_rank)) return NULL;
	return mem_copy(&found, sizeof found);
}

/* Of a program that a link leads to, the file's own count, too; a denial of either wins. */
static struct grant *find_grant(const struct inquiry *inquiry, struct pattern_rank *ret_rank) {
	const struct request *request = inquiry->request;
	struct grant *own = find_grant_of(inquiry, request, ret_rank);
	if (request->permission.kind != PERMISSION_PROC_SPAWN || !request->name) return own;
	if (own && own->effect == EFFECT_DENY) return own;
	struct pattern_rank rank = {0};
	struct request file = *request;
	file.target = request->name;
	struct grant *other = find_grant_of(inquiry, &file, &rank);
	if (!other || (own && other->effect == EFFECT_ALLOW)) {
		grant_free(other);
		return own;
	}
	grant_free(own);
	*ret_rank = rank;
	return other;
}

/* The rule that keeps an allow of that rank from covering the target, or NULL. */
static const struct rule *keeper(struct inquiry *inquiry, const struct grant *grant, struct pattern_rank rank) {
	const struct request *request = inquiry->request;
	struct pattern_rank kept;
	const struct rule *sticky =
		ruleset_find_sticky(inquiry->context->ruleset, &request->permission, request->target, &kept);
	if (sticky && !sticky_is_lifted(kept, grant->pattern)) return sticky;
	const struct rule *rule = inquiry_rule(inquiry);
	const bool confirms = rule && rule->effect == EFFECT_ASK && rule->confirm_terminal;
	return confirms && pattern_rank_compare(rank, inquiry->rank) < 0 ? rule : NULL;
}

static void ask_grants(struct inquiry *inquiry, size_t line, struct answer *answer) {
	(void)line;
	struct pattern_rank rank;
	answer->grant = find_grant(inquiry, &rank);
	if (!answer->grant) return;
	answer->effect = answer->grant->effect == EFFECT_ALLOW ? EFFECT_ALLOW : EFFECT_DENY;
	answer->given = true;
	if (answer->effect == EFFECT_DENY) return;
	const struct rule *kept = keeper(inquiry, answer->grant, rank);
	answer->given = !kept;
	answer->rule = kept ? kept : inquiry_rule(inquiry); /* its `private` and `direct` hold for the grant, too */
	inquiry->mask = kept && kept->effect == EFFECT_ASK ? kept : NULL;
}

static void ask_user(struct inquiry *inquiry, size_t line, struct answer *answer) {
	(void)line;
	const struct rule *rule = inquiry_rule(inquiry);
	if (!rule || rule->effect != EFFECT_ASK) rule = inquiry->mask;
	if (rule) *answer = (struct answer){.given = true, .effect = EFFECT_ASK, .rule = rule};
}

static void ask_program(struct inquiry *inquiry, size_t line, struct answer *answer) {
	const struct stack_exec_answers *known = inquiry->context->exec;
	const struct stack_exec *exec = inquiry->lines[line].exec;
	if (!known) return;
	for (size_t i = 0; i < known->count && !answer->said; i++)
		if (strcmp(known->items[i].command, exec->text) == 0) answer->said = &known->items[i];
	if (!answer->said) {
		answer->needed = exec;
		return;
	}
	answer->given = !answer->said->passes;
	answer->effect = answer->said->effect == EFFECT_ALLOW ? EFFECT_ALLOW : EFFECT_DENY;
}

static void (*const modules[])(struct inquiry *inquiry, size_t line, struct answer *answer) = {
	[STACK_PROTECT] = ask_protect, [STACK_FLOOD] = ask_flood, [STACK_RULES] = ask_rules,
	[STACK_GRANTS] = ask_grants,   [STACK_ASK] = ask_user,    [STACK_EXEC] = ask_program,
};
static_assert(ARRAY_LENGTH(modules) == STACK_MODULE_COUNT, "every module can be asked");

void answer_finish(struct answer *answer) {
	grant_free(answer->grant);
	answer->grant = NULL;
}

static bool answer_counts(const struct answer *answer, enum stack_control control) {
	if (!answer->given) return false;
	switch (control) {
	case STACK_REQUISITE:
		return answer->effect == EFFECT_DENY;
	case STACK_SUFFICIENT:
		return answer->effect == EFFECT_ALLOW;
	case STACK_ANY:
		break;
	}
	return true;
}

static void walk(struct inquiry *inquiry, size_t first, struct answer *ret_answer, size_t *ret_line, judge_step *step,
		 void *step_context) {
	for (size_t i = first; i < inquiry->count; i++) {
		const struct stack_line *line = &inquiry->lines[i];
		struct answer answer = {0};
		modules[line->module](inquiry, i, &answer);
		bool counts = answer_counts(&answer, line->control);
		if (step && !answer.needed) step(step_context, line, &answer, counts);
		if (counts || answer.needed) {
			*ret_answer = answer;
			*ret_line = i;
			return;
		}
		answer_finish(&answer);
	}
	*ret_answer = (struct answer){0};
}

void judge(const struct stack_context *context, const struct request *request, struct answer *ret_answer,
	   struct stack_line *ret_line, judge_step *step, void *step_context) {
	struct inquiry inquiry = {.context = context, .request = request};
	size_t line = 0;
	inquiry.lines = policy_stack(ruleset_policy(context->ruleset), &inquiry.count);
	walk(&inquiry, 0, ret_answer, &line, step, step_context);
	*ret_line = inquiry.lines[line];
}
