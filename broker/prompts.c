/*
 * Theory of operation.
 *
 * A pending prompt has waiters (checks that want a verdict) and showings (agents that were told, each with its token).
 * It ends in one of four ways, always through pending_close: answered, expired, cancelled (no waiter left) or covered
 * (a new grant or rule decides). The waiters' decisions are recorded before their replies go out; for an answer in one
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
#include "pending.h"
#include "schema/host.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "scope.h"

/* Waiters and showings */

void pending_reply(const struct waiter *waiter, const struct verdict *verdict) {
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
		pending_reply(&pending->waiters[0], &decision.verdict);
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

struct prompt_pending *pending_find(const struct broker *broker, int64_t id) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (pending->prompt.id == id) return pending;
	}
	return NULL;
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

static bool target_names_address(const struct request *request) {
	struct host host;
	uint16_t port;
	return request->permission.kind == PERMISSION_NET_ACCESS &&
	       host_port_parse(request->target, strlen(request->target), &host, &port, NULL) == 0 &&
	       host.class != HOST_NAME;
}

static struct prompt_pending *pending_new(struct broker *broker, const struct request *request,
					  const struct verdict *verdict,
					  const struct policy_prompt_settings *settings) {
	struct prompt_pending *pending = mem_new(struct prompt_pending);
	pending->broker = broker;
	/* Who is asked about an address, or about localhost, allows just that. */
	pending->private_allowed = verdict->private_allowed || target_names_address(request);
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
		pending_reply(waiter, &decision.verdict);
		remove_waiter(pending, 0);
		verdict = effect_name(decision.verdict.effect);
	}
	return verdict;
}

void prompts_recheck(struct broker *broker) {
	for (struct prompt_pending *pending = TAILQ_FIRST(&broker->prompts), *next; pending; pending = next) {
		next = next_of(pending);
		const struct ruleset *ruleset;
		if (pending_rules(broker, &pending->prompt, &ruleset, NULL) < 0) continue;
		const char *verdict = recheck(pending, ruleset);
		if (pending->waiter_count > 0) continue;
		note_state(pending, "covered");
		pending_close(pending, "covered", verdict);
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
