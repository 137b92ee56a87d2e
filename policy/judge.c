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
	bool found; /* `rule` has been looked for */
	const struct rule *rule;
	const struct rule *mask; /* which keeps a grant from covering the target */
};

static const struct rule *inquiry_rule(struct inquiry *inquiry) {
	if (!inquiry->found)
		inquiry->rule = ruleset_find(inquiry->context->ruleset, &inquiry->request->permission,
					     inquiry->request->target, NULL);
	inquiry->found = true;
	return inquiry->rule;
}

static bool target_is_path(const struct permission *permission) {
	switch (permission->kind) {
	case PERMISSION_FS_READ:
	case PERMISSION_FS_WRITE:
	case PERMISSION_PROC_SPAWN:
	case PERMISSION_IPC_CONNECT:
		return true;
	case PERMISSION_NET_ACCESS:
	case PERMISSION_NET_LISTEN:
	case PERMISSION_ENV_READ:
	case PERMISSION_CUSTOM:
		break;
	}
	return false;
}

static void ask_protect(struct inquiry *inquiry, struct answer *answer) {
	const struct strings *protected = inquiry->context->protected;
	if (!protected || !target_is_path(&inquiry->request->permission)) return;
	for (size_t i = 0; i < protected->count; i++) {
		if (!path_is_below(inquiry->request->target, protected->items[i])) continue;
		*answer = (struct answer){.given = true, .effect = EFFECT_DENY, .place = protected->items[i]};
		return;
	}
}

static void ask_flood(struct inquiry *inquiry, struct answer *answer) {
	if (inquiry->context->flooded) *answer = (struct answer){.given = true, .effect = EFFECT_DENY};
}

static void ask_rules(struct inquiry *inquiry, struct answer *answer) {
	const struct rule *rule = inquiry_rule(inquiry);
	if (rule && rule->effect != EFFECT_ASK)
		*answer = (struct answer){.given = true, .effect = rule->effect, .rule = rule};
}

static struct grant *find_grant(const struct inquiry *inquiry) {
	const struct stack_grants *grants = inquiry->context->grants;
	struct grant found = {0};
	struct pattern_rank rank;
	if (!grants || !grants->find || !grants->find(grants->context, inquiry->request, &found, &rank)) return NULL;
	return mem_copy(&found, sizeof found);
}

static void ask_grants(struct inquiry *inquiry, struct answer *answer) {
	struct pattern_rank rank;
	answer->grant = find_grant(inquiry);
	if (!answer->grant) return;
	answer->effect = answer->grant->effect == EFFECT_ALLOW ? EFFECT_ALLOW : EFFECT_DENY;
	answer->given = true;
	if (answer->effect == EFFECT_DENY) return;
	const struct request *request = inquiry->request;
	const struct rule *sticky =
		ruleset_find_sticky(inquiry->context->ruleset, &request->permission, request->target, &rank);
	if (!sticky || sticky_is_lifted(rank, answer->grant->pattern)) {
		answer->rule = inquiry_rule(inquiry); /* its `private` and `direct` hold for the grant, too */
		return;
	}
	answer->given = false;
	answer->rule = sticky;
	inquiry->mask = sticky->effect == EFFECT_ASK ? sticky : NULL;
}

static void ask_user(struct inquiry *inquiry, struct answer *answer) {
	const struct rule *rule = inquiry_rule(inquiry);
	if (!rule || rule->effect != EFFECT_ASK) rule = inquiry->mask;
	if (rule) *answer = (struct answer){.given = true, .effect = EFFECT_ASK, .rule = rule};
}

static void (*const modules[])(struct inquiry *inquiry, struct answer *answer) = {
	[STACK_PROTECT] = ask_protect, [STACK_FLOOD] = ask_flood, [STACK_RULES] = ask_rules,
	[STACK_GRANTS] = ask_grants,   [STACK_ASK] = ask_user,
};
static_assert(ARRAY_LENGTH(modules) == STACK_MODULE_COUNT, "every module can be asked");

void answer_finish(struct answer *answer) {
	if (answer->grant) grant_finish(answer->grant);
	free(answer->grant);
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

void judge(const struct stack_context *context, const struct request *request, struct answer *ret_answer,
	   struct stack_line *ret_line, judge_step *step, void *step_context) {
	struct inquiry inquiry = {.context = context, .request = request};
	size_t count;
	const struct stack_line *lines = policy_stack(ruleset_policy(context->ruleset), &count);
	for (size_t i = 0; i < count; i++) {
		struct answer answer = {0};
		modules[lines[i].module](&inquiry, &answer);
		bool counts = answer_counts(&answer, lines[i].control);
		if (step) step(step_context, &lines[i], &answer, counts);
		if (counts) {
			*ret_answer = answer;
			*ret_line = lines[i];
			return;
		}
		answer_finish(&answer);
	}
	*ret_answer = (struct answer){0};
}
