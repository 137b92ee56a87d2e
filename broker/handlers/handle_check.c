/* check, cancel, agent, answer: a request, its prompt, its answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "endings/expiry.h"
#include "handler.h"
#include "policies/leading.h"
#include "policies/reload.h"
#include "programs/checking.h"
#include "programs/exec.h"
#include "prompts/answer.h"
#include "prompts/check_flow.h"
#include "prompts/prompts.h"
#include "prompts/quiet.h"
#include "prompts/requesting.h"
#include "schema/host.h"
#include "schema/limits.h"
#include "sessions/session.h"

/* check */

struct check {
	struct permission permission;
	char *target, *process, *reason, *profile, *project;
	struct strings parents;
	char *walk, *name;
	bool ask, again, led, by_folder, listing, folder, masked;
};

static const struct body_field check_fields[] = {
	{"permission", BODY_PERMISSION, REQUIRED, offsetof(struct check, permission), 0, NULL},
	{"target", BODY_TEXT, REQUIRED, offsetof(struct check, target), LIMIT_TARGET, NULL},
	{"process", BODY_TEXT, OPTIONAL, offsetof(struct check, process), LIMIT_PROCESS, NULL},
	{"parents", BODY_TEXTS, OPTIONAL, offsetof(struct check, parents), LIMIT_PARENTS, NULL},
	{"reason", BODY_TEXT, OPTIONAL, offsetof(struct check, reason), LIMIT_REASON, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct check, profile), LIMIT_PERMISSION, NULL},
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct check, project), LIMIT_TARGET, NULL},
	{"ask", BODY_TRUE, OPTIONAL, offsetof(struct check, ask), 0, NULL},
	{"again", BODY_FLAG, OPTIONAL, offsetof(struct check, again), 0, NULL},
	{"led", BODY_FLAG, OPTIONAL, offsetof(struct check, led), 0, NULL},
	{"by_folder", BODY_FLAG, OPTIONAL, offsetof(struct check, by_folder), 0, NULL},
	{"listing", BODY_FLAG, OPTIONAL, offsetof(struct check, listing), 0, NULL},
	{"folder", BODY_FLAG, OPTIONAL, offsetof(struct check, folder), 0, NULL},
	{"masked", BODY_FLAG, OPTIONAL, offsetof(struct check, masked), 0, NULL},
	{"name", BODY_TEXT, OPTIONAL, offsetof(struct check, name), LIMIT_TARGET, NULL},
	{"walk", BODY_TEXT, OPTIONAL, offsetof(struct check, walk), LIMIT_TARGET, NULL},
};
static const struct body_shape check_shape = BODY_SHAPE_OF(struct check, check_fields);

/* A path, or of a connection the host that its first bytes ask for. */
static int read_name(const struct permission *permission, const char *text, char **ret_name, struct error *error) {
	if (permission->kind != PERMISSION_NET_ACCESS) return path_normalise(NULL, text, ret_name, error);
	struct host host;
	int r = host_parse(text, strlen(text), &host, error);
	if (r == 0) *ret_name = string_copy(host.name);
	return r;
}

static int fill_request(struct client *client, const struct check *asked, struct request *request,
			struct error *error) {
	const struct ruleset *ruleset;
	int r = requesting_start(client->broker, client->session, &asked->permission, asked->target, asked->profile,
				 asked->project, &ruleset, request, error);
	if (r < 0) return r;
	if (asked->process) request->process = string_copy(asked->process);
	if (asked->reason) request->reason = string_copy(asked->reason);
	request->by_folder = asked->by_folder;
	request->listing = asked->listing;
	request->masked = asked->masked;
	request->folder = asked->folder || asked->listing || asked->by_folder;
	if (asked->walk) r = path_normalise(NULL, asked->walk, &request->walk, error);
	if (r < 0) return error_prefix(error, "walk");
	if (asked->name) r = read_name(&request->permission, asked->name, &request->name, error);
	if (r < 0) return error_prefix(error, "name");
	for (size_t i = 0; i < asked->parents.count; i++) {
		if (strlen(asked->parents.items[i]) > LIMIT_PROCESS)
			return error_set(error, E2BIG, "'parents' has an entry longer than %d bytes", LIMIT_PROCESS);
		strings_add(&request->parents, asked->parents.items[i]);
	}
	return 0;
}

/* The address that a name leads to. */
static int check_led(struct client *client, int64_t id, const struct check *asked, struct error *error) {
	CLEANUP(request_finish) struct request request = {0};
	CLEANUP_VERDICT struct verdict verdict = {0};
	int r = fill_request(client, asked, &request, error);
	if (r == 0) r = leading_decide(client->broker, client->session->ruleset, &request, &verdict, error);
	if (r < 0) return r;
	client_reply_verdict(client, id, &verdict);
	return HANDLED_REPLIED;
}

static int check(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	const struct check *asked = body;
	CLEANUP_CHECKING struct checking checking = {
		.client = client, .id = id, .ask = asked->ask, .again = asked->again};
	(void)ret_reply;
	if ((asked->again || asked->led) && !client->session)
		return error_set(error, EPROTO, "'again' and 'led' are for what a session has");
	reload_now(client->broker->reload);
	if (asked->led) return check_led(client, id, asked, error);
	int r = fill_request(client, asked, &checking.request, error);
	if (r < 0) return r;
	checking_go_on(&checking);
	return HANDLED_REPLIED;
}

const struct request_handler handle_check = {check, &check_shape};

/* cancel */

struct cancel {
	int64_t check;
};
static const struct body_field cancel_fields[] = {
	{"check", BODY_INTEGER, REQUIRED, offsetof(struct cancel, check), 0, NULL},
};
static const struct body_shape cancel_shape = BODY_SHAPE_OF(struct cancel, cancel_fields);

static int cancel(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	(void)error;
	const struct cancel *wish = body;
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "cancelled",
			    json_boolean(prompts_cancel(client, wish->check) || exec_cancel(client, wish->check)));
	return HANDLED;
}

const struct request_handler handle_cancel = {cancel, &cancel_shape};

/* agent */

struct agent {
	char *kind;
	int64_t session;
	bool shows;
};
static const struct body_field agent_fields[] = {
	{"kind", BODY_TEXT, REQUIRED, offsetof(struct agent, kind), LIMIT_PERMISSION, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct agent, session), 0, NULL},
	{"shows", BODY_TRUE, OPTIONAL, offsetof(struct agent, shows), 0, NULL},
};
static const struct body_shape agent_shape = BODY_SHAPE_OF(struct agent, agent_fields);

static int agent(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	static const struct {
		const char *name;
		enum agent_kind kind;
	} kinds[] = {{"terminal", AGENT_TERMINAL}, {"desktop", AGENT_DESKTOP}, {"tui", AGENT_TUI}};
	(void)ret_reply;
	const struct agent *wish = body;
	enum agent_kind kind = AGENT_NONE;
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (strcmp(kinds[i].name, wish->kind) == 0) kind = kinds[i].kind;
	if (kind == AGENT_NONE) return error_set(error, EINVAL, "an agent's kind is terminal, desktop or tui");
	bool again = client->agent != AGENT_NONE;
	if (again && (client->agent != kind || client->agent_session != wish->session))
		return error_set(error, EALREADY, "this connection is an agent already");
	client->shows = wish->shows;
	if (again) {
		prompts_tell_desktop(client->broker);
		return HANDLED;
	}
	client->agent = kind;
	client->agent_session = wish->session;
	client_reply(client, "agent", id, NULL);
	prompts_show_all(client);
	if (kind == AGENT_DESKTOP) {
		prompts_tell_desktop(client->broker);
		quiet_tell(client);
	}
	return HANDLED_REPLIED;
}

const struct request_handler handle_agent = {agent, &agent_shape};

/* answer */

struct answer {
	int64_t prompt;
	char *token;
	enum effect effect;
	struct body_lifetime lifetime;
	int64_t ttl_ms;
	char *scope;
	bool terminal;
};
static const struct body_field answer_fields[] = {
	{"prompt", BODY_INTEGER, REQUIRED, offsetof(struct answer, prompt), 0, NULL},
	{"token", BODY_TEXT, OPTIONAL, offsetof(struct answer, token), LIMIT_PERMISSION, NULL},
	{"effect", BODY_EFFECT, REQUIRED, offsetof(struct answer, effect), 0, NULL},
	{"lifetime", BODY_LIFETIME, OPTIONAL, offsetof(struct answer, lifetime), 0, NULL},
	{"ttl_ms", BODY_INTEGER, OPTIONAL, offsetof(struct answer, ttl_ms), 0, NULL},
	{"scope", BODY_TEXT, OPTIONAL, offsetof(struct answer, scope), LIMIT_TARGET, NULL},
	{"terminal", BODY_FLAG, OPTIONAL, offsetof(struct answer, terminal), 0, NULL},
};
static const struct body_shape answer_shape = BODY_SHAPE_OF(struct answer, answer_fields);

static int answer(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct answer *said = body;
	struct prompt_answer answer = {.prompt = said->prompt,
				       .token = said->token,
				       .effect = said->effect,
				       .ttl_ms = said->ttl_ms,
				       .scope = said->scope ? said->scope : "exact",
				       .terminal = said->terminal};
	/* An allow lasts an hour if nothing else is said, a denial is for this once (design section 9). */
	answer.lifetime = said->lifetime.given           ? (enum lifetime)said->lifetime.value
			  : said->effect == EFFECT_ALLOW ? LIFETIME_UNTIL
							 : LIFETIME_ONCE;
	if (answer.lifetime == LIFETIME_UNTIL && answer.ttl_ms == 0)
		answer.ttl_ms = prompts_default_ttl(client->broker, said->prompt);
	if (answer.ttl_ms > LIMIT_TTL_MS) return error_set(error, ERANGE, "a grant lasts ten years at most");
	CLEANUP_GRANT struct grant grant = {0};
	/* What the rules forbid by now is no question any more. */
	reload_now(client->broker->reload);
	int r = prompts_answer(client, &answer, &grant, error);
	if (r < 0) return r;
	expiry_sweep(client->broker);
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "grant", grant.id ? grant_to_json(&grant) : json_null());
	return HANDLED;
}

const struct request_handler handle_answer = {answer, &answer_shape};
