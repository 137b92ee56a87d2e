/*
 * describe: what a subject may do, and what it may ask for, so that a tool can be told before it fails.
 *
 * Denials aren't in it, nor what they cover: a map of what is hidden is for nobody inside. Of rules with the same words
 * the one that decides counts, and one that names a single thing only if it is what decides about that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "handler.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "policies/reload.h"
#include "prompts/deciding.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/session.h"

struct describe {
	char *profile, *project;
	int64_t session;
	bool origins;
};
static const struct body_field describe_fields[] = {
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct describe, profile), LIMIT_PERMISSION, NULL},
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct describe, project), LIMIT_TARGET, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct describe, session), 0, NULL},
	{"origins", BODY_FLAG, OPTIONAL, offsetof(struct describe, origins), 0, NULL},
};
static const struct body_shape describe_shape = BODY_SHAPE_OF(struct describe, describe_fields);

struct description {
	struct broker *broker;
	const struct session *session;
	const struct subject *subject;
	const struct ruleset *ruleset;
	bool offline, origins;
	json_t *lists[EFFECT_COUNT];
	size_t left;        /* bytes that a reply still has room for */
	bool more, granted; /* there is a grant */
};

/* Takes the item, which says where it comes from. */
static void add(struct description *description, enum effect effect, const struct permission *permission,
		const char *pattern, json_t *item) {
	if (permission->kind == PERMISSION_NET_ACCESS && description->offline) {
		json_decref(item);
		return;
	}
	json_object_set_new(item, "permission", json_string(permission->name));
	json_object_set_new(item, "pattern", message_bytes(pattern));
	const size_t size = json_dumpb(item, NULL, 0, JSON_COMPACT) + 1; /* and a comma */
	const bool fits = size < description->left;
	description->more |= !fits;
	description->left = fits ? description->left - size : 0;
	if (fits) json_array_append(description->lists[effect], item);
	json_decref(item);
}

/* Rules */

static int compare_words(const struct rule *a, const struct rule *b) {
	const int by_name = strcmp(a->permission.name, b->permission.name);
	return by_name != 0 ? by_name : strcmp(pattern_text(a->pattern), pattern_text(b->pattern));
}

/* Those of the same words in the order of the walk. */
static int compare(const void *left, const void *right) {
	const struct rule *a = *(const struct rule *const *)left, *b = *(const struct rule *const *)right;
	const int by_words = compare_words(a, b);
	return by_words != 0 ? by_words : a < b ? -1 : a > b;
}

static bool decides(const struct ruleset *ruleset, const struct rule *rule) {
	const char *target = pattern_target(rule->pattern);
	const struct rule *found = target ? ruleset_find(ruleset, &rule->permission, target, NULL) : rule;
	return found && found->effect == rule->effect;
}

/* What a grant allows is listed as that, for as long as it does; one for a single use is for one call. */
static bool is_granted(const struct description *description, const struct rule *rule) {
	const char *target = pattern_target(rule->pattern);
	if (!description->granted || rule->effect != EFFECT_ASK || !target) return false;
	const struct request request = {.session = description->session ? description->session->record.id : 0,
					.subject = *description->subject,
					.permission = rule->permission,
					.target = (char *)target}; /* borrowed: not finished */
	CLEANUP_DECISION struct decision decision;
	decision_make(description->broker, description->ruleset, description->session, &request, NULL, &decision, NULL);
	return decision.verdict.effect == EFFECT_ALLOW && decision.lifetime != LIFETIME_ONCE;
}

/* A file's rule that says no more than the one that it lies under: masks in a tree that is asked about. */
static bool is_covered(const struct description *description, const struct rule *rule) {
	const char *target = pattern_target(rule->pattern);
	if (!target || *target != '/' || target[1] == '\0') return false;
	if (!permission_is_of_files(&rule->permission)) return false;
	CLEANUP_FREE char *above = path_parent(target);
	const struct rule *found = ruleset_find(description->ruleset, &rule->permission, above, NULL);
	return found && found->effect == rule->effect && strcmp(found->permission.name, rule->permission.name) == 0 &&
	       !is_granted(description, found);
}

static json_t *origin_of_rule(const struct description *description, const struct rule *rule) {
	json_t *item = json_object();
	if (!description->origins) return item;
	json_object_set_new(item, "rule", message_bytes(rule->origin));
	json_object_set_new(item, "profile", message_bytes(rule->profile));
	return item;
}

/* A relative pattern is compiled behind "/" and "**" (schema/pattern.c), which "**" in front of it says already. */
static const char *shown_text(const struct pattern *pattern) {
	const char *text = pattern_text(pattern);
	return string_starts(text, "/**/**/") ? text + strlen("/**") : text;
}

/* Adds the one that counts of those of the same words, and returns how many these are. */
static size_t add_first(struct description *description, const struct rule *const *rules, size_t count) {
	const struct rule *first = rules[0];
	size_t same = 1;
	for (; same < count && compare_words(rules[same], rules[0]) == 0; same++)
		if (rules[same]->layer == first->layer && rules[same]->effect < first->effect) first = rules[same];
	if (first->effect != EFFECT_DENY && decides(description->ruleset, first) && !is_covered(description, first) &&
	    !is_granted(description, first))
		add(description, first->effect, &first->permission, shown_text(first->pattern),
		    origin_of_rule(description, first));
	return same;
}

static void add_rules(struct description *description) {
	size_t count;
	const struct rule *rules = ruleset_rules(description->ruleset, &count);
	CLEANUP_FREE const struct rule **sorted = mem_alloc(count + 1, sizeof(const struct rule *));
	for (size_t i = 0; i < count; i++) sorted[i] = &rules[i];
	qsort(sorted, count, sizeof(const struct rule *), compare);
	for (size_t i = 0; i < count && description->left > 0;) i += add_first(description, sorted + i, count - i);
}

/* Grants, and what the policy has of its own */

static json_t *origin_of_grant(const struct description *description, const struct grant *grant) {
	json_t *item = json_object();
	if (description->origins) json_object_set_new(item, "grant", json_integer(grant->id));
	if (grant->expires_ms > 0) {
		char until[CLOCK_STAMP_SIZE];
		stamp_format(grant->expires_ms, until);
		json_object_set_new(item, "until", json_string(until));
	}
	return item;
}

static int add_grants(struct description *description, struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list grants = {0};
	const int64_t session = description->session ? description->session->record.id : 0;
	int r = grants_of_subject(description->broker->grants, description->subject, session, &grants,
				  &description->more, error);
	description->granted = grants.count > 0;
	for (size_t i = 0; r == 0 && i < grants.count; i++) {
		const struct grant *grant = &grants.items[i];
		if (grant->effect == EFFECT_ALLOW && grant->lifetime != LIFETIME_ONCE)
			add(description, EFFECT_ALLOW, &grant->permission, grant->pattern,
			    origin_of_grant(description, grant));
	}
	return r;
}

static json_t *own_permissions(const struct policy *policy) {
	CLEANUP_STRINGS struct strings names = {0};
	json_t *list = json_array();
	size_t left = (LIMIT_MESSAGE - LIMIT_PAGE_BYTES) / 2;
	policy_permission_names(policy, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *words = policy_description(policy, names.items[i]);
		json_t *item = json_pack("{s:s, s:o}", "name", names.items[i], "description", message_bytes(words));
		const size_t size = json_dumpb(item, NULL, 0, JSON_COMPACT) + 1;
		if (size <= left) json_array_append(list, item);
		left -= size <= left ? size : left;
		json_decref(item);
	}
	return list;
}

/* The connection's own, else the running one that the request names; NULL: neither. */
static int find_session(const struct client *client, const struct describe *asked, const struct session **ret_session,
			struct error *error) {
	*ret_session = client->session;
	if (client->session && asked->session != 0)
		return error_set(error, EPROTO, "the session is the connection's own");
	if (asked->session != 0) *ret_session = session_find(client->broker, asked->session);
	if (asked->session != 0 && !*ret_session)
		return error_set(error, ENOENT, "no session %lld is running", (long long)asked->session);
	if (*ret_session && (asked->profile || asked->project))
		return error_set(error, EPROTO, "profile and project are the session's own");
	return 0;
}

/* Of the session, else as the request says. */
static int find_subject(struct broker *broker, const struct session *session, const struct describe *asked,
			struct subject *ret_subject, const struct ruleset **ret_ruleset, struct error *error) {
	if (session) {
		ret_subject->profile = string_copy(session->subject.profile);
		ret_subject->project = string_copy(session->subject.project);
		*ret_ruleset = session->ruleset;
		return 0;
	}
	if (!asked->project) return error_set(error, EINVAL, "the project is missing");
	CLEANUP_FREE char *project = NULL;
	int r = path_normalise(NULL, asked->project, &project, error);
	if (r < 0) return error_prefix(error, "project");
	ret_subject->profile = string_copy(asked->profile ? asked->profile : "default");
	ret_subject->project = STEAL(project);
	return policies_ruleset(broker->policies, ret_subject->profile, ret_subject->project, ret_ruleset, error);
}

static json_t *reply_of(const struct description *description, const struct subject *subject) {
	const enum view_network network =
		description->offline ? VIEW_NETWORK_NONE : ruleset_network(description->ruleset);
	return json_pack("{s:o, s:o, s:s, s:O, s:O, s:o, s:b}", "profile", message_bytes(subject->profile), "project",
			 message_bytes(subject->project), "network", view_network_name(network), "allow",
			 description->lists[EFFECT_ALLOW], "ask", description->lists[EFFECT_ASK], "permissions",
			 own_permissions(ruleset_policy(description->ruleset)), "more", description->more);
}

static int describe(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	CLEANUP_SUBJECT struct subject subject = {0};
	const struct describe *asked = body;
	/* Where a rule stands is not for the sandbox. */
	struct description description = {.broker = client->broker,
					  .subject = &subject,
					  .origins = asked->origins && !client->session,
					  .left = LIMIT_PAGE_BYTES};
	reload_now(client->broker->reload);
	int r = find_session(client, asked, &description.session, error);
	const struct session *session = description.session;
	if (r == 0) r = find_subject(client->broker, session, asked, &subject, &description.ruleset, error);
	if (r < 0) return r;
	description.offline =
		(session && session->offline) || ruleset_network(description.ruleset) == VIEW_NETWORK_NONE;
	for (int i = 0; i < EFFECT_COUNT; i++) description.lists[i] = json_array();
	r = add_grants(&description, error);
	if (r == 0) {
		add_rules(&description);
		*ret_reply = reply_of(&description, &subject);
	}
	for (int i = 0; i < EFFECT_COUNT; i++) json_decref(description.lists[i]);
	return r < 0 ? r : HANDLED;
}

const struct request_handler handle_describe = {describe, &describe_shape};
