/* grant, revoke. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "endings/endings.h"
#include "endings/expiry.h"
#include "endings/meant.h"
#include "endings/remaining.h"
#include "grants/granting.h"
#include "handler.h"
#include "policies/policies.h"
#include "policies/reload.h"
#include "prompts/prompts.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "sessions/settling.h"
#include "sessions/spent.h"

/* grant */

struct grant_wish {
	struct permission permission;
	char *target, *profile, *project, *reason, *resolved;
	enum effect effect;
	int64_t session, ttl_ms;
	struct body_lifetime lifetime;
	bool at_once, progress;
};
static const struct body_field grant_fields[] = {
	{"permission", BODY_PERMISSION, REQUIRED, offsetof(struct grant_wish, permission), 0, NULL},
	{"target", BODY_TEXT, REQUIRED, offsetof(struct grant_wish, target), LIMIT_PATTERN, NULL},
	{"effect", BODY_EFFECT, REQUIRED, offsetof(struct grant_wish, effect), 0, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct grant_wish, profile), LIMIT_PERMISSION, NULL},
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct grant_wish, project), LIMIT_TARGET, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct grant_wish, session), 0, NULL},
	{"lifetime", BODY_LIFETIME, REQUIRED, offsetof(struct grant_wish, lifetime), 0, NULL},
	{"ttl_ms", BODY_INTEGER, OPTIONAL, offsetof(struct grant_wish, ttl_ms), 0, NULL},
	{"reason", BODY_TEXT, OPTIONAL, offsetof(struct grant_wish, reason), LIMIT_REASON, NULL},
	{"resolved", BODY_TEXT, OPTIONAL, offsetof(struct grant_wish, resolved), LIMIT_TARGET, NULL},
	{"at_once", BODY_FLAG, OPTIONAL, offsetof(struct grant_wish, at_once), 0, NULL},
	{"progress", BODY_FLAG, OPTIONAL, offsetof(struct grant_wish, progress), 0, NULL},
};
static const struct body_shape grant_shape = BODY_SHAPE_OF(struct grant_wish, grant_fields);

static int check_lifetime(const struct broker *broker, const struct grant_wish *wish, struct error *error) {
	enum lifetime lifetime = (enum lifetime)wish->lifetime.value;
	if (wish->session != 0 && !session_find(broker, wish->session))
		return error_set(error, ENOENT, "no session %lld is running", (long long)wish->session);
	if (lifetime == LIFETIME_SESSION && wish->session == 0)
		return error_set(error, EINVAL, "the lifetime 'session' needs a session");
	if (lifetime == LIFETIME_UNTIL && (wish->ttl_ms < 1 || wish->ttl_ms > LIMIT_TTL_MS))
		return error_set(error, ERANGE, "a grant lasts at least a millisecond and at most ten years");
	if (lifetime != LIFETIME_UNTIL && wish->ttl_ms != 0)
		return error_set(error, EINVAL, "only the lifetime 'until' has a duration");
	return 0;
}

/* The rules that the wish is measured by: the session's, else those of its profile in its project; for any profile the
 * default's, for no project those of the home (`~` is no project, so nothing is anchored in one). */
static int choose_rules(struct broker *broker, const struct grant_wish *wish, const struct ruleset **ret_ruleset,
			struct error *error) {
	const struct session *session = session_find(broker, wish->session);
	if (session) {
		*ret_ruleset = session->ruleset;
		return 0;
	}
	return policies_ruleset(broker->policies, wish->profile ? wish->profile : "default",
				wish->project ? wish->project : broker->places.home, ret_ruleset, error);
}

static json_t *grants_to_json(const struct grant_list *list) {
	json_t *array = json_array();
	size_t bytes = 0;
	for (size_t i = 0; i < list->count && json_array_size(array) < LIMIT_PAGE; i++) {
		json_t *json = grant_to_json(&list->items[i]);
		bytes += json_dumpb(json, NULL, 0, JSON_COMPACT) + 1;
		/* The grant itself goes into the same message. */
		if (bytes <= LIMIT_PAGE_BYTES / 2) json_array_append(array, json);
		json_decref(json);
	}
	return array;
}

/* To the sandboxes that run; the reply (given up) comes when they have carried it out. */
static void tell_new(struct client *client, int64_t id, const struct grant_wish *wish, const struct grant *grant,
		     json_t *reply) {
	const struct settling_wish told = {.aim = grant->effect == EFFECT_DENY ? SETTLING_WITHDRAWS : SETTLING_ASKS,
					   .kind = EVENT_GRANT,
					   .grant = grant,
					   .wait_ms = LIMIT_WITHDRAW_MS};
	const struct settling_request request = {
		.client = client, .type = "grant", .id = id, .progress = wish->progress};
	struct settling *settling = settling_new(client->broker, &told);
	expiry_sweep(client->broker);
	sessions_tell_new(client->broker, grant, NULL, wish->at_once ? NULL : settling);
	prompts_recheck(client->broker);
	settling_reply_when(settling, &request, wish->at_once, reply);
}

static int make_grant(struct client *client, int64_t id, const struct grant_wish *wish, const char *project,
		      struct error *error) {
	struct broker *broker = client->broker;
	struct granting granting = {.permission = wish->permission,
				    .target = wish->target,
				    .effect = wish->effect,
				    .profile = wish->profile,
				    .project = project,
				    .session = wish->session,
				    .lifetime = (enum lifetime)wish->lifetime.value,
				    .ttl_ms = wish->ttl_ms,
				    .origin = GRANT_ORIGIN_CLI,
				    .reason = wish->reason,
				    .resolved = wish->resolved};
	struct pattern_scope scope = policies_scope(broker->policies, project);
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	CLEANUP_GRANT struct grant grant = {0};
	CLEANUP_GRANT_LIST struct grant_list also = {0};
	const struct ruleset *ruleset;
	int r = choose_rules(broker, wish, &ruleset, error);
	if (r == 0) r = policy_check_permission(ruleset_policy(ruleset), &wish->permission, error);
	if (r == 0) r = granting_compile(broker, &granting, &scope, ruleset, &pattern, error);
	if (r == 0) r = granting_make(broker, &granting, pattern, &grant, error);
	if (r == 0) r = granting_contradictions(broker, &grant, pattern, &also, error);
	if (r < 0) return r;
	json_t *reply = json_object();
	const int64_t denied = granting_denied_there(broker, &grant, ruleset);
	json_object_set_new(reply, "grant", grant_to_json(&grant));
	json_object_set_new(reply, "also", grants_to_json(&also));
	json_object_set_new(reply, "denied_there", denied ? json_integer(denied) : json_null());
	tell_new(client, id, wish, &grant, reply);
	return HANDLED_REPLIED;
}

static int grant(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct grant_wish *wish = body;
	CLEANUP_FREE char *project = NULL;
	reload_now(client->broker->reload);
	int r = check_lifetime(client->broker, wish, error);
	if (r == 0) r = granting_check_resolved(wish->resolved, error);
	if (r == 0 && wish->project) r = path_normalise(NULL, wish->project, &project, error);
	return r < 0 ? r : make_grant(client, id, wish, project, error);
}

const struct request_handler handle_grant = {grant, &grant_shape};

/* revoke */

struct match {
	bool present;
	struct permission permission;
	char *target, *resolved;
};
struct revoke {
	struct body_ids ids;
	bool all;
	int64_t session;
	char *profile;
	struct match match;
	bool kill, at_once, progress;
};
static const struct body_field match_fields[] = {
	{"permission", BODY_PERMISSION, REQUIRED, offsetof(struct match, permission), 0, NULL},
	{"target", BODY_TEXT, REQUIRED, offsetof(struct match, target), LIMIT_PATTERN, NULL},
	{"resolved", BODY_TEXT, OPTIONAL, offsetof(struct match, resolved), LIMIT_TARGET, NULL},
};
static const struct body_shape match_shape = BODY_SHAPE_OF(struct match, match_fields);
static const struct body_field revoke_fields[] = {
	{"ids", BODY_IDS, OPTIONAL, offsetof(struct revoke, ids), 0, NULL},
	{"all", BODY_FLAG, OPTIONAL, offsetof(struct revoke, all), 0, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct revoke, session), 0, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct revoke, profile), LIMIT_PERMISSION, NULL},
	{"match", BODY_SHAPE, OPTIONAL, offsetof(struct revoke, match), 0, &match_shape},
	{"kill", BODY_FLAG, OPTIONAL, offsetof(struct revoke, kill), 0, NULL},
	{"at_once", BODY_FLAG, OPTIONAL, offsetof(struct revoke, at_once), 0, NULL},
	{"progress", BODY_FLAG, OPTIONAL, offsetof(struct revoke, progress), 0, NULL},
};
static const struct body_shape revoke_shape = BODY_SHAPE_OF(struct revoke, revoke_fields);

/* What has ended already can't be revoked, but what was connected by one that is used up (`spent`), and who still holds
 * what it gave can be ended: `ended`, if not NULL. */
static int collect_ids(struct broker *broker, const struct body_ids *ids, struct grant_list *list,
		       struct grant_list *spent, struct grant_list *ended, struct error *error) {
	for (size_t i = 0; i < ids->count; i++) {
		struct grant grant;
		bool active;
		int r = grants_read(broker->grants, ids->items[i], &grant, &active, error);
		if (r < 0) return r;
		struct grant_list *to = active ? list : spent_is(broker, &grant, active) ? spent : ended;
		if (to) {
			grant_list_take(to, &grant);
			continue;
		}
		grant_finish(&grant);
		return error_set(error, EALREADY, "grant %lld has ended already", (long long)ids->items[i]);
	}
	return 0;
}

/* Each of the grants says whether it reached farther than what was asked for. */
static json_t *grants_measured(const struct grant_list *list, const struct meant *meant) {
	json_t *array = grants_to_json(list);
	for (size_t i = 0; i < list->count && i < json_array_size(array); i++) {
		json_object_set_new(json_array_get(array, i), "wider",
				    json_boolean(!meant_covers(meant, &list->items[i])));
	}
	return array;
}

/* What the reply says of a match besides. */
struct matched {
	json_t *grants, *rules;
	int64_t rules_more;
};

static void matched_finish(struct matched *matched) {
	json_decref(matched->grants);
	json_decref(matched->rules);
}

static int collect_matching(struct broker *broker, const struct match *match, struct grant_list *list,
			    struct grant_list *spent, struct matched *ret_matched, struct error *error) {
	CLEANUP(meant_finish) struct meant meant = {0};
	reload_now(broker->reload);
	int r = meant_find(broker, &match->permission, match->target, match->resolved, &meant, error);
	if (r == 0) r = meant_collect(broker, &meant, list, error);
	if (r == 0) r = meant_collect_spent(broker, &meant, spent, error);
	if (r < 0) return r;
	ret_matched->grants = grants_measured(list, &meant);
	ret_matched->rules = remaining_rules(broker, &meant, &ret_matched->rules_more);
	return 0;
}

static json_t *add_matched(json_t *reply, const struct matched *matched) {
	if (!matched->grants) return reply;
	json_object_set(reply, "grants", matched->grants);
	json_object_set(reply, "rules", matched->rules);
	json_object_set_new(reply, "rules_more", json_integer(matched->rules_more));
	return reply;
}

static struct settling_request request_of(struct client *client, int64_t id, const struct revoke *wish) {
	return (struct settling_request){.client = client, .type = "revoke", .id = id, .progress = wish->progress};
}

static bool is_mass(const struct revoke *wish) {
	return wish->all || wish->session != 0 || wish->profile;
}

/* The reply comes when all is written. */
static int revoke_mass(struct client *client, int64_t id, const struct revoke *wish, struct error *error) {
	struct ending_wish ending = {.kind = EVENT_REVOKE,
				     .kill = wish->kill,
				     .request = request_of(client, id, wish),
				     .at_once = wish->at_once};
	if (wish->all) {
		ending.mass.what = GRANT_MASS_ALLOWS;
		ending.why = "all";
	} else if (wish->profile) {
		ending.mass.what = GRANT_MASS_PROFILE;
		ending.mass.profile = wish->profile;
		ending.why = "profile";
	} else {
		ending.mass.what = GRANT_MASS_SESSION;
		ending.mass.session = wish->session;
		ending.why = "session";
	}
	int r = endings_start(client->broker, &ending, error);
	return r < 0 ? r : HANDLED_REPLIED;
}

static int compare_ids(const void *a, const void *b) {
	const int64_t *one = a, *other = b;
	return (*one > *other) - (*one < *other);
}

/* They can't be written: they count no more all the same (endings.h). */
static int end_listed(struct client *client, int64_t id, const struct revoke *wish, const struct grant_list *list,
		      const char *how, struct error *error) {
	CLEANUP_FREE int64_t *ids = mem_alloc(list->count, sizeof *ids);
	for (size_t i = 0; i < list->count; i++) ids[i] = list->items[i].id;
	qsort(ids, list->count, sizeof *ids, compare_ids);
	const struct ending_wish ending = {.mass = {.what = GRANT_MASS_LISTED, .ids = ids, .id_count = list->count},
					   .kind = EVENT_REVOKE,
					   .why = how,
					   .kill = wish->kill,
					   .request = request_of(client, id, wish),
					   .at_once = wish->at_once};
	int r = endings_start(client->broker, &ending, error);
	return r < 0 ? r : HANDLED_REPLIED;
}

/* The reply comes when the sandboxes have let go of them. */
static int revoke_listed(struct client *client, int64_t id, const struct revoke *wish, struct error *error) {
	struct broker *broker = client->broker;
	CLEANUP_GRANT_LIST struct grant_list list = {0}, spent = {0}, ended = {0};
	CLEANUP(matched_finish) struct matched matched = {0};
	bool by_id = wish->ids.count > 0;
	int r = by_id ? collect_ids(broker, &wish->ids, &list, &spent, wish->kill ? &ended : NULL, error)
		      : collect_matching(broker, &wish->match, &list, &spent, &matched, error);
	if (r < 0) return r;
	const char *how = by_id ? "id" : "match";
	if (granting_revoke(broker, &list, how, error) < 0) return end_listed(client, id, wish, &list, how, error);
	if (granting_revoke(broker, &spent, how, error) < 0) log_error("revoking what was used up: %s", error->message);
	expiry_sweep(broker);
	struct revoked revoked = {0};
	revoked_add(&revoked, broker, &list);
	revoked_add_spent(&revoked, broker, &spent);
	revoked_add_ended(&revoked, broker, &ended);
	spent_take(broker, &spent, &list);
	for (size_t i = 0; i < ended.count; i++) grant_list_take(&list, &ended.items[i]);
	const struct settling_wish told = {
		.kind = EVENT_REVOKE, .grant = list.count == 1 ? list.items : NULL, .kill = wish->kill};
	struct settling *settling = settling_new(broker, &told);
	sessions_tell_ended(broker, &list, settling);
	/* A denial that is gone may let a waiting one through. */
	prompts_recheck(broker);
	const struct settling_request request = request_of(client, id, wish);
	settling_reply_when(settling, &request, wish->at_once, add_matched(revoked_reply(broker, &revoked), &matched));
	return HANDLED_REPLIED;
}

static int revoke(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct revoke *wish = body;
	int ways = (wish->ids.count > 0) + wish->all + (wish->session != 0) + (wish->profile != NULL) +
		   wish->match.present;
	if (ways != 1) return error_set(error, EINVAL, "say which grants: ids, all, a session, a profile or a match");
	expiry_sweep(client->broker);
	return is_mass(wish) ? revoke_mass(client, id, wish, error) : revoke_listed(client, id, wish, error);
}

const struct request_handler handle_revoke = {revoke, &revoke_shape};
