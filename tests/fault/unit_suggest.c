/* ui/suggest: from rows and grants to rules: nothing is suggested that the whole history doesn't suggest. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/string.h"
#include "policy/ruleset.h"
#include "rules.h"
#include "suggest/suggest.h"
#include "suggest/text.h"
#include "unit.h"

#define HOME    "/home/ada"
#define PROJECT HOME "/app"

static const struct ask {
	const char *permission, *target, *pattern; /* NULL: nobody allowed it */
	enum effect effect;
	enum lifetime lifetime;
} asks[] = {
	{"net:access", "registry.corp.example:443", "registry.corp.example:443", EFFECT_ALLOW, LIFETIME_ALWAYS},
	{"net:access", "a.deep.example:443", "*.deep.example", EFFECT_ALLOW, LIFETIME_UNTIL},
	{"fs:read", HOME "/notes/a.txt", HOME "/notes", EFFECT_ALLOW, LIFETIME_UNTIL},
	{"fs:read", HOME "/notes/in/b.txt", HOME "/notes/in", EFFECT_DENY, LIFETIME_ALWAYS},
	{"fs:write", HOME "/out/b", HOME "/out/b", EFFECT_ALLOW, LIFETIME_SESSION},
	{"fs:read", HOME "/once.txt", HOME "/once.txt", EFFECT_ALLOW, LIFETIME_ONCE},
	{"fs:read", HOME "/private.txt", NULL, EFFECT_DENY, LIFETIME_ONCE},
	{"fs:read", HOME "/.ssh/id", HOME "/.ssh", EFFECT_ALLOW, LIFETIME_UNTIL},
	{"env:read", "TOKEN", "TOKEN", EFFECT_ALLOW, LIFETIME_ALWAYS},
};

static void add_rows(struct suggest *suggest) {
	static const enum event_kind kinds[] = {EVENT_PROMPT, EVENT_ANSWER, EVENT_DECISION};
	for (size_t i = 0; i < ARRAY_LENGTH(asks); i++)
		for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
			const enum event_kind kind = kinds[k];
			const struct event event = {.kind = kind,
						    .time_ms = INT64_C(1795000000000) + (int64_t)i * 1000,
						    .session = 12,
						    .profile = (char *)"default",
						    .project = (char *)PROJECT,
						    .permission = (char *)asks[i].permission,
						    .target = (char *)asks[i].target,
						    .verdict = kind == EVENT_PROMPT ? -1 : (int)asks[i].effect,
						    .by = (char *)"ask",
						    .why = (char *)"a rule asks",
						    .grant = asks[i].pattern && kind != EVENT_PROMPT ? (int64_t)i + 1
												     : 0,
						    .prompt = (int64_t)i + 1};
			suggest_add_event(suggest, &event);
		}
}

static void add_grants(struct suggest *suggest, bool judge) {
	for (size_t i = 0; i < ARRAY_LENGTH(asks); i++) {
		struct grant grant = {.id = (int64_t)i + 1,
				      .pattern = (char *)asks[i].pattern,
				      .effect = asks[i].effect,
				      .profile = (char *)"default",
				      .project = (char *)PROJECT,
				      .lifetime = asks[i].lifetime,
				      .created_ms = INT64_C(1795000000000)};
		if (!asks[i].pattern || permission_parse(asks[i].permission, &grant.permission, NULL) < 0) continue;
		if (grant.lifetime == LIFETIME_UNTIL) grant.expires_ms = grant.created_ms + 3600 * 1000;
		if (judge)
			suggest_judge_grant(suggest, &grant);
		else
			suggest_add_grant(suggest, &grant);
	}
}

static void use_suggest(void) {
	const struct pattern_scope scope = {.home = HOME, .project = PROJECT, .uid = getuid()};
	struct policy_document *documents[] = {policy_load_builtin()};
	struct policy *policy = policy_new(documents, 1);
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	if (ruleset_new(policy, "default", &scope, NULL, &ruleset, NULL) < 0) _exit(1);
	setenv("TZ", "UTC0", 1);
	setenv("HOME", HOME, 1);
	tzset();
	unit_strike();
	CLEANUP_SUGGEST struct suggest *suggest = suggest_new(HOME);
	CLEANUP_STRING struct string out = {0};
	size_t count;
	add_rows(suggest);
	free(suggest_grant_ids(suggest, &count));
	unit_tell("%zu grants", count);
	add_grants(suggest, false);
	suggest_settle(suggest);
	suggest_items(suggest, &count);
	for (size_t i = 0; i < count; i++) suggest_judge(suggest, i, ruleset);
	add_grants(suggest, true);
	suggest_finish(suggest);
	suggest_text(suggest, &(struct suggest_words){.about = "session 12"}, &out);
	unit_tell("%s", out.data);
	json_t *json = suggest_json(suggest);
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(json);
	unit_tell("%s", text);
	policy_unref(policy);
}

static const struct unit units[] = {
	{.what = "suggestions", .use = use_suggest, .late = true},
};

const struct unit_room units_suggest = UNIT_ROOM("ui/suggest: rules of what was asked", units);
