/* An answer to a prompt: may this client give it, what grant is it, and what follows. */
#include "answer.h"
#include "check_reply.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "check_flow.h"
#include "deciding.h"
#include "grants/granting.h"
#include "pending.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "programs/checking.h"
#include "prompts.h"
#include "schema/message.h"
#include "scope.h"
#include "sessions/flood.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "streaks.h"
#include "walk.h"
#include "wire/client.h"

static const char *const agent_names[] = {
	[AGENT_NONE] = "command", [AGENT_TERMINAL] = "terminal", [AGENT_DESKTOP] = "desktop", [AGENT_TUI] = "tui"};

int64_t prompts_default_ttl(const struct broker *broker, int64_t prompt) {
	const struct prompt_pending *pending = pending_find(broker, prompt);
	return pending ? pending->prompt.lifetime_ms : 0;
}

static bool same_token(const char *a, const char *b) {
	unsigned char difference = 0;
	if (strlen(a) != strlen(b)) return false;
	for (size_t i = 0; a[i]; i++) difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

static int check_token(const struct prompt_pending *pending, const struct client *client, const char *token,
		       struct error *error) {
	for (size_t i = 0; token && i < pending->showing_count; i++)
		if (pending->showings[i].agent == client && same_token(pending->showings[i].token, token)) return 0;
	if (!token && client->agent == AGENT_NONE) return 0;
	return error_set(error, EPERM, "the token is not the one that this agent was given for prompt %lld",
			 (long long)pending->prompt.id);
}

/* Equal requests share a prompt, whatever their calls do. */
static bool opens_folder(const struct prompt_pending *pending) {
	bool opens = pending->prompt.opens_folder;
	for (size_t i = 0; i < pending->waiter_count; i++) opens |= request_opens_folder(&pending->waiters[i].request);
	return opens;
}

static int check_answer(const struct prompt_pending *pending, const struct client *client,
			const struct prompt_answer *answer, struct error *error) {
	int r = check_token(pending, client, answer->token, error);
	if (r < 0) return r;
	if (answer->effect == EFFECT_ALLOW && pending->prompt.confirm_terminal &&
	    (client->agent == AGENT_DESKTOP || !answer->terminal))
		return error_set(error, EPERM,
				 "this must be confirmed in a terminal (confirm: terminal): `sbx allow %lld`",
				 (long long)pending->prompt.id);
	if (answer->effect == EFFECT_ALLOW && answer->lifetime == LIFETIME_ONCE && opens_folder(pending))
		return error_set(error, EINVAL,
				 "a folder can't be allowed for one call: who has it open can read all that comes into "
				 "it; answer with --session or --ttl");
	if (answer->lifetime == LIFETIME_SESSION && pending->prompt.session == 0)
		return error_set(error, EINVAL, "this prompt belongs to no session");
	return 0;
}

/*
 * Those who wait, before and after the answer: it settles those that the grant decides. All who ask for the same are
 * settled alike, but by an allow for once; of a walk each wants its own. Who isn't settled is judged anew.
 */
struct settled {
	bool *each;
	size_t count;
};

static struct settled settled_all(const struct prompt_pending *pending) {
	struct settled settled = {mem_array(bool, pending->waiter_count + 1), pending->waiter_count};
	for (size_t i = 0; i < settled.count; i++) settled.each[i] = true;
	return settled;
}

/* An allow for once is for one of them: the first, or what is wanted at the start, whose first call it is for. */
static void settle_once(const struct prompt_pending *pending, struct settled *settled) {
	settled->count = 0;
	for (size_t i = 0; i < pending->waiter_count; i++) {
		settled->each[i] = pending->wanted ? pending->waiters[i].wanted : i == 0;
		settled->count += settled->each[i];
	}
}

static void settled_finish(struct settled *settled) {
	free(settled->each);
}
#define CLEANUP_SETTLED __attribute__((cleanup(settled_finish)))

/* Does the grant decide what was asked? One that ends above a mask does not. */
static int find_settled(const struct prompt_pending *pending, enum effect effect, const struct pattern *pattern,
			const struct ruleset *ruleset, struct settled *settled, struct error *error) {
	const struct session *session = session_find(pending->broker, pending->prompt.session);
	char why[ERROR_MESSAGE_MAX] = "a closer rule decides";
	settled->count = 0;
	for (size_t i = 0; i < pending->waiter_count; i++) {
		const struct checking *waiter = &pending->waiters[i];
		settled->each[i] = i > 0 && settled->each[0]; /* they ask for the same */
		if (i == 0 || pending->walk) {
			CLEANUP_DECISION struct decision decision;
			decision_make(pending->broker, ruleset, session, &waiter->request, &waiter->said, &decision,
				      NULL);
			settled->each[i] = decision.verdict.effect == effect;
			if (!settled->each[i] && decision.verdict.why)
				snprintf(why, sizeof why, "%s", decision.verdict.why);
		}
		settled->count += settled->each[i];
	}
	if (settled->count > 0) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(pattern_text(pattern), 120);
	return error_set(error, EINVAL, "%s would not cover it: %s; answer with the scope 'exact'", shown, why);
}

/* What the user denies once more, and has denied so often in this session that it is denied for the rest of it. */
static const char why_streak[] = "denied three times in this session";
static_assert(STREAK_LENGTH == 3, "why_streak says so");

static int write_grant(struct prompt_pending *pending, const struct prompt_answer *answer, struct grant *ret_grant,
		       struct settled *settled, struct error *error) {
	const struct prompt *prompt = &pending->prompt;
	bool once = answer->lifetime == LIFETIME_ONCE;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	/* A program is the file, whatever names it has. */
	const bool linked = prompt->permission.kind == PERMISSION_PROC_SPAWN && prompt->name;
	const char *target = linked ? prompt->name : prompt->target;
	int r = scope_pattern(&prompt->permission, target, &prompt->scopes, answer->scope, &text, error);
	if (r < 0 || (once && answer->effect == EFFECT_DENY)) return r;
	const struct granting wish = {.permission = prompt->permission,
				      .target = text,
				      .effect = answer->effect,
				      .profile = prompt->profile,
				      .project = prompt->project,
				      .session = answer->lifetime == LIFETIME_SESSION || once ? prompt->session : 0,
				      .lifetime = answer->lifetime,
				      .ttl_ms = answer->ttl_ms,
				      .origin = GRANT_ORIGIN_PROMPT,
				      .prompt = prompt->id,
				      .reason = answer->streak ? why_streak : prompt->reason};
	struct pattern_scope scope = policies_scope(pending->broker->policies, prompt->project);
	const struct ruleset *ruleset;
	r = pending_rules(pending->broker, prompt, &ruleset, error);
	if (r == 0) r = granting_compile(pending->broker, &wish, &scope, NULL, &pattern, error);
	/* No call waits for what is wanted: its first one is the once that is meant. */
	const bool used = once && !pending->wanted;
	if (r == 0) r = granting_write(pending->broker, &wish, pattern, !used, ret_grant, error);
	if (r == 0 && !used) r = find_settled(pending, answer->effect, pattern, ruleset, settled, error);
	if (r == 0 && once) settle_once(pending, settled);
	return r;
}

static void describe_answer(const struct prompt_pending *pending, const struct prompt_answer *answer,
			    const struct grant *grant, struct decision *ret_decision) {
	*ret_decision = (struct decision){.uses = 1, .lifetime = answer->lifetime};
	struct verdict *verdict = &ret_decision->verdict;
	verdict_set(verdict, answer->effect, "ask", "you %s it (prompt %lld)%s%s",
		    answer->effect == EFFECT_ALLOW ? "allowed" : "denied", (long long)pending->prompt.id,
		    answer->streak ? ": " : "", answer->streak ? why_streak : "");
	verdict->prompt = pending->prompt.id;
	verdict->grant = grant->id;
	verdict->this_run = grant->session != 0;
	verdict->once = answer->effect == EFFECT_ALLOW && answer->lifetime == LIFETIME_ONCE;
	verdict->private_allowed = pending->private_allowed;
	verdict->direct = pending->direct;
	verdict->asked_user = true;
}

static int record_answer(const struct prompt_pending *pending, const struct client *client,
			 const struct prompt_answer *answer, int64_t grant, struct error *error) {
	json_t *detail = json_object();
	json_object_set_new(detail, "lifetime", json_string(lifetime_name(answer->lifetime)));
	json_object_set_new(detail, "scope", message_bytes(answer->scope));
	json_object_set_new(detail, "agent", json_string(agent_names[client->agent]));
	if (answer->streak) json_object_set_new(detail, "why", json_string(why_streak));
	return pending_record(pending, EVENT_ANSWER, (int)answer->effect, grant, detail, error);
}

/* For those who were shown the prompt: where it was answered, and for how long. */
static json_t *told_answer(const struct client *client, const struct prompt_answer *answer) {
	json_t *told = json_object();
	json_object_set_new(told, "agent", json_string(agent_names[client->agent]));
	json_object_set_new(told, "lifetime", json_string(lifetime_name(answer->lifetime)));
	json_object_set_new(told, "ttl_ms",
			    answer->lifetime == LIFETIME_UNTIL ? json_integer(answer->ttl_ms) : json_null());
	return told;
}

/* May the session ask on after a flood? No grant comes of it, whatever the lifetime. */
static int answer_summary(struct prompt_pending *pending, const struct client *client,
			  const struct prompt_answer *answer, struct error *error) {
	struct broker *broker = pending->broker;
	int r = broker_begin(broker, STORE_FULL, error);
	if (r < 0) return r;
	r = record_answer(pending, client, answer, 0, error);
	if (r < 0) {
		broker_rollback(broker);
		return r;
	}
	r = broker_commit(broker, error);
	if (r < 0) return r;
	flood_answer(broker, session_find(broker, pending->prompt.session), answer->effect == EFFECT_ALLOW,
		     pending->prompt.id);
	pending_close(pending, "answered", effect_name(answer->effect), told_answer(client, answer));
	return 0;
}

static int write_answer(struct prompt_pending *pending, const struct client *client, const struct prompt_answer *answer,
			struct grant *ret_grant, struct decision *ret_decision, struct settled *settled,
			struct error *error) {
	int r = broker_begin(pending->broker, STORE_FULL, error);
	if (r < 0) return r;
	r = write_grant(pending, answer, ret_grant, settled, error);
	if (r == 0) r = record_answer(pending, client, answer, ret_grant->id, error);
	if (r == 0) describe_answer(pending, answer, ret_grant, ret_decision);
	for (size_t i = 0; r == 0 && i < pending->waiter_count; i++)
		if (settled->each[i] && checking_decides(&pending->waiters[i]))
			r = decision_record(pending->broker, &pending->waiters[i].request, ret_decision, error);
	if (r == 0) return broker_commit(pending->broker, error);
	broker_rollback(pending->broker);
	return r;
}

/* Of what is wanted: who denies it at the start would be asked the same again as soon as the tool reaches for it, and a
 * variable is given at the start or not at all. */
static bool once_is_session(const struct prompt_pending *pending, const struct prompt_answer *answer) {
	return pending->wanted && answer->lifetime == LIFETIME_ONCE &&
	       (answer->effect == EFFECT_DENY || pending->prompt.permission.kind == PERMISSION_ENV_READ);
}

/* The last of so many denials holds for the rest of the session. */
static struct prompt_answer meant_by(const struct prompt_pending *pending, const struct session *session,
				     const struct prompt_answer *answer) {
	const struct prompt *prompt = &pending->prompt;
	struct prompt_answer meant = *answer;
	meant.streak = session && answer->effect == EFFECT_DENY && answer->lifetime == LIFETIME_ONCE &&
		       strings_contain(&prompt->scopes, "exact") &&
		       streaks_are_full(session->streaks, &prompt->permission, prompt->target);
	if (!meant.streak && !once_is_session(pending, answer)) return meant;
	meant.lifetime = LIFETIME_SESSION;
	meant.scope = "exact";
	return meant;
}

static void count_denials(const struct prompt_pending *pending, const struct session *session,
			  const struct prompt_answer *answer) {
	const struct prompt *prompt = &pending->prompt;
	if (answer->effect == EFFECT_DENY && answer->lifetime == LIFETIME_ONCE)
		streaks_deny(session->streaks, &prompt->permission, prompt->target);
	else
		streaks_end(session->streaks, &prompt->permission, prompt->target);
}

static void remember_denial(const struct prompt_pending *pending, const struct session *session) {
	struct moment now;
	clock_read(pending->broker->clock, &now);
	for (size_t i = 0; i < pending->waiter_count; i++)
		walk_deny(session->walks, &pending->waiters[i].request, pending->rule, pending->prompt.target,
			  pending->prompt.id, now.boot_ms);
}

static void remember_allow(const struct prompt_pending *pending, const struct session *session) {
	for (size_t i = 0; i < pending->waiter_count; i++)
		walk_allow(session->walks, &pending->waiters[i].request, pending->rule, pending->prompt.target);
}

/* The prompt is closed; who was not settled by its answer asks anew. */
static void settle(struct prompt_pending *pending, const struct settled *settled, const struct verdict *verdict,
		   json_t *told) {
	size_t count = pending->waiter_count, left = 0;
	CLEANUP_FREE struct checking *others = mem_array(struct checking, count);
	pending_tell_gone(pending, "answered", effect_name(verdict->effect), told);
	for (size_t i = 0; i < count; i++) {
		if (settled->each[i]) {
			checking_reply(&pending->waiters[0], verdict);
			pending_remove(pending, 0);
		} else {
			others[left++] = pending_take(pending, 0);
		}
	}
	pending_close(pending, "answered", effect_name(verdict->effect), NULL);
	for (size_t i = 0; i < left; i++) checking_go_on(&others[i]);
}

int prompts_answer(struct client *client, const struct prompt_answer *said, struct grant *ret_grant,
		   struct error *error) {
	struct broker *broker = client->broker;
	struct prompt_pending *pending = pending_find(broker, said->prompt);
	if (!pending)
		return error_set(error, ENOENT,
				 "no prompt %lld is waiting: it was answered, or its time is over (sbx prompts lists "
				 "what waits)",
				 (long long)said->prompt);
	int r = check_answer(pending, client, said, error);
	if (r < 0) return r;
	if (pending->summary) return answer_summary(pending, client, said, error);
	struct session *session = session_find(broker, pending->prompt.session);
	const struct prompt_answer meant = meant_by(pending, session, said), *answer = &meant;
	CLEANUP_GRANT struct grant grant = {0};
	CLEANUP_DECISION struct decision decision = {0};
	CLEANUP_SETTLED struct settled settled = settled_all(pending);
	r = write_answer(pending, client, answer, &grant, &decision, &settled, error);
	if (r < 0) return r;
	if (session) count_denials(pending, session, answer);
	bool lasts = grant.id != 0 && answer->lifetime != LIFETIME_ONCE;
	if (answer->effect == EFFECT_ALLOW && !pending->wanted) flood_allowed(broker, session);
	if (answer->effect == EFFECT_ALLOW && session) remember_allow(pending, session);
	if (answer->effect == EFFECT_DENY && !lasts && session) remember_denial(pending, session);
	if (lasts && session) session_tell_new(session, &grant, NULL);
	settle(pending, &settled, &decision.verdict, told_answer(client, answer));
	if (lasts) {
		sessions_tell_new(broker, &grant, session, NULL);
		prompts_recheck(broker);
	}
	*ret_grant = grant;
	grant = (struct grant){0};
	return 0;
}
