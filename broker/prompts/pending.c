#include "pending.h"
#include "check_reply.h"
#include "deciding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "programs/checking.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "scope.h"
#include "sessions/session.h"
#include "streaks.h"
#include "wire/client.h"

/* Who waits */

void pending_add(struct prompt_pending *pending, struct checking *checking) {
	pending->waiters = array_grow(pending->waiters, pending->waiter_count, sizeof *pending->waiters);
	pending->waiters[pending->waiter_count++] = *checking;
	checking->client->pending++;
	*checking = (struct checking){0};
}

struct checking pending_take(struct prompt_pending *pending, size_t index) {
	struct checking *waiter = &pending->waiters[index], taken = *waiter;
	taken.client->pending--;
	memmove(waiter, waiter + 1, (pending->waiter_count - index - 1) * sizeof *waiter);
	pending->waiter_count--;
	return taken;
}

void pending_remove(struct prompt_pending *pending, size_t index) {
	struct checking waiter = pending_take(pending, index);
	checking_finish(&waiter);
}

/* Who is shown it */

bool pending_seen_by(const struct client *client, int64_t session) {
	return client->agent != AGENT_NONE && !client->dead &&
	       (client->agent_session == 0 || client->agent_session == session);
}

/* Does a desktop agent show it to the user? */
static bool is_on_desktop(const struct prompt_pending *pending) {
	const struct client *client;
	TAILQ_FOREACH(client, &pending->broker->clients, link) {
		if (client->agent == AGENT_DESKTOP && client->shows && pending_seen_by(client, pending->prompt.session))
			return true;
	}
	return false;
}

json_t *pending_to_json(const struct prompt_pending *pending, const char *token) {
	struct prompt shown = pending->prompt; /* borrows the texts */
	shown.desktop = is_on_desktop(pending);
	if (token) memcpy(shown.token, token, sizeof shown.token);
	return prompt_to_json(&shown);
}

void pending_show(struct prompt_pending *pending, struct client *agent) {
	struct showing showing = {.agent = agent, .desktop = is_on_desktop(pending)};
	random_token(showing.token);
	pending->showings = array_grow(pending->showings, pending->showing_count, sizeof *pending->showings);
	pending->showings[pending->showing_count++] = showing;
	client_push(agent, "prompt", pending_to_json(pending, showing.token));
}

void pending_tell_desktop(struct prompt_pending *pending) {
	bool desktop = is_on_desktop(pending);
	for (size_t i = 0; i < pending->showing_count; i++) {
		struct showing *showing = &pending->showings[i];
		if (showing->agent->agent == AGENT_DESKTOP || showing->desktop == desktop) continue;
		showing->desktop = desktop;
		client_push(showing->agent, "prompt", pending_to_json(pending, showing->token));
	}
}

void pending_show_all(struct prompt_pending *pending) {
	struct client *client;
	TAILQ_FOREACH(client, &pending->broker->clients, link) {
		if (pending_seen_by(client, pending->prompt.session)) pending_show(pending, client);
	}
}

/* The history */

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

static json_t *state_detail(const struct prompt_pending *pending, const char *state) {
	const struct prompt *prompt = &pending->prompt;
	json_t *detail = json_object();
	json_object_set_new(detail, "state", json_string(state));
	if (prompt->permission.kind == PERMISSION_FS_LINK && prompt->name)
		json_object_set_new(detail, "link", message_bytes(prompt->name));
	return detail;
}

/* Alone in a transaction; the prompt ends even if the history can't be written, for nothing is allowed by that. */
void pending_note(const struct prompt_pending *pending, const char *state) {
	struct error error = ERROR_NONE;
	int r = broker_begin(pending->broker, STORE_NORMAL, &error);
	if (r == 0) {
		r = pending_record(pending, EVENT_PROMPT, -1, 0, state_detail(pending, state), &error);
		if (r == 0)
			r = broker_commit(pending->broker, &error);
		else
			broker_rollback(pending->broker);
	}
	if (r < 0) log_error("recording prompt %lld: %s", (long long)pending->prompt.id, error.message);
}

/* Its end */

void pending_free(struct prompt_pending *pending) {
	while (pending->waiter_count > 0) pending_remove(pending, pending->waiter_count - 1);
	if (pending->deadline) event_free(pending->deadline);
	prompt_finish(&pending->prompt);
	free(pending->rule);
	free(pending->waiters);
	free(pending->showings);
	free(pending);
}

void pending_tell_gone(struct prompt_pending *pending, const char *how, const char *verdict, json_t *answer) {
	for (size_t i = 0; i < pending->showing_count; i++) {
		json_t *push = json_object();
		json_object_set_new(push, "id", json_integer(pending->prompt.id));
		json_object_set_new(push, "how", json_string(how));
		json_object_set_new(push, "verdict", verdict ? json_string(verdict) : json_null());
		json_object_set_new(push, "answer", answer ? json_incref(answer) : json_null());
		client_push(pending->showings[i].agent, "prompt-gone", push);
	}
	pending->showing_count = 0;
	json_decref(answer);
}

void pending_close(struct prompt_pending *pending, const char *how, const char *verdict, json_t *answer) {
	pending_tell_gone(pending, how, verdict, answer);
	TAILQ_REMOVE(&pending->broker->prompts, pending, link);
	pending->broker->prompt_count--;
	pending_free(pending);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct prompt_pending *pending = argument;
	pending_note(pending, "expired");
	pending_tell_gone(pending, "expired", "deny", NULL);
	while (pending->waiter_count > 0) {
		CLEANUP_DECISION struct decision decision = {.uses = 1};
		decision.verdict.prompt = pending->prompt.id;
		verdict_set(&decision.verdict, EFFECT_DENY, "ask", "nobody answered prompt %lld in time",
			    (long long)pending->prompt.id);
		if (checking_decides(&pending->waiters[0]))
			decision_settle(pending->broker, &pending->waiters[0].request, &decision);
		checking_reply(&pending->waiters[0], &decision.verdict);
		pending_remove(pending, 0);
	}
	pending_close(pending, "expired", "deny", NULL);
}

/* Its beginning */

/* Who is asked about an address, or about localhost, allows just that. */
static bool opens_private(const struct request *request, const struct verdict *verdict) {
	return verdict->private_allowed || request_names_address(request);
}

bool pending_has_terms(const struct prompt_pending *pending, const struct request *request,
		       const struct verdict *verdict) {
	return pending->prompt.confirm_terminal == verdict->confirm_terminal && pending->direct == verdict->direct &&
	       pending->private_allowed == opens_private(request, verdict);
}

/* A grant that ends above a mask, or above what must be confirmed in a terminal, doesn't lift it (policy/judge.c). */
static size_t depth_needed(const struct prompt *prompt, const struct ruleset *ruleset) {
	struct pattern_rank sticky = {0}, rule = {0};
	const bool kept = ruleset_find_sticky(ruleset, &prompt->permission, prompt->target, &sticky);
	const bool decided =
		prompt->confirm_terminal && ruleset_find(ruleset, &prompt->permission, prompt->target, &rule);
	const size_t least = kept ? sticky.depth : 0, confirmed = decided ? rule.depth : 0;
	return least > confirmed ? least : confirmed;
}

static void offer_scopes(struct prompt_pending *pending, const struct pending_wish *wish) {
	const struct request *request = wish->request;
	struct prompt *prompt = &pending->prompt;
	if (pending->wanted) {
		strings_add(&prompt->scopes, "exact");
		return;
	}
	if (!pending->walk) {
		const bool path = permission_is_of_path(&prompt->permission);
		const struct scope_bounds bounds = {.home = pending->broker->places.home,
						    .depth = path ? depth_needed(prompt, wish->ruleset) : 0,
						    .replaced = prompt->permission.kind == PERMISSION_FS_WRITE &&
								!request->folder && !prompt->confirm_terminal};
		scopes_offered(&prompt->permission, prompt->target, &bounds, &prompt->scopes);
		return;
	}
	/* All of the tree, or only what was touched just now. */
	strings_add(&prompt->scopes, "exact");
	strings_add(&prompt->scopes, request->target);
}

/* A permission of the user's own is shown by the words that its policy has for it, and a folder as all that is in it.
 */
static const char *words_for(const struct pending_wish *wish, const struct policy *policy) {
	const struct request *request = wish->request;
	bool folder = wish->tree || request->folder;
	if (wish->summary) return "go on asking";
	if (folder && request->permission.kind == PERMISSION_FS_READ) return "read everything in";
	if (folder && request->permission.kind == PERMISSION_FS_WRITE) return "read and write everything in";
	return policy_description(policy, request->permission.name);
}

/* What the call is about, where the question is about all that lies around it; what a connection's bytes ask for; the
 * program that a link leads to; the link that is made. */
static const char *name_in_target(const struct pending_wish *wish) {
	const struct request *request = wish->request;
	const enum permission_kind kind = request->permission.kind;
	if (wish->tree) return request->target;
	if (kind == PERMISSION_NET_ACCESS || kind == PERMISSION_PROC_SPAWN || kind == PERMISSION_FS_LINK)
		return request->name;
	return request->name && path_is_below(request->name, request->target) ? request->name : NULL;
}

static bool denial_lasts(const struct prompt_pending *pending, const struct session *session) {
	const struct prompt *prompt = &pending->prompt;
	return pending->wanted || (session && strings_contain(&prompt->scopes, "exact") &&
				   streaks_are_full(session->streaks, &prompt->permission, prompt->target));
}

struct prompt_pending *pending_new(struct broker *broker, const struct pending_wish *wish) {
	struct prompt_pending *pending = mem_new(struct prompt_pending);
	const struct request *request = wish->request;
	const struct verdict *verdict = wish->verdict;
	const struct policy *policy = ruleset_policy(wish->ruleset);
	const struct policy_prompt_settings settings = policy_prompt_settings(policy);
	pending->broker = broker;
	pending->private_allowed = opens_private(request, verdict);
	pending->direct = verdict->direct;
	pending->timeout_ms = settings.timeout_ms;
	pending->rule = string_copy_or_null(verdict->rule);
	pending->summary = wish->summary;
	pending->walk = wish->tree;
	pending->wanted = wish->wanted;
	pending->leads = wish->leads;
	struct prompt *prompt = &pending->prompt;
	prompt->session = request->session;
	prompt->bundle = wish->bundle;
	prompt->profile = string_copy_or_null(request->subject.profile);
	prompt->project = string_copy_or_null(request->subject.project);
	const struct session *session = session_find(broker, request->session);
	prompt->command = session ? string_copy_or_null(session->record.command) : NULL;
	prompt->permission = request->permission;
	prompt->opens_folder =
		request_opens_folder(request) || (wish->tree && request->permission.kind == PERMISSION_FS_READ);
	prompt->description = string_copy_or_null(words_for(wish, policy));
	prompt->target = string_copy(wish->wanted ? wish->wanted : wish->tree ? wish->tree : request->target);
	prompt->name = string_copy_or_null(name_in_target(wish));
	prompt->process = string_copy_or_null(request->process);
	for (size_t i = 0; i < request->parents.count; i++) strings_add(&prompt->parents, request->parents.items[i]);
	prompt->reason = string_copy_or_null(request->reason);
	prompt->why = verdict->rule ? string_format("%s (%s)", verdict->why ? verdict->why : "", verdict->rule)
				    : string_copy_or_null(verdict->why);
	prompt->confirm_terminal = verdict->confirm_terminal;
	prompt->deadline_ms = broker_now_ms(broker) + settings.timeout_ms;
	prompt->lifetime_ms = settings.lifetime_ms;
	offer_scopes(pending, wish);
	prompt->denial_lasts = denial_lasts(pending, session);
	pending->deadline = evtimer_new(broker->base, on_deadline, pending);
	if (!pending->deadline) mem_exhausted();
	return pending;
}

/* What doesn't fit a message is left out from the back, the command, the name and the wider scopes first; false when it
 * never fits. */
static bool fits_message(struct prompt *prompt) {
	for (;;) {
		json_t *json = prompt_to_json(prompt);
		size_t size = json_dumpb(json, NULL, 0, JSON_COMPACT);
		json_decref(json);
		if (size <= LIMIT_PAGE_BYTES) return true;
		if (prompt->command || prompt->name) {
			free(prompt->command ? STEAL(prompt->command) : STEAL(prompt->name));
			continue;
		}
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
	if (pending->leads) pending->prompt.bundle = pending->prompt.id;
	json_t *detail = state_detail(pending, "shown");
	if (pending->prompt.bundle) json_object_set_new(detail, "bundle", json_integer(pending->prompt.bundle));
	if (r == 0)
		r = pending_record(pending, EVENT_PROMPT, -1, 0, detail, error);
	else
		json_decref(detail);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

int pending_start(struct prompt_pending *pending, struct error *error) {
	struct broker *broker = pending->broker;
	if (!fits_message(&pending->prompt))
		return error_set(error, E2BIG, "the request is too long to be shown to anybody");
	int r = write_shown(pending, error);
	if (r < 0) return r;
	const struct timeval wait = clock_timeval(pending->timeout_ms);
	event_add(pending->deadline, &wait);
	TAILQ_INSERT_TAIL(&broker->prompts, pending, link);
	broker->prompt_count++;
	return 0;
}

/* Looking for it */

struct prompt_pending *pending_find(const struct broker *broker, int64_t id) {
	struct prompt_pending *pending;
	TAILQ_FOREACH(pending, &broker->prompts, link) {
		if (pending->prompt.id == id) return pending;
	}
	return NULL;
}

int pending_rules(const struct broker *broker, const struct prompt *prompt, const struct ruleset **ret_ruleset,
		  struct error *error) {
	const struct session *session = session_find(broker, prompt->session);
	if (session) {
		*ret_ruleset = session->ruleset;
		return 0;
	}
	return policies_ruleset(broker->policies, prompt->profile, prompt->project, ret_ruleset, error);
}
