/* The stack's answers as verdicts, each with its why. */
#include "policy/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "judge.h"
#include "schema/host.h"
#include "yaml/problems.h"

static const char *const verbs[EFFECT_COUNT] = {
	[EFFECT_DENY] = "denies", [EFFECT_ASK] = "asks before", [EFFECT_ALLOW] = "allows"};

/* As it was typed: a relative pattern is compiled behind "/" and "**" (schema/pattern.c). */
static const char *typed(const struct pattern *pattern) {
	const char *text = pattern_text(pattern);
	return string_starts(text, "/**/") ? text + strlen("/**/") : text;
}

static bool rule_is_for_all(const struct rule *rule) {
	return rule->layer == POLICY_LAYER_ADMIN && rule->effect == EFFECT_DENY &&
	       strcmp(rule->profile, POLICY_BASE) == 0;
}

/* ", and ~/link leads to …" */
static char *explain_lead(const struct rule_lead *lead) {
	if (!lead) return string_copy("");
	SHOWN(place, lead->place);
	SHOWN(there, lead->there);
	return string_format(", and %s leads to %s by a link", place, there);
}

/* A rule about writing speaks of who reads, too, and says so to one (contest.c). */
static const char *asked_of(const struct rule *rule, const struct permission *permission) {
	bool reads = permission->kind == PERMISSION_FS_READ && rule->permission.kind == PERMISSION_FS_WRITE;
	return reads ? "fs:read and fs:write" : rule->permission.name;
}

/* " (read by direnv)" */
static char *explain_note(const struct rule *rule) {
	if (!rule->note) return string_copy("");
	SHOWN(note, rule->note);
	return string_format(" (%s)", note);
}

static char *explain_rule(const struct rule *rule, const struct permission *permission) {
	SHOWN(pattern, rule->lead ? rule->named : typed(rule->pattern));
	CLEANUP_FREE char *lead = explain_lead(rule->lead);
	if (rule_is_for_all(rule))
		return string_format("an administrator denies %s %s to every profile%s", rule->permission.name, pattern,
				     lead);
	CLEANUP_FREE char *note = explain_note(rule);
	CLEANUP_FREE char *what = string_format("the profile %s %s %s %s%s%s", rule->profile, verbs[rule->effect],
						asked_of(rule, permission), pattern, lead, note);
	if (!rule->guarded) return STEAL(what);
	SHOWN(place, typed(rule->guarded->pattern));
	return string_format("%s, in a terminal since %s keeps %s", what, rule->guarded->profile, place);
}

static char *explain_grant(const struct answer *answer) {
	const struct grant *grant = answer->grant;
	SHOWN(pattern, grant->pattern);
	CLEANUP_FREE char *what = string_format("grant %lld %s %s %s", (long long)grant->id, verbs[answer->effect],
						grant->permission.name, pattern);
	if (answer->given || !answer->rule) return STEAL(what);
	SHOWN(place, typed(answer->rule->pattern));
	return answer->rule->sticky
		       ? string_format("%s, but ends above %s, which %s keeps", what, place, answer->rule->profile)
		       : string_format("%s, but only a terminal may allow %s", what, place);
}

/* "the program /usr/bin/judge denies it: not on a Sunday" */
static char *explain_exec(const struct stack_line *line, const struct answer *answer) {
	const struct stack_exec_answer *said = answer->said;
	SHOWN(program, line->exec->argv.items[0]);
	if (!said) return string_format("the program %s is not run for this", program);
	CLEANUP_FREE char *why = text_plain(said->why ? said->why : "");
	if (said->failed) return string_format("the program %s failed, which denies: %s", program, why);
	return string_format("the program %s %s%s%s", program,
			     !answer->given                   ? "has no opinion"
			     : answer->effect == EFFECT_ALLOW ? "allows it"
							      : "denies it",
			     *why ? ": " : "", why);
}

static char *explain(const struct stack_context *context, const struct request *request, const struct stack_line *line,
		     const struct answer *answer) {
	switch (line->module) {
	case STACK_PROTECT: {
		SHOWN(place, answer->place ? answer->place : "");
		return string_format("%s belongs to sbx itself and can never be granted", place);
	}
	case STACK_FLOOD:
		return string_copy(context->flooded);
	case STACK_GRANTS:
		return explain_grant(answer);
	case STACK_EXEC:
		return explain_exec(line, answer);
	case STACK_RULES:
	case STACK_ASK:
		break;
	}
	return explain_rule(answer->rule, &request->permission);
}

static void set_module(struct verdict *verdict, const char *name) {
	snprintf(verdict->module, sizeof verdict->module, "%s", name);
}

/* Did somebody grant, or deny, these very addresses? */
static bool grant_names_address(const struct grant *grant) {
	const struct pattern_scope nothing = {0};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (grant->permission.kind != PERMISSION_NET_ACCESS) return false;
	return pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) == 0 &&
	       pattern_names_address(pattern);
}

static bool is_private_allowed(const struct request *request, const struct answer *answer) {
	if (answer->effect == EFFECT_DENY) return false;
	/* What a program allows is this very target. */
	if (answer->said) return request_names_address(request);
	if (answer->rule && answer->rule->private_allowed) return true;
	return answer->given && answer->grant && grant_names_address(answer->grant);
}

/* A target "localhost" is 127.0.0.1, and ::1 only where what allows it means that, too. */
static bool is_ipv4_only(const struct request *request, const struct answer *answer) {
	static const char localhost[] = "localhost:";
	const struct pattern_scope nothing = {0};
	if (request->permission.kind != PERMISSION_NET_ACCESS || !string_starts(request->target, localhost) ||
	    answer->effect != EFFECT_ALLOW || answer->said)
		return false;
	CLEANUP_FREE char *ipv6 = string_format("[::1]:%s", request->target + strlen(localhost));
	if (!answer->grant) return !answer->rule || !pattern_match(answer->rule->pattern, ipv6, NULL);
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	return pattern_compile(&answer->grant->permission, answer->grant->pattern, &nothing, &pattern, NULL) < 0 ||
	       !pattern_match(pattern, ipv6, NULL);
}

/* An allow that doesn't mean private addresses opens none: the gate would refuse it. */
static bool is_closed(const struct request *request, const struct verdict *verdict) {
	struct host host;
	uint16_t port;
	return request->permission.kind == PERMISSION_NET_ACCESS && verdict->effect == EFFECT_ALLOW &&
	       !verdict->private_allowed &&
	       host_port_parse(request->target, strlen(request->target), &host, &port, NULL) == 0 &&
	       host_is_private(&host);
}

static void verdict_close(const struct request *request, struct verdict *verdict) {
	CLEANUP_VERDICT struct verdict allowed = *verdict;
	SHOWN(target, request->target);
	*verdict = (struct verdict){.effect = EFFECT_DENY,
				    .why = string_format("%s is a private or special address, and what allows it "
							 "names no address and does not say `private: true`: %s",
							 target, allowed.why)};
	set_module(verdict, "private");
}

/* Does what allows it name the target itself, not only a folder that it lies in? */
static bool is_named(const struct request *request, const struct answer *answer) {
	if (answer->grant) return string_equal(answer->grant->pattern, request->target);
	return answer->said || !answer->rule || string_equal(pattern_text(answer->rule->pattern), request->target);
}

static void verdict_ask(const struct request *request, struct verdict *verdict) {
	CLEANUP_VERDICT struct verdict allowed = *verdict;
	SHOWN(target, request->target);
	*verdict =
		(struct verdict){.effect = EFFECT_ASK,
				 .confirm_terminal = true,
				 .why = string_format("programs outside of the sandbox run or read %s, and what allows "
						      "it is not for that: %s",
						      target, allowed.why)};
	set_module(verdict, stack_module_name(STACK_RULES));
}

static void verdict_of_answer(const struct stack_context *context, const struct request *request,
			      const struct stack_line *line, const struct answer *answer, struct verdict *ret_verdict) {
	const struct rule *rule = answer->rule;
	bool grant = line->module == STACK_GRANTS;
	*ret_verdict = (struct verdict){
		.effect = answer->effect,
		.why = explain(context, request, line, answer),
		.rule = rule && !grant ? string_copy(rule->origin) : NULL,
		.grant = answer->grant ? answer->grant->id : 0,
		.confirm_terminal = rule && answer->effect == EFFECT_ASK && rule->confirm_terminal,
		.private_allowed = is_private_allowed(request, answer),
		.this_run = answer->grant && answer->grant->session != 0,
		.ipv4_only = is_ipv4_only(request, answer),
		.direct = rule && answer->effect == EFFECT_ALLOW && rule->direct,
	};
	set_module(ret_verdict, stack_module_name(line->module));
	if (is_closed(request, ret_verdict)) verdict_close(request, ret_verdict);
	if (request->masked && ret_verdict->effect == EFFECT_ALLOW && !is_named(request, answer))
		verdict_ask(request, ret_verdict);
}

struct recording {
	const struct stack_context *context;
	const struct request *request;
	struct stack_walk *walk;
};

static void record_step(void *context, const struct stack_line *line, const struct answer *answer, bool counted) {
	const struct recording *recording = context;
	struct stack_walk *walk = recording->walk;
	if (walk->count == STACK_STEPS_MAX) return;
	struct stack_step *step = &walk->steps[walk->count++];
	*step = (struct stack_step){.module = stack_module_name(line->module),
				    .control = stack_control_name(line->control),
				    .counted = counted};
	if (answer->given)
		verdict_of_answer(recording->context, recording->request, line, answer, &step->answer);
	else if (answer->grant || line->module == STACK_EXEC) /* it passes, but has something to say */
		step->answer.why = explain(recording->context, recording->request, line, answer);
}

static void verdict_of_none(const struct request *request, const struct answer *answer, struct verdict *ret_verdict) {
	SHOWN(target, request->target);
	*ret_verdict = (struct verdict){.effect = EFFECT_DENY};
	set_module(ret_verdict, answer->needed ? stack_module_name(STACK_EXEC) : "none");
	if (!answer->needed) {
		ret_verdict->why = string_format("nothing allows %s %s, and nothing asks for it",
						 request->permission.name, target);
		return;
	}
	SHOWN(program, answer->needed->argv.items[0]);
	ret_verdict->why = string_format("the program %s has to be asked first", program);
}

const struct stack_exec *stack_decide(const struct stack_context *context, const struct request *request,
				      struct verdict *ret_verdict, struct stack_walk *walk) {
	struct answer answer;
	struct stack_line line;
	struct recording recording = {context, request, walk};
	if (walk) *walk = (struct stack_walk){0};
	judge(context, request, &answer, &line, walk ? record_step : NULL, &recording);
	if (answer.given)
		verdict_of_answer(context, request, &line, &answer, ret_verdict);
	else
		verdict_of_none(request, &answer, ret_verdict);
	answer_finish(&answer);
	return answer.needed;
}

void stack_decide_address(const struct stack_context *context, const struct request *request,
			  struct verdict *ret_verdict) {
	static const struct stack_line lines[] = {{.module = STACK_RULES}, {.module = STACK_GRANTS}};
	const struct stack_grants *grants = context->grants;
	struct pattern_rank rank;
	struct grant grant = {0};
	struct answer answer = {.given = true, .rule = ruleset_find_address(context->ruleset, request->target)};
	if (answer.rule && answer.rule->effect == EFFECT_DENY) {
		verdict_of_answer(context, request, &lines[0], &answer, ret_verdict);
		return;
	}
	answer.rule = NULL;
	*ret_verdict = (struct verdict){.effect = EFFECT_ALLOW};
	set_module(ret_verdict, "none");
	if (!grants || !grants->find(grants->context, request, &grant, &rank)) return;
	answer.grant = &grant;
	if (grant.effect == EFFECT_DENY && grant_names_address(&grant))
		verdict_of_answer(context, request, &lines[1], &answer, ret_verdict);
	grant_finish(&grant);
}

void stack_walk_finish(struct stack_walk *walk) {
	for (size_t i = 0; i < walk->count; i++) verdict_finish(&walk->steps[i].answer);
	*walk = (struct stack_walk){0};
}

void stack_exec_answers_add(struct stack_exec_answers *answers, struct stack_exec_answer answer) {
	answers->items = array_grow(answers->items, answers->count, sizeof *answers->items);
	answers->items[answers->count++] = answer;
}

void stack_exec_answers_finish(struct stack_exec_answers *answers) {
	for (size_t i = 0; i < answers->count; i++) {
		free(answers->items[i].command);
		free(answers->items[i].why);
	}
	free(answers->items);
	*answers = (struct stack_exec_answers){0};
}
