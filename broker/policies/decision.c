#include "decision.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "leading.h"

static bool find(void *context, const struct request *request, struct grant *ret_grant, struct pattern_rank *ret_rank) {
	struct decision_finder *finder = context;
	if (!grants_find(finder->grants, request, ret_grant, ret_rank)) return false;
	finder->id = ret_grant->id;
	finder->uses = ret_grant->uses;
	finder->lifetime = ret_grant->lifetime;
	return true;
}

struct stack_context decision_context(struct broker *broker, const struct ruleset *ruleset,
				      struct decision_finder *finder) {
	*finder = (struct decision_finder){.grants = broker->grants, .stack = {.find = find, .context = finder}};
	return (struct stack_context){
		.ruleset = ruleset, .grants = &finder->stack, .protected = &broker->places.protected};
}

void verdict_set(struct verdict *verdict, enum effect effect, const char *module, const char *format, ...) {
	char why[ERROR_MESSAGE_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(why, sizeof why, format, arguments);
	va_end(arguments);
	free(verdict->why);
	verdict->why = string_copy(why);
	verdict->effect = effect;
	snprintf(verdict->module, sizeof verdict->module, "%s", module);
}

void decision_judge(struct broker *broker, const struct ruleset *ruleset, const struct decision_state *state,
		    const struct request *request, const struct stack_exec_answers *said, struct decision *ret_decision,
		    struct stack_walk *walk) {
	struct decision_finder finder, of_address;
	struct stack_context context = decision_context(broker, ruleset, &finder);
	context.flooded = state->flooded;
	context.exec = said;
	*ret_decision = (struct decision){.uses = 1};
	struct verdict *verdict = &ret_decision->verdict;
	if (state->offline && request->permission.kind == PERMISSION_NET_ACCESS) {
		verdict_set(verdict, EFFECT_DENY, "rules", "this session is offline");
		return;
	}
	ret_decision->needed = stack_decide(&context, request, verdict, walk);
	const struct stack_context there = decision_context(broker, ruleset, &of_address);
	if (!ret_decision->needed && leading_denies(&there, request, verdict)) finder = of_address;
	if (verdict->grant != 0 && verdict->grant == finder.id) {
		ret_decision->uses = finder.uses;
		ret_decision->lifetime = finder.lifetime;
		verdict->once = verdict->effect == EFFECT_ALLOW && finder.lifetime == LIFETIME_ONCE;
	}
}

void decision_finish(struct decision *decision) {
	verdict_finish(&decision->verdict);
}
