/* session-open, want, session-close, resolve, event, settled, sandbox, kill. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "endings/expiry.h"
#include "handler.h"
#include "policies/decision.h"
#include "policies/reload.h"
#include "prompts/prompts.h"
#include "prompts/turns.h"
#include "prompts/wants.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/view.h"
#include "sessions/clearances.h"
#include "sessions/flood.h"
#include "sessions/sandbox.h"
#include "sessions/session.h"
#include "sessions/session_end.h"
#include "sessions/session_open.h"
#include "sessions/session_resume.h"
#include "sessions/session_rules.h"
#include "sessions/session_tell.h"
#include "sessions/session_terminate.h"
#include "sessions/settling.h"

enum { WISHES_MAX = 256, ARGUMENTS_MAX = 2048, RESOLVE_MAX = 256, DETAIL_MAX = 8 * 1024 };

/* session-open */

static const struct body_field open_fields[] = {
	{"command", BODY_TEXTS, REQUIRED, offsetof(struct session_open, command), ARGUMENTS_MAX, NULL},
	{"executable", BODY_TEXT, REQUIRED, offsetof(struct session_open, executable), LIMIT_TARGET, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct session_open, profile), LIMIT_PERMISSION, NULL},
	{"project", BODY_TEXT, REQUIRED, offsetof(struct session_open, project), LIMIT_TARGET, NULL},
	{"root", BODY_TEXT, REQUIRED, offsetof(struct session_open, root), LIMIT_TARGET, NULL},
	{"cwd", BODY_TEXT, REQUIRED, offsetof(struct session_open, cwd), LIMIT_TARGET, NULL},
	{"environment", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, environment), LIMIT_ENVIRONMENT, NULL},
	{"passed", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, passed), LIMIT_ENVIRONMENT, NULL},
	{"allow", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, allow), WISHES_MAX, NULL},
	{"resolved", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, resolved), WISHES_MAX, NULL},
	{"roots", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, roots), LIMIT_ROOTS, NULL},
	{"granted", BODY_INDICES, OPTIONAL, offsetof(struct session_open, granted), WISHES_MAX, NULL},
	{"deny", BODY_TEXTS, OPTIONAL, offsetof(struct session_open, deny), WISHES_MAX, NULL},
	{"policy", BODY_TEXT, OPTIONAL, offsetof(struct session_open, policy), LIMIT_MESSAGE, NULL},
	{"policy_name", BODY_TEXT, OPTIONAL, offsetof(struct session_open, policy_name), LIMIT_TARGET, NULL},
	{"offline", BODY_FLAG, OPTIONAL, offsetof(struct session_open, offline), 0, NULL},
	{"record", BODY_FLAG, OPTIONAL, offsetof(struct session_open, record), 0, NULL},
	{"before", BODY_INTEGER, OPTIONAL, offsetof(struct session_open, before), 0, NULL},
	{"answering", BODY_INTEGER, OPTIONAL, offsetof(struct session_open, answering), 0, NULL},
};
static const struct body_shape open_shape = BODY_SHAPE_OF(struct session_open, open_fields);

static int open_session(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	struct session *session;
	reload_now(client->broker->reload);
	expiry_sweep(client->broker);
	int r = session_open(client, body, &session, error);
	if (r < 0) return r;
	struct policy_prompt_settings settings = policy_prompt_settings(ruleset_policy(session->ruleset));
	enum view_network network = session->offline ? VIEW_NETWORK_NONE : ruleset_network(session->ruleset);
	json_t *reply = json_object();
	json_object_set_new(reply, "session", json_integer(session->record.id));
	json_object_set_new(reply, "profile", message_bytes(session->subject.profile));
	json_object_set_new(reply, "project", message_bytes(session->subject.project));
	json_object_set_new(reply, "without_agent", json_string(settings.wait_without_agent ? "wait" : "deny"));
	json_object_set_new(reply, "prompt_timeout", json_integer(settings.timeout_ms));
	json_object_set_new(reply, "network", json_string(view_network_name(network)));
	json_object_set_new(reply, "warnings", session_warnings(session));
	json_object_set_new(reply, "wants", wants_to_json(session->wants));
	json_t *granted = json_array();
	for (size_t i = 0; i < session->granted.count; i++)
		json_array_append_new(granted, json_integer(session->granted.items[i]));
	json_object_set_new(reply, "granted", granted);
	json_object_set_new(reply, "clearance",
			    clearances_describe(client->broker->clearances, session->sandbox->clearance));
	client_reply(client, "session-open", id, reply);
	session_push_first_view(session);
	turns_joined(session);
	return HANDLED_REPLIED;
}

const struct request_handler handle_session_open = {open_session, &open_shape};

/* want */

struct want_items {
	struct body_ids items, folders;
};
static const struct body_field want_fields[] = {
	{"items", BODY_INDICES, REQUIRED, offsetof(struct want_items, items), LIMIT_WANTS, NULL},
	{"folders", BODY_INDICES, OPTIONAL, offsetof(struct want_items, folders), LIMIT_WANTS, NULL},
};
static const struct body_shape want_shape = BODY_SHAPE_OF(struct want_items, want_fields);

static int want(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct want_items *wish = body;
	reload_now(client->broker->reload);
	struct wants_item asked[LIMIT_WANTS] = {0};
	int r = wants_ask(client->session, id, &wish->items, &wish->folders, asked, error);
	if (r < 0) return r;
	prompts_ask_together(client->session, asked, wish->items.count);
	return HANDLED_REPLIED;
}

const struct request_handler handle_want = {want, &want_shape};

/* session-close */

struct session_close {
	int exit;
	bool hangup;
};
static const struct body_field close_fields[] = {
	{"exit", BODY_EXIT, REQUIRED, offsetof(struct session_close, exit), 0, NULL},
	{"hangup", BODY_FLAG, OPTIONAL, offsetof(struct session_close, hangup), 0, NULL},
};
static const struct body_shape close_shape = BODY_SHAPE_OF(struct session_close, close_fields);

static int close_session(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	(void)ret_reply;
	(void)error;
	const struct session_close *said = body;
	client->session->record.hung_up = said->hangup;
	session_end(client->session, said->exit);
	return HANDLED;
}

const struct request_handler handle_session_close = {close_session, &close_shape};

/* resolve */

struct resolve {
	struct strings paths;
};
static const struct body_field resolve_fields[] = {
	{"paths", BODY_TEXTS, REQUIRED, offsetof(struct resolve, paths), RESOLVE_MAX, NULL},
};
static const struct body_shape resolve_shape = BODY_SHAPE_OF(struct resolve, resolve_fields);

static int resolve_one(const struct stack_context *context, const struct session *session, const char *path,
		       json_t *modes, struct error *error) {
	CLEANUP_FREE char *normal = NULL;
	int r = path_normalise(NULL, path, &normal, error);
	if (r < 0) return r;
	const struct view_path entry = view_path_of(context, &session->subject, session->record.id, normal);
	json_array_append_new(modes,
			      json_pack("{s:s, s:b, s:s, s:b}", "mode", view_mode_name(entry.mode), "ask_write",
					entry.ask_write, "denial", view_denial_name(entry.denial), "mask", entry.mask));
	free(entry.resolved);
	return 0;
}

static int resolve(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct resolve *asked = body;
	struct decision_finder finder;
	struct stack_context context = decision_context(client->broker, client->session->ruleset, &finder);
	json_t *modes = json_array();
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "modes", modes);
	int r = 0;
	for (size_t i = 0; r == 0 && i < asked->paths.count; i++)
		r = resolve_one(&context, client->session, asked->paths.items[i], modes, error);
	return r < 0 ? r : HANDLED;
}

const struct request_handler handle_resolve = {resolve, &resolve_shape};

/* event */

struct told {
	char *kind;
	struct permission permission;
	char *target, *process, *refused;
	int64_t grant;
	json_t *detail;
};
static const struct body_field event_fields[] = {
	{"kind", BODY_TEXT, REQUIRED, offsetof(struct told, kind), LIMIT_PERMISSION, NULL},
	{"permission", BODY_PERMISSION, OPTIONAL, offsetof(struct told, permission), 0, NULL},
	{"target", BODY_TEXT, OPTIONAL, offsetof(struct told, target), LIMIT_TARGET, NULL},
	{"process", BODY_TEXT, OPTIONAL, offsetof(struct told, process), LIMIT_PROCESS, NULL},
	{"grant", BODY_INTEGER, OPTIONAL, offsetof(struct told, grant), 0, NULL},
	{"refused", BODY_TEXT, OPTIONAL, offsetof(struct told, refused), LIMIT_TARGET, NULL},
	{"detail", BODY_OBJECT, REQUIRED, offsetof(struct told, detail), DETAIL_MAX, NULL},
};
static const struct body_shape event_shape = BODY_SHAPE_OF(struct told, event_fields);

static int tell_event(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct told *told = body;
	const struct session *session = client->session;
	struct broker *broker = client->broker;
	enum event_kind kind;
	int r = event_kind_parse(told->kind, &kind, error);
	if (r == 0 && kind != EVENT_CONNECTION && kind != EVENT_REPAIR && kind != EVENT_FINDING)
		r = error_set(error, EINVAL, "a runner tells of connection, repair and finding only");
	if (r < 0) return r;
	*ret_reply = json_object();
	if (!flood_told(broker, session, kind)) {
		json_object_set_new(*ret_reply, "seq", json_integer(0));
		return HANDLED;
	}
	/* Borrowed: broker_note frees only the detail. */
	struct event event = {.kind = kind,
			      .session = session->record.id,
			      .profile = session->subject.profile,
			      .project = session->subject.project,
			      .process = told->process,
			      .permission = told->permission.name[0] ? (char *)told->permission.name : NULL,
			      .target = told->target,
			      .verdict = told->refused ? EFFECT_DENY : -1,
			      .by = told->refused ? (char *)"gate" : NULL,
			      .why = told->refused,
			      .grant = told->grant,
			      .detail = json_incref(told->detail)};
	r = broker_note(broker, &event, error);
	if (r < 0) return r;
	json_object_set_new(*ret_reply, "seq", json_integer(event.seq));
	return HANDLED;
}

const struct request_handler handle_event = {tell_event, &event_shape};

/* settled */

struct settled {
	int64_t settle;
	struct body_list holders, ended;
	int64_t killed;
};
static const struct body_field holder_fields[] = {
	{"pid", BODY_INTEGER, REQUIRED, offsetof(struct settling_holder, pid), 0, NULL},
	{"command", BODY_TEXT, REQUIRED, offsetof(struct settling_holder, command), LIMIT_PROCESS, NULL},
	{"path", BODY_TEXT, REQUIRED, offsetof(struct settling_holder, path), LIMIT_TARGET, NULL},
};
static const struct body_shape holder_shape = BODY_SHAPE_OF(struct settling_holder, holder_fields);
static const struct body_field settled_fields[] = {
	{"settle", BODY_INTEGER, REQUIRED, offsetof(struct settled, settle), 0, NULL},
	{"holders", BODY_SHAPES, REQUIRED, offsetof(struct settled, holders), LIMIT_HOLDERS_TOLD, &holder_shape},
	{"ended", BODY_SHAPES, OPTIONAL, offsetof(struct settled, ended), LIMIT_HOLDERS_TOLD, &holder_shape},
	{"killed", BODY_INTEGER, OPTIONAL, offsetof(struct settled, killed), 0, NULL},
};
static const struct body_shape settled_shape = BODY_SHAPE_OF(struct settled, settled_fields);

static int take_settled(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct settled *said = body;
	if (said->killed > LIMIT_HOLDERS) return error_set(error, ERANGE, "so many processes no sandbox has");
	client_reply(client, "settled", id, NULL);
	const struct settling_answer answer = {
		.left = {said->holders.items, said->holders.count},
		.ended = {said->ended.items, said->ended.count},
		.killed = said->killed,
	};
	settling_settled(client->session, said->settle, &answer);
	return HANDLED_REPLIED;
}

const struct request_handler handle_settled = {take_settled, &settled_shape};

/* sandbox */

struct begun {
	int64_t init;
	bool running;
};
static const struct body_field begun_fields[] = {
	{"init", BODY_INTEGER, REQUIRED, offsetof(struct begun, init), 0, NULL},
	{"running", BODY_FLAG, OPTIONAL, offsetof(struct begun, running), 0, NULL},
};
static const struct body_shape begun_shape = BODY_SHAPE_OF(struct begun, begun_fields);

/* The tool starts with the variables of the view as it is now. */
static int begin_sandbox(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct begun *said = body;
	struct session *session = client->session;
	if (said->init < 2 || said->init > INT32_MAX) return error_set(error, ERANGE, "no process has that number");
	int r = sandbox_begin(session, (pid_t)said->init, said->running, error);
	if (r < 0) return r;
	for (size_t i = 0; i < session->view->environment.count; i++)
		strings_add(&session->given, session->view->environment.items[i]);
	client_reply(client, "sandbox", id, NULL);
	if (said->running) session_resume(session);
	return HANDLED_REPLIED;
}

const struct request_handler handle_sandbox = {begin_sandbox, &begun_shape};

/* kill */

struct kill {
	struct body_ids sessions;
	bool all;
};
static const struct body_field kill_fields[] = {
	{"sessions", BODY_IDS, OPTIONAL, offsetof(struct kill, sessions), 0, NULL},
	{"all", BODY_FLAG, OPTIONAL, offsetof(struct kill, all), 0, NULL},
};
static const struct body_shape kill_shape = BODY_SHAPE_OF(struct kill, kill_fields);

static bool is_meant(const struct kill *meant, int64_t session) {
	for (size_t i = 0; i < meant->sessions.count; i++)
		if (meant->sessions.items[i] == session) return true;
	return meant->all;
}

static bool is_running(const struct broker *broker, int64_t session) {
	const struct sandbox *sandbox;
	if (session_find(broker, session)) return true;
	TAILQ_FOREACH(sandbox, &broker->sandboxes, link) {
		if (sandbox_is_lost(sandbox) && sandbox->id == session) return true;
	}
	return false;
}

static void kill_lost(struct broker *broker, const struct kill *meant, struct settling *settling, json_t *sessions) {
	struct sandbox *sandbox;
	TAILQ_FOREACH(sandbox, &broker->sandboxes, link) {
		if (!sandbox_is_lost(sandbox) || !is_meant(meant, sandbox->id)) continue;
		settling_add(settling, sandbox);
		sandbox_kill_lost(sandbox);
		json_array_append_new(sessions, json_integer(sandbox->id));
	}
}

static int kill_sessions(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct kill *meant = body;
	struct broker *broker = client->broker;
	if (meant->all == (meant->sessions.count > 0)) return error_set(error, EINVAL, "say which sessions, or all");
	for (size_t i = 0; i < meant->sessions.count; i++)
		if (!is_running(broker, meant->sessions.items[i]))
			return error_set(error, ENOENT, "no session %lld is running",
					 (long long)meant->sessions.items[i]);
	const struct settling_wish wish = {.aim = SETTLING_ENDS};
	const struct settling_request request = {.client = client, .type = "kill", .id = id};
	struct settling *settling = settling_new(broker, &wish);
	json_t *sessions = json_array(), *reply = json_object();
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (!is_meant(meant, session->record.id)) continue;
		settling_add(settling, session->sandbox);
		session_terminate(session);
		json_array_append_new(sessions, json_integer(session->record.id));
	}
	kill_lost(broker, meant, settling, sessions);
	json_object_set_new(reply, "sessions", sessions);
	settling_reply(settling, &request, reply);
	return HANDLED_REPLIED;
}

const struct request_handler handle_kill = {kill_sessions, &kill_shape};
