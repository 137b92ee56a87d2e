#include "suggest/look.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "pattern.h"
#include "rules.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/broker.h"
#include "ui/policy_files.h"
#include "ui/words.h"

enum { ENOUGH = 1, GRANTS_LOOKED_AT = 10 * 1000 };

void suggest_found_finish(struct suggest_found *found) {
	suggest_free(found->suggest);
	json_decref(found->permissions);
}

/* Rows */

struct rows {
	struct suggest *suggest;
	size_t count;
};

static int each_row(void *context, const json_t *item, struct error *error) {
	struct rows *rows = context;
	CLEANUP_EVENT struct event event = {0};
	if (rows->count++ >= LIMIT_SUGGEST_ROWS) return ENOUGH;
	int r = event_from_json(item, &event, error);
	if (r == 0) suggest_add_event(rows->suggest, &event);
	return r;
}

/* Returns ENOUGH when older rows were left. */
static int look_at_rows(struct channel *channel, struct suggest *suggest, json_t *filter, struct error *error) {
	struct rows rows = {.suggest = suggest};
	const struct listing listing = {
		.what = "history", .newest = true, .filter = filter, .each = each_row, .context = &rows};
	return broker_list(channel, &listing, error);
}

/* Grants */

static int take_grants(struct suggest *suggest, const json_t *items, int64_t *last, struct error *error) {
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)items, index, item) {
		CLEANUP_GRANT struct grant grant = {0};
		int r = grant_from_json(item, &grant, error);
		if (r < 0) return r;
		suggest_add_grant(suggest, &grant);
		*last = grant.id;
	}
	return 0;
}

/* A page from each wanted grant on that was not in one before. */
static int look_at_grants(struct channel *channel, struct suggest *suggest, struct error *error) {
	size_t count;
	int64_t last = 0;
	CLEANUP_FREE int64_t *ids = suggest_grant_ids(suggest, &count);
	for (size_t i = 0; i < count; i++) {
		if (ids[i] <= last) continue;
		json_t *reply = NULL, *body = json_pack("{s:s, s:b, s:I}", "what", "grants", "all", 1, "cursor",
							(json_int_t)ids[i] - 1);
		last = ids[i]; /* it may be gone */
		int r = channel_call(channel, "list", body, &reply, error);
		if (r < 0) return r;
		r = take_grants(suggest, json_object_get(reply, "items"), &last, error);
		json_decref(reply);
		if (r < 0) return r;
	}
	return 0;
}

struct denials {
	struct suggest *suggest;
	size_t count;
};

static int each_denial(void *context, const json_t *item, struct error *error) {
	struct denials *denials = context;
	CLEANUP_GRANT struct grant grant = {0};
	if (denials->count++ >= GRANTS_LOOKED_AT)
		return error_set(error, E2BIG, "there are more than %d denials in force (sbx grants)",
				 GRANTS_LOOKED_AT);
	int r = grant_from_json(item, &grant, error);
	if (r == 0) suggest_judge_grant(denials->suggest, &grant);
	return r;
}

static int look_at_denials(struct channel *channel, struct suggest *suggest, struct error *error) {
	struct denials denials = {.suggest = suggest};
	const struct listing listing = {.what = "grants",
					.filter = json_pack("{s:s}", "verdict", effect_name(EFFECT_DENY)),
					.each = each_denial,
					.context = &denials};
	return broker_list(channel, &listing, error);
}

/* What rules and the broker say */

/* The rules of the profile and project that were asked about last. */
struct rules {
	struct channel *channel;
	char *profile, *project; /* borrowed from suggestions */
	struct policy *policy;
	struct ruleset *ruleset;
};

static void rules_finish(struct rules *rules) {
	ruleset_unref(rules->ruleset);
	policy_unref(rules->policy);
}

static int load_policy(struct rules *rules, const char *project, struct error *error) {
	json_t *reply = NULL, *body = json_object();
	json_put_text(body, "project", project);
	int r = channel_call(rules->channel, "policy", body, &reply, error);
	if (r < 0) return r;
	policy_unref(rules->policy);
	rules->policy = NULL;
	r = policy_files_load(json_object_get(reply, "files"), &rules->policy, error);
	json_decref(reply);
	return r;
}

/* -ENOENT and others: it has no rules any more. */
static int rules_for(struct rules *rules, const struct suggest *suggest, const struct suggestion *suggestion,
		     struct error *error) {
	bool same_project = rules->policy && string_equal(rules->project, suggestion->project);
	if (same_project && rules->ruleset && string_equal(rules->profile, suggestion->profile)) return 0;
	const struct pattern_scope scope = suggest_scope(suggest, suggestion->project);
	ruleset_unref(rules->ruleset);
	rules->ruleset = NULL;
	int r = same_project ? 0 : load_policy(rules, suggestion->project, error);
	rules->profile = suggestion->profile;
	rules->project = suggestion->project;
	return r < 0 ? r : ruleset_new(rules->policy, suggestion->profile, &scope, NULL, &rules->ruleset, error);
}

/* What can never be granted, and what a program decides, the broker alone knows. */
static int ask_broker(struct channel *channel, struct suggestion *suggestion, struct error *error) {
	static const char *const final[] = {"protect", "exec"};
	CLEANUP_VERDICT struct verdict verdict = {0};
	json_t *reply = NULL, *body = json_pack("{s:s}", "permission", suggestion->permission.name);
	json_put_text(body, "target", suggestion->target);
	json_put_text(body, "profile", suggestion->profile);
	json_put_text(body, "project", suggestion->project);
	int r = channel_call(channel, "why", body, &reply, error);
	if (r == 0) r = verdict_from_json(json_object_get(reply, "verdict"), &verdict, error);
	json_decref(reply);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(final); i++) {
		if (suggestion->effect != EFFECT_ALLOW || strcmp(verdict.module, final[i]) != 0) continue;
		CLEANUP_FREE char *why = text_visible_cut(verdict.why ? verdict.why : "it is decided otherwise", 100);
		suggestion_leave_out(suggestion, "%s", why);
	}
	return r;
}

/* What nobody can say anything about any more is no rule: a profile or permission that is gone, a file with errors. */
static void judge_each(struct channel *channel, struct suggest *suggest) {
	CLEANUP(rules_finish) struct rules rules = {.channel = channel};
	size_t count, now;
	suggest_items(suggest, &count);
	for (size_t i = 0; i < count; i++) {
		struct suggestion *suggestion = &suggest_items(suggest, &now)[i];
		struct error error = ERROR_NONE;
		if (!suggestion_is_rule(suggestion)) continue;
		int r = ask_broker(channel, suggestion, &error);
		if (r == 0) r = rules_for(&rules, suggest, suggestion, &error);
		if (r == 0) {
			suggest_judge(suggest, i, rules.ruleset);
			continue;
		}
		CLEANUP_FREE char *why = text_visible_cut(error.message, 120);
		suggestion_leave_out(suggestion, "%s", why);
	}
}

/* The words for permissions of the user's own; without them their names do. */
static json_t *descriptions(struct channel *channel, struct suggest *suggest) {
	size_t count;
	const struct suggestion *items = suggest_items(suggest, &count);
	for (size_t i = 0; i < count; i++) {
		if (!suggestion_is_rule(&items[i]) || items[i].permission.kind != PERMISSION_CUSTOM) continue;
		json_t *reply = NULL, *body = json_object();
		json_put_text(body, "profile", items[i].profile);
		json_put_text(body, "project", items[i].project);
		if (channel_call(channel, "describe", body, &reply, NULL) < 0) continue;
		json_t *permissions = json_incref(json_object_get(reply, "permissions"));
		json_decref(reply);
		return permissions;
	}
	return NULL;
}

int suggest_look(json_t *filter, struct suggest_found *ret_found, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	const char *home = home_directory();
	if (!home) error_set(error, ENOENT, "no home directory is known: set HOME");
	int r = home ? broker_connect(NULL, &channel, error) : -ENOENT;
	if (r < 0) {
		json_decref(filter);
		return r;
	}
	CLEANUP_SUGGEST struct suggest *suggest = suggest_new(home);
	r = look_at_rows(channel, suggest, filter, error);
	bool cut = r == ENOUGH;
	if (r >= 0) r = look_at_grants(channel, suggest, error);
	if (r < 0) return r;
	suggest_settle(suggest);
	judge_each(channel, suggest);
	r = look_at_denials(channel, suggest, error);
	if (r < 0) return r;
	suggest_finish(suggest);
	ret_found->permissions = descriptions(channel, suggest);
	ret_found->suggest = STEAL(suggest);
	ret_found->cut = cut;
	return 0;
}
