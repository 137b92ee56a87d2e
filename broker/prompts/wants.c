/*
 * Theory of operation.
 *
 * A rule names a pattern, and the stack decides about targets: so a target that the pattern covers stands for it
 * (granting_sample), as where a grant is looked at. A pattern that has none, as `*` and a network, is a catch-all:
 * whoever allowed that before a tool has said what it wants would allow everything.
 *
 * A variable is given at the start or not at all: of it this is the decision, recorded like any other. So a grant of it
 * for one use is one of the wants, and is used up when it is settled.
 *
 * Each item that is asked about is a check of the session's own (checking.h) that has no reply of its own: what settles
 * it, an answer, its deadline, a grant that was made meanwhile, the session's end, is counted here.
 */
#include "wants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "deciding.h"
#include "grants/granting.h"
#include "policies/decision.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "wire/client.h"

enum {
	WANTS_BYTES = 16 * 1024, /* of all of them as JSON: they share a message with the session's warnings */
	WANTS_LOOKED_AT = 256,   /* rules that the stack is asked about: a session opens quickly */
};

struct want {
	struct permission permission;
	char *pattern; /* of files and sockets the path itself */
	char *sample;
	/* Of a variable, and of what was denied for longer than this once, when it is settled: */
	json_t *verdict; /* owned */
	int64_t once;    /* the grant for one use that gave the variable; 0: none */
};

struct wants {
	struct want items[LIMIT_WANTS];
	size_t count, bytes;
	int64_t id; /* of the message; 0: not asked yet */
	size_t left;
	json_int_t allowed, denied;
};

static void want_finish(struct want *want) {
	free(want->pattern);
	free(want->sample);
	json_decref(want->verdict);
	*want = (struct want){0};
}

void wants_free(struct wants *wants) {
	if (!wants) return;
	for (size_t i = 0; i < wants->count; i++) want_finish(&wants->items[i]);
	free(wants);
}

/* Which are to be had */

static bool covers_much(const struct session *session, const char *path) {
	return path_is_below(session->broker->places.home, path) || path_is_below(session->subject.project, path) ||
	       path_is_below(session->root, path);
}

/* One thing, and not all of its kind. Of a link it is known only when it is made. */
static bool is_particular(const struct session *session, const struct rule *rule) {
	const char *target = pattern_target(rule->pattern);
	if (rule->permission.kind == PERMISSION_FS_LINK) return false;
	if (permission_is_of_place(&rule->permission)) return target && !covers_much(session, target);
	if (rule->permission.kind == PERMISSION_ENV_READ) return target;
	return rule->permission.kind == PERMISSION_NET_ACCESS;
}

/* Borrowed texts: not finished. */
static struct request request_of(const struct session *session, const struct want *want) {
	return (struct request){.session = session->record.id,
				.subject = session->subject,
				.permission = want->permission,
				.target = want->sample};
}

/* Would the user be asked about it, in a way that a bundle can be answered, or does a grant for one use give it? */
static bool is_open(const struct session *session, const struct want *want) {
	static const struct stack_exec_answers nothing_said = {0};
	const struct request request = request_of(session, want);
	CLEANUP_DECISION struct decision decision;
	decision_make(session->broker, session->ruleset, session, &request, &nothing_said, &decision, NULL);
	if (decision.verdict.effect == EFFECT_ALLOW)
		return want->permission.kind == PERMISSION_ENV_READ && decision.verdict.once;
	return decision.verdict.effect == EFFECT_ASK && !decision.needed && !decision.verdict.confirm_terminal;
}

static bool is_listed(const struct wants *wants, const struct want *want) {
	for (size_t i = 0; i < wants->count; i++)
		if (permission_equal(&wants->items[i].permission, &want->permission) &&
		    strcmp(wants->items[i].pattern, want->pattern) == 0)
			return true;
	return false;
}

static json_t *want_to_json(const struct want *want) {
	return json_pack("{s:s, s:o}", "permission", want->permission.name, "pattern", message_bytes(want->pattern));
}

static size_t size_of(const struct want *want) {
	json_t *json = want_to_json(want);
	size_t size = json_dumpb(json, NULL, 0, JSON_COMPACT);
	json_decref(json);
	return size;
}

/* Takes the want over. */
static void add(const struct session *session, struct wants *wants, struct want *want) {
	const size_t size = size_of(want);
	const bool has_room = wants->count < LIMIT_WANTS && wants->bytes + size <= WANTS_BYTES;
	if (!want->sample || !has_room || is_listed(wants, want) || !is_open(session, want)) return want_finish(want);
	wants->bytes += size;
	wants->items[wants->count++] = *want;
}

static bool is_for_once(const struct session *session, const struct grant *grant) {
	return grant->effect == EFFECT_ALLOW && grant->lifetime == LIFETIME_ONCE && session_is_covered(session, grant);
}

/* The variables that a grant for one use gives. */
static void add_granted_once(const struct session *session, struct wants *wants) {
	static const struct pattern_scope nothing = {.home = NULL};
	const struct permission permission = permission_of(PERMISSION_ENV_READ);
	CLEANUP_GRANT_LIST struct grant_list grants = {0};
	CLEANUP_PATTERN struct pattern *any = NULL;
	if (pattern_compile(&permission, "*", &nothing, &any, NULL) < 0 ||
	    grants_reaching(session->broker->grants, &permission, any, &grants, NULL) < 0)
		return;
	for (size_t i = 0; i < grants.count; i++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		if (!is_for_once(session, &grants.items[i]) ||
		    pattern_compile(&permission, grants.items[i].pattern, &nothing, &pattern, NULL) < 0)
			continue;
		for (size_t k = 0; k < session->environment.count; k++) {
			const char *name = session->environment.items[k];
			struct want want = {permission, string_copy(name), string_copy(name), NULL, 0};
			if (pattern_match(pattern, name, NULL) && !strings_contain(&session->view->environment, name))
				add(session, wants, &want);
			else
				want_finish(&want);
		}
	}
}

struct wants *wants_new(struct session *session) {
	struct wants *wants = mem_new(struct wants);
	size_t count, looked_at = 0;
	const struct rule *rules = ruleset_rules(session->ruleset, &count);
	add_granted_once(session, wants);
	for (size_t i = 0; i < count && wants->count < LIMIT_WANTS && looked_at < WANTS_LOOKED_AT; i++) {
		const struct rule *rule = &rules[i];
		if (rule->distance > 0 || rule->effect != EFFECT_ASK || rule->sticky || rule->confirm_terminal ||
		    !is_particular(session, rule))
			continue;
		looked_at++;
		const char *target = pattern_target(rule->pattern);
		struct want want = {.permission = rule->permission,
				    .pattern = string_copy(target ? target : pattern_text(rule->pattern)),
				    .sample = granting_sample(&rule->permission, rule->pattern)};
		add(session, wants, &want);
	}
	return wants;
}

json_t *wants_to_json(const struct wants *wants) {
	json_t *list = json_array();
	for (size_t i = 0; i < wants->count; i++) json_array_append_new(list, want_to_json(&wants->items[i]));
	return list;
}

/* Asking */

/* Marks them; each may be named once. */
static int mark(const struct wants *wants, const char *key, const struct body_ids *ids, bool marks[LIMIT_WANTS],
		struct error *error) {
	for (size_t i = 0; i < ids->count; i++) {
		const int64_t index = ids->items[i];
		if (index < 0 || index >= (int64_t)wants->count)
			return error_set(error, EINVAL, "'%s' has %lld, and this session has %zu wants", key,
					 (long long)index, wants->count);
		if (marks[index]) return error_set(error, EINVAL, "'%s' has %lld twice", key, (long long)index);
		marks[index] = true;
	}
	return 0;
}

int wants_ask(struct session *session, int64_t id, const struct body_ids *items, const struct body_ids *folders,
	      struct wants_item asked[LIMIT_WANTS], struct error *error) {
	struct wants *wants = session->wants;
	bool named[LIMIT_WANTS] = {false}, is_folder[LIMIT_WANTS] = {false};
	const size_t count = items->count;
	if (wants->id != 0) return error_set(error, EALREADY, "this session has asked for what it wants already");
	if (count == 0) return error_set(error, EINVAL, "'items' names nothing");
	int r = mark(wants, "items", items, named, error);
	if (r == 0) r = mark(wants, "folders", folders, is_folder, error);
	if (r < 0) return r;
	wants->id = id;
	wants->left = count;
	for (size_t i = 0; i < count; i++) {
		const struct want *want = &wants->items[items->items[i]];
		struct request *request = &asked[i].checking.request;
		asked[i].shown = want->pattern;
		asked[i].checking.state = CHECKING_ASKING;
		asked[i].checking.client = session->client;
		asked[i].checking.id = id;
		asked[i].checking.wanted = true;
		request->session = session->record.id;
		request->subject.profile = string_copy(session->subject.profile);
		request->subject.project = string_copy(session->subject.project);
		request->permission = want->permission;
		request->target = string_copy(want->sample);
		request->folder = is_folder[items->items[i]];
	}
	return 0;
}

static bool was_revoked(const struct session *session, int64_t id) {
	CLEANUP_GRANT struct grant grant = {0};
	bool active;
	return grants_read(session->broker->grants, id, &grant, &active, NULL) < 0 || grant.revoked_ms > 0;
}

/* The tool starts now: what was taken back while it waited for other answers isn't given. */
static json_t *told_variable(const struct session *session, const struct want *want) {
	static const struct verdict revoked = {
		.effect = EFFECT_DENY, .module = "grants", .why = (char *)"it was revoked"};
	const bool gone = want->once && was_revoked(session, want->once);
	return json_pack("{s:o, s:o}", "name", message_bytes(want->sample), "verdict",
			 gone ? verdict_to_json(&revoked) : json_incref(want->verdict));
}

static bool is_variable(const struct permission *permission) {
	return permission->kind == PERMISSION_ENV_READ;
}

static json_t *told_variables(const struct session *session) {
	json_t *variables = json_array();
	for (size_t i = 0; i < session->wants->count; i++) {
		const struct want *want = &session->wants->items[i];
		if (want->verdict && is_variable(&want->permission))
			json_array_append_new(variables, told_variable(session, want));
	}
	return variables;
}

/* The tool won't find it, so no call of its own is denied. */
static json_t *told_refused(const struct wants *wants) {
	json_t *refused = json_array();
	for (size_t i = 0; i < wants->count; i++)
		if (wants->items[i].verdict && !is_variable(&wants->items[i].permission))
			json_array_append_new(refused, json_pack("{s:I, s:O}", "item", (json_int_t)i, "verdict",
								 wants->items[i].verdict));
	return refused;
}

static void keep_verdict(struct wants *wants, const struct request *request, const struct verdict *verdict) {
	for (size_t i = 0; i < wants->count; i++) {
		struct want *want = &wants->items[i];
		if (want->permission.kind != request->permission.kind || strcmp(want->sample, request->target) != 0)
			continue;
		json_decref(want->verdict);
		want->verdict = verdict_to_json(verdict);
		want->once = verdict->once ? verdict->grant : 0;
	}
}

void wants_settle(const struct session *session, const struct request *request, const struct verdict *verdict) {
	struct wants *wants = session->wants;
	if (verdict->effect == EFFECT_ALLOW)
		wants->allowed++;
	else
		wants->denied++;
	const bool refused = verdict->effect == EFFECT_DENY && verdict->grant != 0;
	if (refused || is_variable(&request->permission)) keep_verdict(wants, request, verdict);
	if (--wants->left > 0) return;
	client_reply(session->client, "want", wants->id,
		     json_pack("{s:I, s:I, s:o, s:o}", "allowed", wants->allowed, "denied", wants->denied, "variables",
			       told_variables(session), "refused", told_refused(wants)));
}
