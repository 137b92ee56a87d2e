/* hello, status, why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "core/announce.h"
#include "endings/endings.h"
#include "handler.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "policies/reload.h"
#include "programs/exec.h"
#include "prompts/deciding.h"
#include "prompts/requesting.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/upstream.h"
#include "sessions/session.h"
#include "sessions/sleep.h"

/* hello */

struct hello {
	int64_t protocol;
	char *version;
};
static const struct body_field hello_fields[] = {
	{"protocol", BODY_INTEGER, REQUIRED, offsetof(struct hello, protocol), 0, NULL},
	{"version", BODY_TEXT, REQUIRED, offsetof(struct hello, version), 64, NULL},
};
static const struct body_shape hello_shape = BODY_SHAPE_OF(struct hello, hello_fields);

static int hello(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct hello *said = body;
	if (said->protocol != PROTOCOL_VERSION)
		return error_set(error, EPROTONOSUPPORT,
				 "sbxd %s (process %d) speaks protocol %d, this program %lld: %s", SBX_VERSION,
				 (int)getpid(), PROTOCOL_VERSION, (long long)said->protocol,
				 said->protocol > PROTOCOL_VERSION
					 ? "end sbxd (kill that process), the next command starts the new one"
					 : "start this program again, it is the older one");
	client->greeted = true;
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "protocol", json_integer(PROTOCOL_VERSION));
	json_object_set_new(*ret_reply, "version", json_string(SBX_VERSION));
	json_object_set_new(*ret_reply, "pid", json_integer(getpid()));
	return HANDLED;
}

const struct request_handler handle_hello = {hello, &hello_shape};

/* status */

static const struct body_shape empty_shape = {NULL, 0, 1};

static bool is_writable(struct broker *broker) {
	return broker_write_history(broker, NULL) == 0 && broker->unwritten_end_count == 0 &&
	       !endings_are_unwritten(broker);
}

static size_t count_agents(const struct broker *broker) {
	size_t count = 0;
	const struct client *client;
	TAILQ_FOREACH(client, &broker->clients, link) {
		count += client->agent != AGENT_NONE;
	}
	return count;
}

/* Without its user and password. */
static json_t *upstream_now(const struct broker *broker) {
	struct policy *policy;
	if (policies_current(broker->policies, &policy, NULL) < 0 || !policy) return json_null();
	const char *upstream = policy_upstream(policy);
	if (!upstream || strcmp(upstream, UPSTREAM_NONE) == 0) return json_null();
	CLEANUP_FREE char *shown = upstream_shown(upstream);
	return message_bytes(shown);
}

static int status(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	(void)body;
	(void)error;
	const struct broker *broker = client->broker;
	char started[CLOCK_STAMP_SIZE];
	stamp_format(broker->started_ms, started);
	reload_now(client->broker->reload);
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "version", json_string(SBX_VERSION));
	json_object_set_new(*ret_reply, "pid", json_integer(getpid()));
	json_object_set_new(*ret_reply, "started", json_string(started));
	json_object_set_new(*ret_reply, "sleep", json_boolean(sleep_is_told(broker->sleep)));
	json_object_set_new(*ret_reply, "sessions", json_integer((json_int_t)broker->session_count));
	json_object_set_new(*ret_reply, "prompts", json_integer((json_int_t)broker->prompt_count));
	json_object_set_new(*ret_reply, "agents", json_integer((json_int_t)count_agents(broker)));
	json_object_set_new(*ret_reply, "heads", json_string(announce_place(client->broker)));
	json_object_set_new(*ret_reply, "database", message_bytes(broker->places.database));
	json_object_set_new(*ret_reply, "writable", json_boolean(is_writable(client->broker)));
	json_object_set_new(*ret_reply, "socket", message_bytes(broker->places.socket));
	json_object_set_new(*ret_reply, "confined", json_boolean(broker->confined));
	json_object_set_new(*ret_reply, "watching", json_boolean(policies_are_watched(broker->policies)));
	json_object_set_new(*ret_reply, "upstream", upstream_now(broker));
	json_object_set_new(*ret_reply, "executor", json_boolean(exec_is_there(broker->exec)));
	return HANDLED;
}

const struct request_handler handle_status = {status, &empty_shape};

/* why */

struct why {
	struct permission permission;
	char *target, *name, *profile, *project;
	int64_t session;
};
static const struct body_field why_fields[] = {
	{"permission", BODY_PERMISSION, REQUIRED, offsetof(struct why, permission), 0, NULL},
	{"target", BODY_TEXT, REQUIRED, offsetof(struct why, target), LIMIT_TARGET, NULL},
	{"name", BODY_TEXT, OPTIONAL, offsetof(struct why, name), LIMIT_TARGET, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct why, profile), LIMIT_PERMISSION, NULL},
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct why, project), LIMIT_TARGET, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct why, session), 0, NULL},
};
static const struct body_shape why_shape = BODY_SHAPE_OF(struct why, why_fields);

static json_t *step_to_json(const struct stack_step *step) {
	const struct verdict *answer = &step->answer;
	json_t *json = json_object();
	json_object_set_new(json, "module", json_string(step->module));
	json_object_set_new(json, "control", json_string(step->control));
	json_object_set_new(json, "answer", json_string(answer->module[0] ? effect_name(answer->effect) : "pass"));
	json_object_set_new(json, "counts", json_boolean(step->counted));
	json_object_set_new(json, "why", message_bytes(answer->why));
	json_object_set_new(json, "rule", message_bytes(answer->rule));
	json_object_set_new(json, "grant", answer->grant ? json_integer(answer->grant) : json_null());
	return json;
}

static int why(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct why *asked = body;
	CLEANUP_REQUEST struct request request = {0};
	const struct ruleset *ruleset;
	reload_now(client->broker->reload);
	const struct session *session = client->session;
	if (asked->session != 0) session = session_find(client->broker, asked->session);
	if (asked->session != 0 && !session)
		return error_set(error, ENOENT, "no session %lld is running", (long long)asked->session);
	int r = requesting_start(client->broker, session, &asked->permission, asked->target, asked->profile,
				 asked->project, &ruleset, &request, error);
	if (r == 0 && asked->name) r = path_normalise(NULL, asked->name, &request.name, error);
	if (r < 0) return r;
	struct stack_walk walk = {0};
	CLEANUP_DECISION struct decision decision;
	decision_make(client->broker, ruleset, session, &request, NULL, &decision, &walk);
	json_t *steps = json_array();
	for (size_t i = 0; i < walk.count; i++) json_array_append_new(steps, step_to_json(&walk.steps[i]));
	stack_walk_finish(&walk);
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "profile", message_bytes(request.subject.profile));
	json_object_set_new(*ret_reply, "project", message_bytes(request.subject.project));
	json_object_set_new(*ret_reply, "verdict", verdict_to_json(&decision.verdict));
	json_object_set_new(*ret_reply, "steps", steps);
	return HANDLED;
}

const struct request_handler handle_why = {why, &why_shape};
