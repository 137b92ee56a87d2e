/*
 * Theory of operation.
 *
 * A pending prompt has waiters (checks that want a verdict) and showings (agents that were told, each with its token).
 * It ends in one of four ways, always through close_prompt: answered, expired, cancelled (no waiter left) or covered (a
 * new grant or rule decides). The waiters' decisions are recorded before their replies go out; for an answer in one
 * transaction with the grant.
 */
#include "prompts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/string.h"
#include "base/text.h"
#include "granting.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "scope.h"

struct waiter {
	struct client *client;
	int64_t check;
	struct request request;
};

struct showing {
	struct client *agent;
	char token[RANDOM_TOKEN_SIZE];
};

struct prompt_pending {
	TAILQ_ENTRY(prompt_pending) link;
	struct broker *broker;
	struct prompt prompt; /* the snapshot; its token stays empty */
	bool private_allowed, direct;
	int64_t lifetime_ms;
	struct waiter *waiters;
	size_t waiter_count;
	struct showing *showings;
	size_t showing_count;
	struct event *deadline;
};

static const char *const agent_names[] = {
	[AGENT_NONE] = "command", [AGENT_TERMINAL] = "terminal", [AGENT_DESKTOP] = "desktop", [AGENT_TUI] = "tui"};

/* Waiters and showings */

static void reply_verdict(const struct waiter *waiter, const struct verdict *verdict) {
	json_t *reply = json_object();
	json_object_set_new(reply, "verdict", verdict_to_json(verdict));
	client_reply(waiter->client, "check", waiter->check, reply);
}

static void remove_waiter(struct prompt_pending *pending, size_t index) {
	struct waiter *waiter = &pending->waiters[index];
	waiter->client->pending--;
	request_finish(&waiter->request);
	memmove(waiter, waiter + 1, (pending->waiter_count - index - 1) * sizeof *waiter);
	pending->waiter_count--;
}

static void add_waiter(struct prompt_pending *pending, struct client *client, int64_t check, struct request *request) {
	pending->waiters = array_grow(pending->waiters, pending->waiter_count, sizeof *pending->waiters);
	pending->waiters[pending->waiter_count++] = (struct waiter){client, check, *request};
	*request = (struct request){0};
	client->pending++;
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

static void close_prompt(struct prompt_pending *pending, const char *how, const char *verdict) {
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
static int record_prompt(const struct prompt_pending *pending, enum event_kind kind, int verdict, int64_t grant,
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
			      .by = (char *)"ask",
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
		r = record_prompt(pending, EVENT_PROMPT, -1, 0, state_detail(state), &error);
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
		reply_verdict(&pending->waiters[0], &decision.verdict);
		remove_waiter(pending, 0);
	}
	close_prompt(pending, "expired", "deny");
}

static void cancel_if_alone(struct prompt_pending *pending) {
	if (pending->waiter_count > 0) return;
	note_state(pending, "cancelled");
	close_prompt(pending, "cancelled", NULL);
}

static struct prompt_pending *next_of(struct prompt_pending *pending) {
	return TAILQ_NEXT(pending, link);
}

bool prompts_cancel(struct client *client, int64_t check) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &client->broker->prompts, link) {
		for (size_t i = 0; i < pending->waiter_count; i++) {
			if (pending->waiters[i].client != client || pending->waiters[i].check != check) continue;
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
			client_reply_error(pending->waiters[i].client, pending->waiters[i].check, &error);
		while (pending->waiter_count > 0) remove_waiter(pending, pending->waiter_count - 1);
		cancel_if_alone(pending);
	}
}

/* Asking */

static bool is_same(const struct prompt_pending *pending, const struct request *request) {
	const struct prompt *prompt = &pending->prompt;
	return prompt->session == request->session && permission_equal(&prompt->permission, &request->permission) &&
	       strcmp(prompt->target, request->target) == 0 &&
	       string_equal(prompt->profile, request->subject.profile) &&
	       string_equal(prompt->project, request->subject.project);
}

static struct prompt_pending *find_same(const struct broker *broker, const struct request *request) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (is_same(pending, request)) return pending;
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

static char *copy_or_null(const char *text) {
	return text ? string_copy(text) : NULL;
}

static struct prompt_pending *pending_new(struct broker *broker, const struct request *request,
					  const struct verdict *verdict,
					  const struct policy_prompt_settings *settings) {
	struct prompt_pending *pending = mem_new(struct prompt_pending);
	pending->broker = broker;
	pending->private_allowed = verdict->private_allowed;
	pending->direct = verdict->direct;
	pending->lifetime_ms = settings->lifetime_ms;
	struct prompt *prompt = &pending->prompt;
	prompt->session = request->session;
	prompt->profile = copy_or_null(request->subject.profile);
	prompt->project = copy_or_null(request->subject.project);
	prompt->permission = request->permission;
	prompt->target = string_copy(request->target);
	prompt->process = copy_or_null(request->process);
	for (size_t i = 0; i < request->parents.count; i++) strings_add(&prompt->parents, request->parents.items[i]);
	prompt->reason = copy_or_null(request->reason);
	prompt->why = verdict->rule ? string_format("%s (%s)", verdict->why ? verdict->why : "", verdict->rule)
				    : copy_or_null(verdict->why);
	prompt->confirm_terminal = verdict->confirm_terminal;
	scopes_offered(&request->permission, request->target, broker->places.home, &prompt->scopes);
	prompt->deadline_ms = broker_now_ms(broker) + settings->timeout_ms;
	return pending;
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
	if (r == 0) r = record_prompt(pending, EVENT_PROMPT, -1, 0, state_detail("shown"), error);
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
	const struct broker *broker = client->broker;
	*ret_module = "ask";
	if (client->session && client->session->recording)
		return "it is not decided yet, and --record answers that with a denial";
	if (!wait_without_agent && !has_agent(broker, request->session))
		return "nobody is there to be asked (prompt.without-agent: deny)";
	*ret_module = "flood";
	if (broker->prompt_count >= LIMIT_PROMPTS) return "too many prompts wait for an answer";
	if (count_of_session(broker, request->session) >= LIMIT_SESSION_PROMPTS)
		return "too many prompts of this session wait for an answer";
	return NULL;
}

int prompts_ask(struct client *client, int64_t check, const struct ruleset *ruleset, struct request *request,
		struct decision *decision) {
	struct broker *broker = client->broker;
	struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(ruleset));
	struct prompt_pending *pending = find_same(broker, request);
	if (pending) {
		add_waiter(pending, client, check, request);
		return 1;
	}
	const char *module, *why = refusal(client, request, settings.wait_without_agent, &module);
	struct error error = ERROR_NONE;
	if (!why) {
		pending = pending_new(broker, request, &decision->verdict, &settings);
		if (start(pending, settings.timeout_ms, &error) == 0) {
			add_waiter(pending, client, check, request);
			show_to_agents(pending);
			return 1;
		}
		pending_free(pending);
		why = error.message;
	}
	verdict_set(&decision->verdict, EFFECT_DENY, module, "%s", why);
	return 0;
}

void prompts_show_all(struct client *agent) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &agent->broker->prompts, link) {
		if (agent_sees(agent, pending->prompt.session)) show(pending, agent);
	}
}

/* Answering */

static struct prompt_pending *find_pending(const struct broker *broker, int64_t id) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (pending->prompt.id == id) return pending;
	}
	return NULL;
}

int64_t prompts_default_ttl(const struct broker *broker, int64_t prompt) {
	const struct prompt_pending *pending = find_pending(broker, prompt);
	return pending ? pending->lifetime_ms : 0;
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

static int check_answer(const struct prompt_pending *pending, const struct client *client,
			const struct prompt_answer *answer, struct error *error) {
	int r = check_token(pending, client, answer->token, error);
	if (r < 0) return r;
	if (answer->effect == EFFECT_ALLOW && pending->prompt.confirm_terminal &&
	    (client->agent == AGENT_DESKTOP || !answer->terminal))
		return error_set(error, EPERM,
				 "this must be confirmed in a terminal (confirm: terminal): `sbx allow %lld`",
				 (long long)pending->prompt.id);
	if (answer->lifetime == LIFETIME_SESSION && pending->prompt.session == 0)
		return error_set(error, EINVAL, "this prompt belongs to no session");
	return 0;
}

/* Does the grant decide what was asked? One that ends above a mask does not. */
static int check_covers(struct prompt_pending *pending, enum effect effect, const struct pattern *pattern,
			const struct ruleset *ruleset, struct error *error) {
	CLEANUP_DECISION struct decision decision;
	decision_make(pending->broker, ruleset, session_find(pending->broker, pending->prompt.session),
		      &pending->waiters[0].request, &decision, NULL);
	if (decision.verdict.effect == effect) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(pattern_text(pattern), 120);
	return error_set(error, EINVAL, "%s would not cover it: %s; answer with the scope 'exact'", shown,
			 decision.verdict.why ? decision.verdict.why : "a closer rule decides");
}

static int rules_for(const struct broker *broker, const struct prompt *prompt, const struct ruleset **ret_ruleset,
		     struct error *error) {
	const struct session *session = session_find(broker, prompt->session);
	if (session) {
		*ret_ruleset = session->ruleset;
		return 0;
	}
	return policies_ruleset(broker->policies, prompt->profile, prompt->project, ret_ruleset, error);
}

static int write_grant(struct prompt_pending *pending, const struct prompt_answer *answer, struct grant *ret_grant,
		       struct error *error) {
	const struct prompt *prompt = &pending->prompt;
	bool once = answer->lifetime == LIFETIME_ONCE;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	int r = scope_pattern(&prompt->permission, prompt->target, &prompt->scopes, answer->scope, &text, error);
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
				      .reason = prompt->reason};
	struct pattern_scope scope = policies_scope(pending->broker->policies, prompt->project);
	const struct ruleset *ruleset;
	r = rules_for(pending->broker, prompt, &ruleset, error);
	if (r == 0) r = granting_compile(pending->broker, &wish, &scope, NULL, &pattern, error);
	if (r == 0) r = granting_write(pending->broker, &wish, pattern, !once, ret_grant, error);
	return r < 0 || once ? r : check_covers(pending, answer->effect, pattern, ruleset, error);
}

static void describe_answer(const struct prompt_pending *pending, const struct prompt_answer *answer, int64_t grant,
			    struct decision *ret_decision) {
	*ret_decision = (struct decision){.uses = 1, .lifetime = answer->lifetime};
	struct verdict *verdict = &ret_decision->verdict;
	verdict_set(verdict, answer->effect, "ask", "you %s it (prompt %lld)",
		    answer->effect == EFFECT_ALLOW ? "allowed" : "denied", (long long)pending->prompt.id);
	verdict->prompt = pending->prompt.id;
	verdict->grant = grant;
	verdict->private_allowed = pending->private_allowed;
	verdict->direct = pending->direct;
	verdict->asked_user = true;
}

static int write_answer(struct prompt_pending *pending, const struct client *client, const struct prompt_answer *answer,
			struct grant *ret_grant, struct decision *ret_decision, struct error *error) {
	int r = broker_begin(pending->broker, STORE_FULL, error);
	if (r < 0) return r;
	r = write_grant(pending, answer, ret_grant, error);
	if (r == 0) {
		json_t *detail = json_object();
		json_object_set_new(detail, "lifetime", json_string(lifetime_name(answer->lifetime)));
		json_object_set_new(detail, "scope", message_bytes(answer->scope));
		json_object_set_new(detail, "agent", json_string(agent_names[client->agent]));
		r = record_prompt(pending, EVENT_ANSWER, (int)answer->effect, ret_grant->id, detail, error);
	}
	if (r == 0) describe_answer(pending, answer, ret_grant->id, ret_decision);
	for (size_t i = 0; r == 0 && i < pending->waiter_count; i++)
		r = decision_record(pending->broker, &pending->waiters[i].request, ret_decision, error);
	if (r == 0) return broker_commit(pending->broker, error);
	broker_rollback(pending->broker);
	return r;
}

int prompts_answer(struct client *client, const struct prompt_answer *answer, struct grant *ret_grant,
		   struct error *error) {
	struct broker *broker = client->broker;
	struct prompt_pending *pending = find_pending(broker, answer->prompt);
	if (!pending)
		return error_set(error, ENOENT, "no prompt %lld is waiting: it was answered, or its time is over",
				 (long long)answer->prompt);
	int r = check_answer(pending, client, answer, error);
	if (r < 0) return r;
	CLEANUP_GRANT struct grant grant = {0};
	CLEANUP_DECISION struct decision decision = {0};
	r = write_answer(pending, client, answer, &grant, &decision, error);
	if (r < 0) return r;
	for (size_t i = 0; i < pending->waiter_count; i++) reply_verdict(&pending->waiters[i], &decision.verdict);
	close_prompt(pending, "answered", effect_name(answer->effect));
	if (grant.id != 0 && answer->lifetime != LIFETIME_ONCE) {
		sessions_tell_new(broker, &grant);
		prompts_recheck(broker);
	}
	*ret_grant = grant;
	grant = (struct grant){0};
	return 0;
}

/* A waiter is decided anew each: a grant for one use covers one of them. */
static const char *recheck(struct prompt_pending *pending, const struct ruleset *ruleset) {
	const char *verdict = NULL;
	struct broker *broker = pending->broker;
	while (pending->waiter_count > 0) {
		struct waiter *waiter = &pending->waiters[0];
		CLEANUP_DECISION struct decision decision;
		decision_make(broker, ruleset, session_find(broker, pending->prompt.session), &waiter->request,
			      &decision, NULL);
		if (decision.verdict.effect == EFFECT_ASK) return NULL;
		decision_settle(broker, &waiter->request, &decision);
		reply_verdict(waiter, &decision.verdict);
		remove_waiter(pending, 0);
		verdict = effect_name(decision.verdict.effect);
	}
	return verdict;
}

void prompts_recheck(struct broker *broker) {
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		const struct ruleset *ruleset;
		if (rules_for(broker, &pending->prompt, &ruleset, NULL) < 0) continue;
		const char *verdict = recheck(pending, ruleset);
		if (pending->waiter_count > 0) continue;
		note_state(pending, "covered");
		close_prompt(pending, "covered", verdict);
	}
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
