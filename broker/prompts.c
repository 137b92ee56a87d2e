/*
 * Theory of operation.
 *
 * A pending prompt has waiters (checks that want a verdict) and showings (agents that were told, each with its token).
 * It ends in one of four ways, always through pending_close: answered, expired, cancelled (no waiter left) or covered
 * (a new grant or rule decides, or asks on other terms, which is another prompt). The waiters' decisions are recorded
 * before their replies go out; for an answer in one transaction with the grant.
 */
#include "prompts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/string.h"
#include "flood.h"
#include "pending.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "scope.h"

/* Waiters and showings */

static void remove_waiter(struct prompt_pending *pending, size_t index) {
	struct checking *waiter = &pending->waiters[index];
	waiter->client->pending--;
	checking_finish(waiter);
	memmove(waiter, waiter + 1, (pending->waiter_count - index - 1) * sizeof *waiter);
	pending->waiter_count--;
}

static void add_waiter(struct prompt_pending *pending, struct checking *checking) {
	pending->waiters = array_grow(pending->waiters, pending->waiter_count, sizeof *pending->waiters);
	pending->waiters[pending->waiter_count++] = *checking;
	checking->client->pending++;
	*checking = (struct checking){0};
}

static bool agent_sees(const struct client *client, int64_t session) {
	return client->agent != AGENT_NONE && !client->dead &&
	       (client->agent_session == 0 || client->agent_session == session);
}

static void show(struct prompt_pending *pending, struct client *agent) {
	struct showing showing = {.agent = agent};
	random_token(showing.token);
	pending->showings = array_grow(pending->showings, pending->showing_count, sizeof *pending->showings);
	pending->showings[pending->showing_count++] = showing;
	struct prompt shown = pending->prompt; /* borrows the texts */
	memcpy(shown.token, showing.token, sizeof shown.token);
	client_push(agent, "prompt", prompt_to_json(&shown));
}

static size_t show_to_agents(struct prompt_pending *pending) {
	struct client *client;
	TAILQ_FOREACH(client, &pending->broker->clients, link) {
		if (agent_sees(client, pending->prompt.session)) show(pending, client);
	}
	return pending->showing_count;
}

static bool has_agent(const struct broker *broker, int64_t session) {
	const struct client *client;
	TAILQ_FOREACH(client, &broker->clients, link) {
		if (agent_sees(client, session)) return true;
	}
	return false;
}

/* Ending */

static void pending_free(struct prompt_pending *pending) {
	while (pending->waiter_count > 0) remove_waiter(pending, pending->waiter_count - 1);
	if (pending->deadline) event_free(pending->deadline);
	prompt_finish(&pending->prompt);
	free(pending->waiters);
	free(pending->showings);
	free(pending);
}

void pending_close(struct prompt_pending *pending, const char *how, const char *verdict) {
	for (size_t i = 0; i < pending->showing_count; i++) {
		json_t *push = json_object();
		json_object_set_new(push, "id", json_integer(pending->prompt.id));
		json_object_set_new(push, "how", json_string(how));
		json_object_set_new(push, "verdict", verdict ? json_string(verdict) : json_null());
		client_push(pending->showings[i].agent, "prompt-gone", push);
	}
	TAILQ_REMOVE(&pending->broker->prompts, pending, link);
	pending->broker->prompt_count--;
	pending_free(pending);
}

/* Within a transaction: what has become of the prompt. `detail` is given up. */
int pending_record(const struct prompt_pending *pending, enum event_kind kind, int verdict, int64_t grant,
		   json_t *detail, struct error *error) {
	const struct prompt *prompt = &pending->prompt;
	/* Borrowed: broker_record frees only the detail. */
	struct event event = {.kind = kind,
			      .session = prompt->session,
			      .profile = prompt->profile,
			      .project = prompt->project,
			      .process = prompt->process,
			      .permission = (char *)prompt->permission.name,
			      .target = prompt->target,
			      .verdict = verdict,
			      .by = (char *)(pending->summary ? "flood" : "ask"),
			      .why = prompt->why,
			      .grant = grant,
			      .prompt = prompt->id,
			      .detail = detail};
	return broker_record(pending->broker, &event, error);
}

static json_t *state_detail(const char *state) {
	json_t *detail = json_object();
	json_object_set_new(detail, "state", json_string(state));
	return detail;
}

/* Alone in a transaction; the prompt ends even if the history can't be written, for nothing is allowed by that. */
static void note_state(const struct prompt_pending *pending, const char *state) {
	struct error error = ERROR_NONE;
	int r = broker_begin(pending->broker, STORE_NORMAL, &error);
	if (r == 0) {
		r = pending_record(pending, EVENT_PROMPT, -1, 0, state_detail(state), &error);
		if (r == 0)
			r = broker_commit(pending->broker, &error);
		else
			broker_rollback(pending->broker);
	}
	if (r < 0) log_error("recording prompt %lld: %s", (long long)pending->prompt.id, error.message);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct prompt_pending *pending = argument;
	note_state(pending, "expired");
	while (pending->waiter_count > 0) {
		CLEANUP_DECISION struct decision decision = {.uses = 1};
		decision.verdict.prompt = pending->prompt.id;
		verdict_set(&decision.verdict, EFFECT_DENY, "ask", "nobody answered prompt %lld in time",
			    (long long)pending->prompt.id);
		decision_settle(pending->broker, &pending->waiters[0].request, &decision);
		checking_reply(&pending->waiters[0], &decision.verdict);
		remove_waiter(pending, 0);
	}
	pending_close(pending, "expired", "deny");
}

static void cancel_if_alone(struct prompt_pending *pending) {
	if (pending->waiter_count > 0) return;
	note_state(pending, "cancelled");
	pending_close(pending, "cancelled", NULL);
}

static struct prompt_pending *next_of(struct prompt_pending *pending) {
	return TAILQ_NEXT(pending, link);
}

bool prompts_cancel(struct client *client, int64_t check) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &client->broker->prompts, link) {
		for (size_t i = 0; i < pending->waiter_count; i++) {
			if (pending->waiters[i].client != client || pending->waiters[i].id != check) continue;
			struct error error;
			error_set(&error, ECANCELED, "the check was cancelled");
			client_reply_error(client, check, &error);
			remove_waiter(pending, i);
			cancel_if_alone(pending);
			return true;
		}
	}
	return false;
}

void prompts_forget_client(struct broker *broker, struct client *client) {
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		for (size_t i = pending->showing_count; i-- > 0;)
			if (pending->showings[i].agent == client)
				pending->showings[i] = pending->showings[--pending->showing_count];
		size_t before = pending->waiter_count;
		for (size_t i = pending->waiter_count; i-- > 0;)
			if (pending->waiters[i].client == client) remove_waiter(pending, i);
		if (pending->waiter_count < before) cancel_if_alone(pending);
	}
}

void prompts_forget_session(struct broker *broker, const struct session *session) {
	struct error error;
	error_set(&error, ECANCELED, "the session has ended");
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		if (pending->prompt.session != session->record.id) continue;
		for (size_t i = 0; i < pending->waiter_count; i++)
			client_reply_error(pending->waiters[i].client, pending->waiters[i].id, &error);
		while (pending->waiter_count > 0) remove_waiter(pending, pending->waiter_count - 1);
		cancel_if_alone(pending);
	}
}

/* Asking */

/* Who is asked about an address, or about localhost, allows just that. */
static bool opens_private(const struct request *request, const struct verdict *verdict) {
	return verdict->private_allowed || request_names_address(request);
}

/* Who may answer, and what an allow opens. */
static bool has_terms(const struct prompt_pending *pending, const struct request *request,
		      const struct verdict *verdict) {
	return pending->prompt.confirm_terminal == verdict->confirm_terminal && pending->direct == verdict->direct &&
	       pending->private_allowed == opens_private(request, verdict);
}

static bool is_same(const struct prompt_pending *pending, const struct request *request,
		    const struct verdict *verdict) {
	const struct prompt *prompt = &pending->prompt;
	return has_terms(pending, request, verdict) && prompt->session == request->session &&
	       permission_equal(&prompt->permission, &request->permission) &&
	       strcmp(prompt->target, request->target) == 0 &&
	       string_equal(prompt->profile, request->subject.profile) &&
	       string_equal(prompt->project, request->subject.project);
}

struct prompt_pending *pending_find(const struct broker *broker, int64_t id) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (pending->prompt.id == id) return pending;
	}
	return NULL;
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
		count += pending->prompt.session == session;
	}
	return count;
}

static struct prompt_pending *pending_new(struct broker *broker, const struct request *request,
					  const struct verdict *verdict,
					  const struct policy_prompt_settings *settings) {
	struct prompt_pending *pending = mem_new(struct prompt_pending);
	pending->broker = broker;
	pending->private_allowed = opens_private(request, verdict);
	pending->direct = verdict->direct;
	pending->lifetime_ms = settings->lifetime_ms;
	struct prompt *prompt = &pending->prompt;
	prompt->session = request->session;
	prompt->profile = string_copy_or_null(request->subject.profile);
	prompt->project = string_copy_or_null(request->subject.project);
	prompt->permission = request->permission;
	prompt->target = string_copy(request->target);
	prompt->process = string_copy_or_null(request->process);
	for (size_t i = 0; i < request->parents.count; i++) strings_add(&prompt->parents, request->parents.items[i]);
	prompt->reason = string_copy_or_null(request->reason);
	prompt->why = verdict->rule ? string_format("%s (%s)", verdict->why ? verdict->why : "", verdict->rule)
				    : string_copy_or_null(verdict->why);
	prompt->confirm_terminal = verdict->confirm_terminal;
	scopes_offered(&request->permission, request->target, broker->places.home, &prompt->scopes);
	prompt->deadline_ms = broker_now_ms(broker) + settings->timeout_ms;
	return pending;
}

/* A permission of the user's own is shown by the words that its policy has for it. */
static void describe(struct prompt_pending *pending, const struct ruleset *ruleset) {
	pending->prompt.description =
		string_copy_or_null(policy_description(ruleset_policy(ruleset), pending->prompt.permission.name));
}

/* What doesn't fit a message is left out from the back, the wider scopes first; false when it never fits. */
static bool fits_message(struct prompt *prompt) {
	for (;;) {
		json_t *json = prompt_to_json(prompt);
		size_t size = json_dumpb(json, NULL, 0, JSON_COMPACT);
		json_decref(json);
		if (size <= LIMIT_PAGE_BYTES) return true;
		struct strings *list = prompt->scopes.count > 1 ? &prompt->scopes : &prompt->parents;
		if (list->count == 0) return false;
		free(list->items[--list->count]);
		list->items[list->count] = NULL;
	}
}

static int write_shown(struct prompt_pending *pending, struct error *error) {
	struct broker *broker = pending->broker;
	int r = broker_begin(broker, STORE_NORMAL, error);
	if (r < 0) return r;
	r = history_next_prompt(broker->history, &pending->prompt.id, error);
	if (r == 0) r = pending_record(pending, EVENT_PROMPT, -1, 0, state_detail("shown"), error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

static int start(struct prompt_pending *pending, int64_t timeout_ms, struct error *error) {
	if (!fits_message(&pending->prompt))
		return error_set(error, E2BIG, "the request is too long to be shown to anybody");
	int r = write_shown(pending, error);
	if (r < 0) return r;
	pending->deadline = evtimer_new(pending->broker->base, on_deadline, pending);
	if (!pending->deadline) mem_exhausted();
	const struct timeval wait = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	event_add(pending->deadline, &wait);
	TAILQ_INSERT_TAIL(&pending->broker->prompts, pending, link);
	pending->broker->prompt_count++;
	return 0;
}

/* Why it can't be asked, or NULL. */
static const char *refusal(const struct client *client, const struct request *request, bool wait_without_agent,
			   const char **ret_module) {
	struct broker *broker = client->broker;
	*ret_module = "ask";
	if (client->session && client->session->recording)
		return "it is not decided yet, and --record answers that with a denial";
	if (!wait_without_agent && !has_agent(broker, request->session))
		return "nobody is there to be asked (prompt.without-agent: deny)";
	*ret_module = "flood";
	if (broker->prompt_count >= LIMIT_PROMPTS) return "too many prompts wait for an answer";
	if (flood_question(broker, client->session, request, count_of_session(broker, request->session))) return NULL;
	prompts_recheck(broker); /* the flood denies what the session has asked before, too */
	return flood_reason(broker, client->session);
}

bool prompts_ask(struct checking *checking, const struct ruleset *ruleset, struct decision *decision) {
	struct broker *broker = checking->client->broker;
	struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(ruleset));
	struct prompt_pending *pending = find_same(broker, &checking->request, &decision->verdict);
	if (pending) {
		add_waiter(pending, checking);
		return true;
	}
	const char *module, *why = refusal(checking->client, &checking->request, settings.wait_without_agent, &module);
	struct error error = ERROR_NONE;
	if (!why) {
		pending = pending_new(broker, &checking->request, &decision->verdict, &settings);
		describe(pending, ruleset);
		if (start(pending, settings.timeout_ms, &error) == 0) {
			add_waiter(pending, checking);
			show_to_agents(pending);
			return true;
		}
		pending_free(pending);
		why = error.message;
	}
	verdict_set(&decision->verdict, EFFECT_DENY, module, "%s", why);
	return false;
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
	struct error error = ERROR_NONE;
	struct prompt_pending *pending = pending_new(broker, &request, &verdict, &settings);
	pending->summary = true;
	pending->prompt.description = string_copy("go on asking");
	if (start(pending, settings.timeout_ms, &error) == 0) {
		show_to_agents(pending);
		return;
	}
	log_error("the summary of a flood: %s", error.message);
	pending_free(pending);
}

void prompts_show_all(struct client *agent) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &agent->broker->prompts, link) {
		if (agent_sees(agent, pending->prompt.session)) show(pending, agent);
	}
}

/* Covering */

int pending_rules(const struct broker *broker, const struct prompt *prompt, const struct ruleset **ret_ruleset,
		  struct error *error) {
	const struct session *session = session_find(broker, prompt->session);
	if (session) {
		*ret_ruleset = session->ruleset;
		return 0;
	}
	return policies_ruleset(broker->policies, prompt->profile, prompt->project, ret_ruleset, error);
}

struct resumption {
	struct checking *items;
	size_t count;
};

/* As rules have changed a program is to be asked about it now, or the user on other terms: it isn't this question any
 * more. */
static void resume_later(struct resumption *resumption, struct prompt_pending *pending) {
	resumption->items = array_grow(resumption->items, resumption->count, sizeof *resumption->items);
	resumption->items[resumption->count++] = pending->waiters[0];
	pending->waiters[0] = (struct checking){.client = pending->waiters[0].client};
	remove_waiter(pending, 0);
}

/* A waiter is decided anew each: a grant for one use covers one of them. */
static const char *recheck(struct prompt_pending *pending, const struct ruleset *ruleset,
			   struct resumption *resumption) {
	const char *verdict = NULL;
	struct broker *broker = pending->broker;
	while (pending->waiter_count > 0) {
		struct checking *waiter = &pending->waiters[0];
		CLEANUP_DECISION struct decision decision;
		decision_make(broker, ruleset, session_find(broker, pending->prompt.session), &waiter->request,
			      &waiter->said, &decision, NULL);
		bool asks = decision.verdict.effect == EFFECT_ASK;
		if (asks && has_terms(pending, &waiter->request, &decision.verdict)) return NULL;
		if (asks || decision.needed) {
			resume_later(resumption, pending);
			continue;
		}
		decision_settle(broker, &waiter->request, &decision);
		checking_reply(waiter, &decision.verdict);
		remove_waiter(pending, 0);
		verdict = effect_name(decision.verdict.effect);
	}
	return verdict;
}

void prompts_recheck(struct broker *broker) {
	struct resumption resumption = {0};
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		const struct ruleset *ruleset;
		if (pending->summary || pending_rules(broker, &pending->prompt, &ruleset, NULL) < 0) continue;
		const char *verdict = recheck(pending, ruleset, &resumption);
		if (pending->waiter_count > 0) continue;
		if (string_equal(verdict, effect_name(EFFECT_ALLOW)))
			flood_allowed(broker, session_find(broker, pending->prompt.session));
		note_state(pending, "covered");
		pending_close(pending, "covered", verdict);
	}
	/* Only now: what goes on may ask, and change the list. */
	for (size_t i = 0; i < resumption.count; i++) checking_go_on(&resumption.items[i]);
	free(resumption.items);
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
		json_t *json = prompt_to_json(&pending->prompt);
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
