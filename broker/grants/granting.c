#include "granting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "policies/decision.h"
#include "schema/advice.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "store/grant_key.h"

char *granting_sample(const struct permission *permission, const struct pattern *pattern) {
	const char *target = pattern_target(pattern), *text = pattern_text(pattern);
	if (target) return string_copy(target);
	if (permission_is_of_files(permission)) return grant_key_of_pattern(permission, pattern);
	if (permission->kind != PERMISSION_NET_ACCESS || strchr(text, '/')) return NULL;
	const char *colon = string_ends(text, "]") ? NULL : strrchr(text, ':');
	if (colon && *text == '[' && colon < strchr(text, ']')) colon = NULL;
	size_t size = colon ? (size_t)(colon - text) : strlen(text);
	CLEANUP_FREE char *host = string_copy_bytes(text, size);
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	CLEANUP_FREE char *port = digits > 0 ? string_copy_bytes(colon + 1, digits) : string_copy("443");
	if (string_starts(host, "*.")) return string_format("any%s:%s", host + 1, port);
	if (strcmp(host, "*") == 0) return NULL;
	return string_format("%s:%s", host, port);
}

static void decide(struct broker *broker, const struct ruleset *ruleset, const struct permission *permission,
		   int64_t session, const char *project, const char *target, struct decision *ret_decision) {
	static const struct decision_state nobody = {0}; /* no session asks */
	/* Borrowed texts: not finished. */
	const struct request request = {
		.session = session,
		.subject = {.profile = (char *)ruleset_profile(ruleset), .project = (char *)project},
		.permission = *permission,
		.target = (char *)target};
	decision_judge(broker, ruleset, &nobody, &request, NULL, ret_decision, NULL);
}

static int refuse_target(struct broker *broker, const struct granting *wish, const struct ruleset *ruleset,
			 const struct pattern *pattern, const char *target, struct error *error) {
	CLEANUP_DECISION struct decision decision;
	decide(broker, ruleset, &wish->permission, wish->session, wish->project, target, &decision);
	const struct verdict *verdict = &decision.verdict;
	if (verdict->effect != EFFECT_DENY ||
	    (strcmp(verdict->module, "rules") != 0 && strcmp(verdict->module, "protect") != 0))
		return 0;
	CLEANUP_FREE char *shown = text_visible_cut(pattern_text(pattern), 120);
	CLEANUP_FREE char *there = target == wish->resolved ? text_visible_cut(target, 120) : NULL;
	return error_set(error, EPERM, "%s %s can't be granted: %s%s%s%s%s%s%s%s", wish->permission.name, shown,
			 there ? "it leads to " : "", there ? there : "", there ? ", and " : "",
			 verdict->why ? verdict->why : "a rule denies it", verdict->rule ? " (" : "",
			 verdict->rule ? verdict->rule : "", verdict->rule ? ")" : "", advice_lift(verdict->rule));
}

/* Also by the name that it has where it leads. */
static int refuse_forbidden(struct broker *broker, const struct granting *wish, const struct ruleset *ruleset,
			    const struct pattern *pattern, struct error *error) {
	CLEANUP_FREE char *sample = granting_sample(&wish->permission, pattern);
	int r = sample ? refuse_target(broker, wish, ruleset, pattern, sample, error) : 0;
	if (r == 0 && wish->resolved) r = refuse_target(broker, wish, ruleset, pattern, wish->resolved, error);
	return r;
}

int granting_compile(struct broker *broker, const struct granting *wish, const struct pattern_scope *scope,
		     const struct ruleset *ruleset, struct pattern **ret_pattern, struct error *error) {
	struct pattern_scope adapted = *scope;
	adapted.relative_anywhere = wish->effect == EFFECT_DENY;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	int r = pattern_compile(&wish->permission, wish->target, &adapted, &pattern, error);
	if (r == 0 && ruleset && wish->effect == EFFECT_ALLOW)
		r = refuse_forbidden(broker, wish, ruleset, pattern, error);
	if (r == 0) *ret_pattern = STEAL(pattern);
	return r;
}

int granting_check_resolved(const char *resolved, struct error *error) {
	CLEANUP_FREE char *normal = NULL;
	int r = resolved ? path_normalise(NULL, resolved, &normal, error) : 0;
	if (r == 0 && normal && strcmp(normal, resolved) != 0) r = error_set(error, EINVAL, "the path isn't normal");
	return r < 0 ? error_prefix(error, "resolved") : 0;
}

static void set_end(struct broker *broker, const struct granting *wish, struct grant *grant) {
	struct moment now;
	clock_read(broker->clock, &now);
	grant->created_ms = now.wall_ms;
	memcpy(grant->boot_id, now.boot_id, sizeof grant->boot_id);
	if (wish->lifetime != LIFETIME_UNTIL) return;
	grant->expires_ms = now.wall_ms + wish->ttl_ms;
	grant->expires_boot_ms = now.boot_ms + wish->ttl_ms;
}

static struct event event_of(enum event_kind kind, const struct grant *grant, const char *why) {
	/* Borrowed: broker_record frees only the detail. */
	return (struct event){.kind = kind,
			      .session = grant->session,
			      .profile = grant->profile,
			      .project = grant->project,
			      .permission = (char *)grant->permission.name,
			      .target = grant->pattern,
			      .verdict = (int)grant->effect,
			      .why = (char *)why,
			      .grant = grant->id,
			      .prompt = grant->prompt};
}

int granting_write(struct broker *broker, const struct granting *wish, const struct pattern *pattern, bool active,
		   struct grant *ret_grant, struct error *error) {
	CLEANUP_GRANT struct grant grant = {.permission = wish->permission,
					    .effect = wish->effect,
					    .profile = string_copy_or_null(wish->profile),
					    .project = string_copy_or_null(wish->project),
					    .session = wish->session,
					    .lifetime = wish->lifetime,
					    .origin = wish->origin,
					    .prompt = wish->prompt,
					    .reason = string_copy_or_null(wish->reason)};
	set_end(broker, wish, &grant);
	const char *target = pattern_target(pattern);
	if (wish->resolved && target && wish->effect == EFFECT_ALLOW && strcmp(wish->resolved, target) != 0)
		grant.resolved = string_copy(wish->resolved);
	if (!active) { /* for the call that is answered: used with it */
		grant.uses = 1;
		grant.last_used_ms = grant.created_ms;
	}
	int r = grants_insert(broker->grants, &grant, pattern, active, error);
	if (r < 0) return r;
	struct event event = event_of(EVENT_GRANT, &grant, grant.reason);
	event.detail = json_object();
	json_object_set_new(event.detail, "lifetime", json_string(lifetime_name(grant.lifetime)));
	json_object_set_new(event.detail, "origin", json_string(grant_origin_name(grant.origin)));
	if (grant.resolved) json_object_set_new(event.detail, "resolved", message_bytes(grant.resolved));
	if (grant.expires_ms != 0) {
		char stamp[CLOCK_STAMP_SIZE];
		stamp_format(grant.expires_ms, stamp);
		json_object_set_new(event.detail, "expires", json_string(stamp));
	}
	r = broker_record(broker, &event, error);
	if (r < 0) return r;
	*ret_grant = grant;
	grant = (struct grant){0};
	return 0;
}

int granting_make(struct broker *broker, const struct granting *wish, const struct pattern *pattern,
		  struct grant *ret_grant, struct error *error) {
	int r = broker_begin(broker, STORE_FULL, error);
	if (r < 0) return r;
	r = granting_write(broker, wish, pattern, true, ret_grant, error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

static bool overlap(const char *a, const char *b) {
	return !a || !b || strcmp(a, b) == 0;
}

static bool contradicts(const struct grant *grant, const struct grant *other) {
	return overlap(other->profile, grant->profile) && overlap(other->project, grant->project) &&
	       (other->session == 0 || grant->session == 0 || other->session == grant->session);
}

/* Whose grants may say the opposite: who may write may read, and what may not be read may not be written. */
static size_t opposed_to(const struct grant *grant, struct permission ret_opposed[2]) {
	ret_opposed[0] = grant->permission;
	if (grant->permission.kind == PERMISSION_FS_READ && grant->effect == EFFECT_DENY)
		ret_opposed[1] = permission_of(PERMISSION_FS_WRITE);
	else if (grant->permission.kind == PERMISSION_FS_WRITE && grant->effect == EFFECT_ALLOW)
		ret_opposed[1] = permission_of(PERMISSION_FS_READ);
	else
		return 1;
	return 2;
}

static bool is_within(const struct grant *other, const struct pattern *pattern) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *theirs = NULL;
	if (pattern_compile(&other->permission, other->pattern, &nothing, &theirs, NULL) < 0) return false;
	CLEANUP_FREE char *sample = granting_sample(&other->permission, theirs);
	return sample && pattern_match(pattern, sample, NULL);
}

/* Those that cover what this one covers, and those that cover a part of it. */
static int find_opposed(struct broker *broker, const struct grant *grant, const struct permission *permission,
			const struct pattern *pattern, struct grant_list *list, struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list wider = {0}, near = {0};
	enum effect effect = grant->effect == EFFECT_ALLOW ? EFFECT_DENY : EFFECT_ALLOW;
	int r = grants_covering(broker->grants, permission, pattern, effect, &wider, error);
	if (r == 0) r = grants_near(broker->grants, permission, pattern, effect, &near, error);
	for (size_t i = 0; r == 0 && i < wider.count; i++)
		if (contradicts(grant, &wider.items[i]) && !grant_list_has(list, wider.items[i].id))
			grant_list_take(list, &wider.items[i]);
	for (size_t i = 0; r == 0 && i < near.count && list->count < LIMIT_PAGE; i++)
		if (contradicts(grant, &near.items[i]) && !grant_list_has(list, near.items[i].id) &&
		    is_within(&near.items[i], pattern))
			grant_list_take(list, &near.items[i]);
	return r;
}

int granting_contradictions(struct broker *broker, const struct grant *grant, const struct pattern *pattern,
			    struct grant_list *list, struct error *error) {
	static const struct pattern_scope nothing = {.home = NULL};
	struct permission opposed[2];
	size_t count = opposed_to(grant, opposed);
	CLEANUP_PATTERN struct pattern *there = NULL;
	CLEANUP_FREE char *text = grant->resolved ? pattern_quote(&grant->permission, grant->resolved) : NULL;
	int r = text ? pattern_compile(&grant->permission, text, &nothing, &there, error) : 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = find_opposed(broker, grant, &opposed[i], pattern, list, error);
		if (r == 0 && there) r = find_opposed(broker, grant, &opposed[i], there, list, error);
	}
	return r;
}

int64_t granting_denied_there(struct broker *broker, const struct grant *grant, const struct ruleset *ruleset) {
	if (!grant->resolved) return 0;
	CLEANUP_DECISION struct decision decision;
	decide(broker, ruleset, &grant->permission, grant->session, grant->project, grant->resolved, &decision);
	return decision.verdict.effect == EFFECT_DENY ? decision.verdict.grant : 0;
}

int granting_record_end(struct broker *broker, enum event_kind kind, const struct grant *grant, const char *why,
			struct error *error) {
	struct event event = event_of(kind, grant, why);
	return broker_record(broker, &event, error);
}

int granting_revoke(struct broker *broker, const struct grant_list *list, const char *how, struct error *error) {
	int r = list->count > 0 ? broker_begin(broker, STORE_FULL, error) : 0;
	if (r < 0 || list->count == 0) return r;
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		r = grants_revoke(broker->grants, list->items[i].id, "cli", error);
		if (r == 0) r = granting_record_end(broker, EVENT_REVOKE, &list->items[i], how, error);
	}
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}
