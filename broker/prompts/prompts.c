/*
 * Theory of operation.
 *
 * A pending prompt has waiters (checks that want a verdict) and showings (agents that were told, each with its token).
 * It ends in one of four ways, always through pending_close: answered, expired, cancelled (no waiter left, or not the
 * first, whose process and name it shows) or covered (a new grant or rule decides, or asks on other terms, or about a
 * whole tree, which is another prompt). The waiters' decisions are recorded before their replies go out; for an answer
 * in one transaction with the grant.
 */
#include "prompts.h"
#include "check_flow.h"
#include "check_reply.h"
#include "deciding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "pending.h"
#include "programs/checking.h"
#include "schema/limits.h"
#include "sessions/flood.h"
#include "sessions/session.h"
#include "walk.h"

/* Leaving a prompt */

/* Whom prompts need not ask about any more: they hear of it after those who were shown the prompts, and when nobody
 * walks the list any more. */
struct covered {
	struct waiter {
		struct checking checking;
		struct decision decision;
		bool goes_on; /* to a program, or to a question on other terms */
	} * items;
	size_t count;
};

static void cover(struct covered *covered, struct checking checking, const struct decision *decision, bool goes_on) {
	covered->items = array_grow(covered->items, covered->count, sizeof *covered->items);
	covered->items[covered->count++] = (struct waiter){checking, *decision, goes_on};
}

static void covered_tell(struct covered *covered) {
	for (size_t i = 0; i < covered->count; i++) {
		struct waiter *waiter = &covered->items[i];
		if (waiter->goes_on)
			checking_go_on(&waiter->checking);
		else
			checking_reply(&waiter->checking, &waiter->decision.verdict);
		checking_finish(&waiter->checking);
		decision_finish(&waiter->decision);
	}
	free(covered->items);
}

/* Giving up */

/* Its words are the first one's, but of a walk, which is one process's: the others ask anew, by their own. */
static void leave_with_first(struct prompt_pending *pending, struct covered *covered) {
	static const struct decision none;
	while (!pending->walk && pending->waiter_count > 0) cover(covered, pending_take(pending, 0), &none, true);
}

static void cancel_if_alone(struct prompt_pending *pending) {
	if (pending->waiter_count > 0) return;
	pending_note(pending, "cancelled");
	pending_close(pending, "cancelled", NULL, NULL);
}

static struct prompt_pending *next_of(struct prompt_pending *pending) {
	return TAILQ_NEXT(pending, link);
}

bool prompts_cancel(struct client *client, int64_t check) {
	struct covered covered = {0};
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &client->broker->prompts, link) {
		for (size_t i = 0; i < pending->waiter_count; i++) {
			const struct checking *waiter = &pending->waiters[i];
			if (waiter->client != client || waiter->id != check || waiter->wanted) continue;
			struct error error;
			error_set(&error, ECANCELED, "the check was cancelled");
			client_reply_error(client, check, &error);
			pending_remove(pending, i);
			if (i == 0) leave_with_first(pending, &covered);
			cancel_if_alone(pending);
			covered_tell(&covered);
			return true;
		}
	}
	return false;
}

void prompts_forget_client(struct broker *broker, struct client *client) {
	struct covered covered = {0};
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		for (size_t i = pending->showing_count; i-- > 0;)
			if (pending->showings[i].agent == client)
				pending->showings[i] = pending->showings[--pending->showing_count];
		const size_t before = pending->waiter_count;
		const bool first = before > 0 && pending->waiters[0].client == client;
		for (size_t i = pending->waiter_count; i-- > 0;)
			if (pending->waiters[i].client == client) pending_remove(pending, i);
		if (first) leave_with_first(pending, &covered);
		if (pending->waiter_count < before) cancel_if_alone(pending);
	}
	covered_tell(&covered);
	if (client->agent == AGENT_DESKTOP) prompts_tell_desktop(broker);
}

void prompts_forget_session(struct broker *broker, const struct session *session) {
	struct error error;
	error_set(&error, ECANCELED, "the session has ended");
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		if (pending->prompt.session != session->record.id) continue;
		for (size_t i = 0; i < pending->waiter_count; i++) checking_refuse(&pending->waiters[i], &error);
		while (pending->waiter_count > 0) pending_remove(pending, pending->waiter_count - 1);
		cancel_if_alone(pending);
	}
}

/* Asking */

/* The host that a connection's bytes ask for, the program that a link leads to, and a link that is made are what an
 * allow is for. */
static bool is_of_name(const struct prompt *prompt, const struct request *request) {
	const enum permission_kind kind = request->permission.kind;
	return (kind != PERMISSION_NET_ACCESS && kind != PERMISSION_PROC_SPAWN && kind != PERMISSION_FS_LINK) ||
	       string_equal(prompt->name, request->name);
}

static bool is_same(const struct prompt_pending *pending, const struct request *request,
		    const struct verdict *verdict) {
	const struct prompt *prompt = &pending->prompt;
	return pending_has_terms(pending, request, verdict) && prompt->session == request->session &&
	       permission_equal(&prompt->permission, &request->permission) &&
	       strcmp(prompt->target, request->target) == 0 && is_of_name(prompt, request) &&
	       string_equal(prompt->profile, request->subject.profile) &&
	       string_equal(prompt->project, request->subject.project);
}

static struct prompt_pending *find_same(const struct broker *broker, const struct request *request,
					const struct verdict *verdict) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (is_same(pending, request, verdict)) return pending;
	}
	return NULL;
}

static size_t count_of_session(const struct broker *broker, int64_t session) {
	size_t count = 0;
	const struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		count += pending->prompt.session == session && !pending->wanted;
	}
	return count;
}

static bool has_agent(const struct broker *broker, int64_t session) {
	const struct client *client;
	TAILQ_FOREACH(client, &broker->clients, link) {
		if (pending_seen_by(client, session)) return true;
	}
	return false;
}

/* Why nobody can be asked, or NULL. */
static const char *unanswerable(const struct broker *broker, const struct session *session, bool wait_without_agent) {
	if (session && session->recording) return VERDICT_WHY_RECORDED;
	return wait_without_agent || has_agent(broker, session ? session->record.id : 0) ? NULL : VERDICT_WHY_NOBODY;
}

/* Why it can't be asked, or NULL. */
static const char *refusal(const struct client *client, const struct request *request, bool wait_without_agent,
			   const char **ret_module) {
	struct broker *broker = client->broker;
	const char *why = unanswerable(broker, client->session, wait_without_agent);
	*ret_module = why ? "ask" : "flood";
	if (why) return why;
	if (broker->prompt_count >= LIMIT_PROMPTS) return "too many prompts wait for an answer";
	if (flood_question(broker, client->session, request, count_of_session(broker, request->session))) return NULL;
	prompts_recheck(broker); /* the flood denies what the session has asked before, too */
	return flood_reason(broker, client->session);
}

/*
 * A walk through a tree
 */

/* The folder that the rule which asks names; NULL when it names none, or isn't one for all that lies below. */
static const char *folder_of_rule(const struct ruleset *ruleset, const struct request *request,
				  const struct verdict *verdict) {
	const struct rule *rule = ruleset_find(ruleset, &request->permission, request->target, NULL);
	if (!rule || rule->effect != EFFECT_ASK || verdict->confirm_terminal) return NULL;
	return pattern_target(rule->pattern);
}

static struct walk_step step_of(const struct broker *broker, const struct ruleset *ruleset,
				const struct request *request, const struct verdict *verdict) {
	struct moment now;
	clock_read(broker->clock, &now);
	return (struct walk_step){.request = request,
				  .rule = verdict->rule,
				  .root = folder_of_rule(ruleset, request, verdict),
				  .home = broker->places.home,
				  .now_ms = now.boot_ms};
}

static bool is_walked_by(const struct prompt_pending *pending, const struct request *request, const char *rule) {
	return !pending->summary && pending->prompt.session == request->session &&
	       permission_equal(&pending->prompt.permission, &request->permission) &&
	       string_equal(pending->prompt.process, request->process) && string_equal(pending->rule, rule);
}

/* The question about a tree that this is a part of. */
static struct prompt_pending *find_walk(const struct broker *broker, const struct request *request,
					const struct verdict *verdict) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (pending->walk && is_walked_by(pending, request, verdict->rule) &&
		    pending_has_terms(pending, request, verdict) &&
		    path_is_below(request->target, pending->prompt.target))
			return pending;
	}
	return NULL;
}

/* What the walk has asked name by name is part of the question about its tree. */
static void take_in(struct prompt_pending *tree, const struct request *request) {
	for (struct prompt_pending *pending = TAILQ_FIRST(&tree->broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		if (pending == tree || !is_walked_by(pending, request, tree->rule) ||
		    !path_is_below(pending->prompt.target, tree->prompt.target))
			continue;
		while (pending->waiter_count > 0) {
			struct checking waiter = pending_take(pending, 0);
			pending_add(tree, &waiter);
		}
		pending_note(pending, "covered");
		pending_close(pending, "covered", NULL, NULL);
	}
}

/* Of another file of the same folder that waits already: agents may ask about both together. */
static int64_t bundle_for(const struct broker *broker, const struct request *request, const struct verdict *verdict) {
	const struct prompt_pending *pending;
	if (request->session == 0 || verdict->confirm_terminal || !permission_is_of_path(&request->permission))
		return 0;
	CLEANUP_FREE char *folder = path_parent(request->target);
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		const struct prompt *prompt = &pending->prompt;
		if (prompt->session != request->session || prompt->confirm_terminal || pending->summary ||
		    pending->walk || pending->wanted || !permission_equal(&prompt->permission, &request->permission))
			continue;
		CLEANUP_FREE char *other = path_parent(prompt->target);
		if (strcmp(other, folder) == 0) return prompt->bundle ? prompt->bundle : prompt->id;
	}
	return 0;
}

/* A prompt, old or new, that the check waits for now; NULL: why not is in the error, by *ret_module. */
static struct prompt_pending *question_for(const struct checking *checking, const struct ruleset *ruleset,
					   const struct verdict *verdict, const char *tree, const char **ret_module,
					   struct error *error) {
	struct broker *broker = checking->client->broker;
	const struct request *request = &checking->request;
	const struct pending_wish wish = {.request = request,
					  .verdict = verdict,
					  .tree = tree,
					  .ruleset = ruleset,
					  .bundle = tree ? 0 : bundle_for(broker, request, verdict)};
	const struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(ruleset));
	const char *why = refusal(checking->client, request, settings.wait_without_agent, ret_module);
	if (why) {
		error_set(error, EPERM, "%s", why);
		return NULL;
	}
	struct prompt_pending *pending = pending_new(broker, &wish);
	if (pending_start(pending, error) < 0) {
		pending_free(pending);
		return NULL;
	}
	if (tree) take_in(pending, request);
	pending_show_all(pending);
	return pending;
}

static bool is_denied_walk(struct walks *walks, const struct walk_step *step, struct decision *decision) {
	int64_t prompt = walks ? walk_denied(walks, step) : 0;
	if (prompt == 0) return false;
	verdict_set(&decision->verdict, EFFECT_DENY, "ask", VERDICT_WHY_AGAIN, (long long)prompt);
	decision->verdict.asked_user = true;
	return true;
}

bool prompts_ask(struct checking *checking, const struct ruleset *ruleset, struct decision *decision) {
	struct broker *broker = checking->client->broker;
	const struct request *request = &checking->request;
	const struct verdict *verdict = &decision->verdict;
	struct walks *walks = checking->client->session ? checking->client->session->walks : NULL;
	const struct walk_step step = step_of(broker, ruleset, request, verdict);
	struct prompt_pending *pending = find_same(broker, request, verdict);
	if (!pending) pending = find_walk(broker, request, verdict);
	if (!pending && is_denied_walk(walks, &step, decision)) return false;
	if (!pending) {
		CLEANUP_FREE char *tree = walks ? walk_tree(walks, &step) : NULL;
		const char *module = "ask";
		struct error error = ERROR_NONE;
		pending = question_for(checking, ruleset, verdict, tree, &module, &error);
		if (!pending) verdict_set(&decision->verdict, EFFECT_DENY, module, "%s", error.message);
	}
	if (pending) pending_add(pending, checking);
	return pending;
}

/* What is wanted is settled without an answer; `why` it isn't asked about, where it would be. */
static void settle_wanted(struct broker *broker, const struct checking *checking, struct decision *decision,
			  const char *why) {
	if (decision->verdict.effect == EFFECT_ASK || decision->needed)
		verdict_set(&decision->verdict, EFFECT_DENY, "ask", "%s", why);
	if (checking_decides(checking)) decision_settle(broker, &checking->request, decision);
}

/* One of a session's wants, in the history and shown to nobody yet; NULL: nobody is asked about it. */
static struct prompt_pending *start_wanted(const struct session *session, const struct wants_item *item,
					   const struct prompt_pending *first, bool alone,
					   const struct decision *decision) {
	struct broker *broker = session->broker;
	const struct verdict *verdict = &decision->verdict;
	if (verdict->effect != EFFECT_ASK || decision->needed || verdict->confirm_terminal) return NULL;
	const struct pending_wish wish = {.request = &item->checking.request,
					  .verdict = verdict,
					  .ruleset = session->ruleset,
					  .wanted = item->shown,
					  .bundle = first ? first->prompt.id : 0,
					  .leads = !first && !alone};
	struct error error = ERROR_NONE;
	struct prompt_pending *pending = pending_new(broker, &wish);
	if (pending_start(pending, &error) == 0) return pending;
	log_error("a question at a session's start: %s", error.message);
	pending_free(pending);
	return NULL;
}

/* All of them are there before one is shown, so that they come together. */
void prompts_ask_together(struct session *session, struct wants_item *items, size_t count) {
	struct broker *broker = session->broker;
	const struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(session->ruleset));
	const bool room =
		broker->prompt_count + count <= LIMIT_PROMPTS && session->client->pending + count <= LIMIT_PENDING;
	const char *why = unanswerable(broker, session, settings.wait_without_agent);
	const bool asked = !why && room;
	struct prompt_pending *started[LIMIT_WANTS] = {NULL}, *first = NULL;
	for (size_t i = 0; i < count; i++) {
		struct checking *checking = &items[i].checking;
		CLEANUP_DECISION struct decision decision = {0};
		decision_make(broker, session->ruleset, session, &checking->request, &checking->said, &decision, NULL);
		if (asked) started[i] = start_wanted(session, &items[i], first, count == 1, &decision);
		if (started[i]) {
			if (!first) first = started[i];
			pending_add(started[i], checking);
		} else {
			settle_wanted(broker, checking, &decision, why ? why : "it can't be asked about at the start");
			checking_reply(checking, &decision.verdict);
			checking_finish(checking);
		}
	}
	for (size_t i = 0; i < count; i++)
		if (started[i]) pending_show_all(started[i]);
}

void prompts_summarize(struct broker *broker, const struct session *session, const struct ruleset *ruleset,
		       const struct request *asked) {
	struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(ruleset));
	if ((!settings.wait_without_agent && !has_agent(broker, asked->session)) ||
	    !flood_wants_summary(broker, session))
		return;
	CLEANUP_FREE char *target = string_format("after %d questions", LIMIT_QUESTIONS);
	/* Borrowed texts: not finished. */
	const struct request request = {
		.session = asked->session, .subject = asked->subject, .permission = permission_ask(), .target = target};
	const struct verdict verdict = {.effect = EFFECT_ASK, .why = (char *)flood_reason(broker, session)};
	const struct pending_wish wish = {
		.request = &request, .verdict = &verdict, .ruleset = ruleset, .summary = true};
	struct error error = ERROR_NONE;
	struct prompt_pending *pending = pending_new(broker, &wish);
	if (pending_start(pending, &error) == 0) {
		pending_show_all(pending);
		return;
	}
	log_error("the summary of a flood: %s", error.message);
	pending_free(pending);
}

void prompts_show_all(struct client *agent) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &agent->broker->prompts, link) {
		if (pending_seen_by(agent, pending->prompt.session)) pending_show(pending, agent);
	}
}

void prompts_tell_desktop(struct broker *broker) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		pending_tell_desktop(pending);
	}
}

/* Covering */

/* A waiter is decided anew each: a grant for one use covers one of them. */
static const char *recheck(struct prompt_pending *pending, const struct ruleset *ruleset, struct covered *covered) {
	const char *verdict = NULL;
	bool first = false;
	struct broker *broker = pending->broker;
	for (size_t i = 0; i < pending->waiter_count;) {
		struct checking *waiter = &pending->waiters[i];
		struct decision decision; /* given to `covered` */
		decision_make(broker, ruleset, session_find(broker, pending->prompt.session), &waiter->request,
			      &waiter->said, &decision, NULL);
		const bool asks = decision.verdict.effect == EFFECT_ASK;
		if (asks && pending_has_terms(pending, &waiter->request, &decision.verdict)) {
			decision_finish(&decision);
			i++;
			continue;
		}
		const bool goes_on = (asks || decision.needed) && !waiter->wanted;
		if (!goes_on && waiter->wanted)
			settle_wanted(broker, waiter, &decision, "it is asked about in another way by now");
		else if (!goes_on)
			decision_settle(broker, &waiter->request, &decision);
		if (!goes_on) verdict = effect_name(decision.verdict.effect);
		first |= i == 0;
		cover(covered, pending_take(pending, i), &decision, goes_on);
	}
	if (first) leave_with_first(pending, covered);
	return verdict;
}

void prompts_recheck(struct broker *broker) {
	struct covered covered = {0};
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		const struct ruleset *ruleset;
		if (pending->summary || pending_rules(broker, &pending->prompt, &ruleset, NULL) < 0) continue;
		const char *verdict = recheck(pending, ruleset, &covered);
		if (pending->waiter_count > 0) continue;
		if (string_equal(verdict, effect_name(EFFECT_ALLOW)))
			flood_allowed(broker, session_find(broker, pending->prompt.session));
		pending_note(pending, "covered");
		pending_close(pending, "covered", verdict, NULL);
	}
	covered_tell(&covered); /* only now: what goes on may ask, and change the list */
}

void prompts_list(struct broker *broker, bool newest, int64_t cursor, int64_t session, json_t *items,
		  int64_t *ret_next) {
	size_t bytes = 0;
	int64_t last = 0;
	*ret_next = 0;
	struct prompt_pending *pending =
		newest ? TAILQ_LAST(&broker->prompts, prompt_list) : TAILQ_FIRST(&broker->prompts);
	for (; pending; pending = newest ? TAILQ_PREV(pending, prompt_list, link) : TAILQ_NEXT(pending, link)) {
		int64_t id = pending->prompt.id;
		bool passed = cursor != 0 && (newest ? id >= cursor : id <= cursor);
		if (passed || (session != 0 && pending->prompt.session != session)) continue;
		json_t *json = pending_to_json(pending, NULL);
		bytes += json_dumpb(json, NULL, 0, JSON_COMPACT) + 1;
		bool full = json_array_size(items) > 0 &&
			    (bytes > LIMIT_PAGE_BYTES || json_array_size(items) == LIMIT_PAGE);
		if (!full) json_array_append(items, json);
		json_decref(json);
		if (full) {
			*ret_next = last;
			return;
		}
		last = id;
	}
}
