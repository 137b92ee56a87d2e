/* From rows and grants to rules: what is suggested, what never is, and that the text means just that. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "pattern.h"
#include "policy/ruleset.h"
#include "rules.h"
#include "schema/limits.h"
#include "suggest/suggest.h"
#include "suggest/text.h"
#include "support/cmocka.h"
#include "support/long_run.h"

#define HOME    "/home/ada"
#define PROJECT HOME "/app"
#define OTHER   HOME "/other"

/* What the tests build on: one history. */
struct story {
	struct suggest *suggest;
	struct grant grants[700];
	size_t grant_count;
	int64_t clock;
	const char *profile, *project;
};

static void story_begin(struct story *story) {
	setenv("TZ", "UTC0", 1);
	setenv("HOME", HOME, 1);
	tzset();
	*story = (struct story){.suggest = suggest_new(HOME),
				.clock = INT64_C(1795000000) * 1000,
				.profile = "default",
				.project = PROJECT};
}

static void story_end(struct story *story) {
	suggest_free(story->suggest);
	for (size_t i = 0; i < story->grant_count; i++) grant_finish(&story->grants[i]);
}

static void row(struct story *story, enum event_kind kind, const char *permission, const char *target, int verdict,
		const char *by, const char *why, int64_t grant, int64_t prompt, const char *state) {
	json_t *detail = state ? json_pack("{s:s}", "state", state) : NULL;
	const struct event event = {.kind = kind,
				    .time_ms = story->clock += 1000,
				    .session = 12,
				    .profile = (char *)story->profile,
				    .project = (char *)story->project,
				    .permission = (char *)permission,
				    .target = (char *)target,
				    .verdict = verdict,
				    .by = (char *)by,
				    .why = (char *)why,
				    .grant = grant,
				    .prompt = prompt,
				    .detail = detail};
	suggest_add_event(story->suggest, &event);
	json_decref(detail);
}

static struct grant *new_grant(struct story *story, const char *permission, const char *pattern, enum effect effect,
			       enum lifetime lifetime) {
	struct pattern_scope scope = {.home = HOME, .project = story->project, .uid = getuid()};
	CLEANUP_PATTERN struct pattern *compiled = NULL;
	struct grant *grant = &story->grants[story->grant_count++];
	*grant = (struct grant){.id = (int64_t)story->grant_count,
				.effect = effect,
				.profile = string_copy(story->profile),
				.project = string_copy(story->project),
				.lifetime = lifetime,
				.created_ms = story->clock};
	assert_int_equal(permission_parse(permission, &grant->permission, NULL), 0);
	assert_int_equal(pattern_compile(&grant->permission, pattern, &scope, &compiled, NULL), 0);
	grant->pattern = string_copy(pattern_text(compiled));
	if (lifetime == LIFETIME_UNTIL) grant->expires_ms = story->clock + 3600 * 1000;
	return grant;
}

/* Asked about the target, answered with a grant of the pattern: prompt, answer and decision, as the broker writes them.
 */
static struct grant *answered(struct story *story, const char *permission, const char *target, const char *pattern,
			      enum effect effect, enum lifetime lifetime) {
	struct grant *grant = new_grant(story, permission, pattern, effect, lifetime);
	row(story, EVENT_PROMPT, permission, target, -1, "ask", "a rule asks", 0, grant->id, "shown");
	row(story, EVENT_ANSWER, permission, target, (int)effect, "ask", "a rule asks", grant->id, grant->id, NULL);
	row(story, EVENT_DECISION, permission, target, (int)effect, "ask", "you said it", grant->id, grant->id, NULL);
	return grant;
}

static void denied_once(struct story *story, const char *permission, const char *target) {
	row(story, EVENT_ANSWER, permission, target, EFFECT_DENY, "ask", "a rule asks", 0, 9000, NULL);
	row(story, EVENT_DECISION, permission, target, EFFECT_DENY, "ask", "you denied it", 0, 9000, NULL);
}

static void recorded(struct story *story, const char *permission, const char *target) {
	row(story, EVENT_DECISION, permission, target, EFFECT_DENY, "ask", VERDICT_WHY_RECORDED, 0, 0, NULL);
}

static struct ruleset *rules_read(enum policy_layer layer, const char *text, const char *profile, const char *project) {
	const struct pattern_scope scope = {.home = HOME, .project = project, .uid = getuid()};
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *documents[2];
	size_t count = 0;
	struct ruleset *ruleset = NULL;
	if (text) {
		documents[count] = policy_load(layer, "policy.yaml", text, strlen(text), &errors);
		if (!documents[count]) print_error("%s\n%s\n", text, errors.count > 0 ? errors.items[0] : "");
		assert_non_null(documents[count++]);
	}
	documents[count++] = policy_load_builtin();
	struct policy *policy = policy_new(documents, count);
	assert_int_equal(ruleset_new(policy, profile, &scope, NULL, &ruleset, NULL), 0);
	policy_unref(policy);
	return ruleset;
}

/* The built-in ones alone are read once for all tests that go by them. */
static struct ruleset *rules_in(enum policy_layer layer, const char *text, const char *profile, const char *project) {
	static struct ruleset *builtin;
	if (text || strcmp(profile, "default") != 0 || strcmp(project, PROJECT) != 0)
		return rules_read(layer, text, profile, project);
	if (!builtin) builtin = rules_read(layer, NULL, profile, project);
	return ruleset_ref(builtin);
}

static struct ruleset *rules_of(const char *text, const char *profile, const char *project) {
	return rules_in(POLICY_LAYER_USER, text, profile, project);
}

/* All of `sbx suggest` but the broker; `policy`: that layer's file until now, or NULL. Freed by the caller. */
static char *suggested_in(struct story *story, enum policy_layer layer, const char *policy) {
	size_t count, now;
	CLEANUP_STRING struct string out = {0};
	free(suggest_grant_ids(story->suggest, &count));
	for (size_t i = 0; i < story->grant_count; i++) suggest_add_grant(story->suggest, &story->grants[i]);
	suggest_settle(story->suggest);
	suggest_items(story->suggest, &count);
	for (size_t i = 0; i < count; i++) {
		const struct suggestion *item = &suggest_items(story->suggest, &now)[i];
		CLEANUP_RULESET struct ruleset *ruleset = rules_in(layer, policy, item->profile, item->project);
		suggest_judge(story->suggest, i, ruleset);
	}
	for (size_t i = 0; i < story->grant_count; i++)
		if (story->grants[i].revoked_ms == 0) suggest_judge_grant(story->suggest, &story->grants[i]);
	suggest_finish(story->suggest);
	const struct suggest_words words = {.about = "session 12"};
	suggest_text(story->suggest, &words, &out);
	return string_steal(&out);
}

static char *suggested_under(struct story *story, const char *policy) {
	return suggested_in(story, POLICY_LAYER_USER, policy);
}

static char *suggested(struct story *story) {
	return suggested_under(story, NULL);
}

static void has(const char *text, const char *part) {
	if (!strstr(text, part)) print_error("expected: %s\nin:\n%s\n", part, text);
	assert_non_null(strstr(text, part));
}

static void lacks(const char *text, const char *part) {
	if (strstr(text, part)) print_error("not expected: %s\nin:\n%s\n", part, text);
	assert_null(strstr(text, part));
}

static enum effect effect_in(const struct ruleset *ruleset, const char *permission, const char *target) {
	struct permission parsed;
	assert_int_equal(permission_parse(permission, &parsed, NULL), 0);
	const struct rule *rule = ruleset_find(ruleset, &parsed, target, NULL);
	return rule ? rule->effect : EFFECT_DENY;
}

/* What is suggested */

static void a_session_becomes_a_file(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "net:access", "registry.corp.example:443", "registry.corp.example:443", EFFECT_ALLOW,
		 LIFETIME_ALWAYS);
	row(&story, EVENT_DECISION, "net:access", "registry.corp.example:443", EFFECT_ALLOW, "grants", "grant 1", 1, 0,
	    NULL);
	answered(&story, "net:access", "a.deep.example:443", "*.deep.example", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "fs:read", HOME "/notes/a.txt", HOME "/notes", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "fs:write", HOME "/out/b", HOME "/out/b", EFFECT_ALLOW, LIFETIME_SESSION);
	answered(&story, "fs:read", HOME "/once.txt", HOME "/once.txt", EFFECT_ALLOW, LIFETIME_ONCE);
	denied_once(&story, "fs:read", HOME "/private.txt");
	denied_once(&story, "fs:read", HOME "/private.txt");
	answered(&story, "net:access", "ads.example:443", "ads.example:443", EFFECT_DENY, LIFETIME_ALWAYS);
	row(&story, EVENT_PROMPT, "fs:read", HOME "/slow.txt", -1, "ask", "a rule asks", 0, 88, "expired");
	CLEANUP_FREE char *text = suggested(&story);
	static const char golden[] =
		"# What was asked in session 12, as rules for ~/.config/sbx/policy.yaml.\n"
		"# Read each before you paste it: a rule has no end and holds for its profile in every project.\n"
		"# Where you have no such file yet this is one; else put the items under the same keys of yours.\n"
		"# 'sbx policy check' then finds what is wrong with it.\n"
		"version: 1\n"
		"profiles:\n"
		"  default:\n"
		"    allow:\n"
		"      fs:read:\n"
		"        - \"~/notes\" # in ~/app: asked 1 time, allowed for 1h, last 2026-11-18 11:06:49\n"
		"      fs:write:\n"
		"        - \"~/out/b\" # in ~/app: asked 1 time, allowed for the session, last 2026-11-18 11:06:52\n"
		"      net:access:\n"
		"        - \"*.deep.example\" # in ~/app: asked 1 time, allowed for 1h, last 2026-11-18 11:06:46\n"
		"        - \"registry.corp.example:443\" # in ~/app: asked 1 time, allowed always, last 2026-11-18 "
		"11:06:44; used 1 time\n"
		"    deny:\n"
		"      fs:read:\n"
		"        - \"~/private.txt\" # in ~/app: asked 2 times, denied once, last 2026-11-18 11:06:59\n"
		"      net:access:\n"
		"        - \"ads.example:443\" # in ~/app: asked 1 time, denied always, last 2026-11-18 11:07:02\n"
		"\n"
		"# Not suggested:\n"
		"#   default: fs:read \"~/once.txt\" (in ~/app: asked 1 time, allowed once, last 2026-11-18 11:06:55): "
		"allowed for one call only\n"
		"#   default: fs:read \"~/slow.txt\" (in ~/app: asked 1 time, last 2026-11-18 11:07:04): nobody has "
		"answered\n";
	assert_string_equal(text, golden);
	CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, "default", PROJECT);
	assert_int_equal(effect_in(ruleset, "fs:read", HOME "/notes/a.txt"), EFFECT_ALLOW);
	assert_int_equal(effect_in(ruleset, "fs:read", HOME "/private.txt"), EFFECT_DENY);
	assert_int_equal(effect_in(ruleset, "net:access", "b.deep.example:1"), EFFECT_ALLOW);
	assert_int_equal(effect_in(ruleset, "net:access", "registry.corp.example:80"), EFFECT_ASK);
	story_end(&story);
}

static void what_a_rule_says_by_now_is_left_out(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "fs:read", HOME "/a", HOME "/a", EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "fs:read", HOME "/b", HOME "/b", EFFECT_ALLOW, LIFETIME_ALWAYS);
	denied_once(&story, "fs:read", HOME "/c");
	CLEANUP_FREE char *text =
		suggested_under(&story, "version: 1\nprofiles:\n  default:\n    allow:\n"
					"      fs:read: [~/a, ~/c]\n    deny:\n      fs:read: [~/b]\n");
	has(text, "# Nothing was asked in session 12 that a rule should answer.\n");
	has(text, "# 1 more is decided by a rule by now.\n");
	has(text, "\"~/b\" (in ~/app: asked 1 time, allowed always, last 2026-11-18 11:06:45): a rule denies it by now "
		  "(policy.yaml:");
	has(text, "a rule allows it by now (policy.yaml:");
	lacks(text, "profiles:");
	story_end(&story);
}

static void the_last_answer_counts(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	denied_once(&story, "fs:read", HOME "/d/x");
	answered(&story, "fs:read", HOME "/d/y", HOME "/d", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "fs:read", HOME "/e", HOME "/e", EFFECT_ALLOW, LIFETIME_UNTIL);
	denied_once(&story, "fs:read", HOME "/e");
	answered(&story, "fs:read", HOME "/f", HOME "/f", EFFECT_ALLOW, LIFETIME_ALWAYS)->revoked_ms = story.clock;
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "    allow:\n      fs:read:\n        - \"~/d\" #");
	has(text, "    deny:\n      fs:read:\n        - \"~/e\" #");
	has(text, "): you allowed it later\n");
	has(text, "): you denied it later\n");
	has(text, "): you revoked it\n");
	story_end(&story);
}

static void what_another_rule_covers_is_said_once(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "fs:read", HOME "/d/x", HOME "/d/x", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "fs:write", HOME "/d/y", HOME "/d", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "net:access", "a.b.example:443", "a.b.example:443", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "net:access", "c.b.example:443", "*.b.example", EFFECT_ALLOW, LIFETIME_UNTIL);
	/* Not where a denial lies between them. */
	answered(&story, "fs:read", HOME "/w/a", HOME "/w", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "fs:read", HOME "/w/in/x", HOME "/w/in/x", EFFECT_ALLOW, LIFETIME_SESSION);
	answered(&story, "fs:read", HOME "/w/in/x", HOME "/w/in/x", EFFECT_ALLOW, LIFETIME_ALWAYS);
	denied_once(&story, "fs:read", HOME "/w/in");
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "- \"~/w/in/x\" # in ~/app: asked 2 times, allowed always, last");
	lacks(text, "/d/x");
	lacks(text, "a.b.example");
	has(text, "- \"~/d\" # in ~/app: asked 2 times");
	has(text, "- \"*.b.example\" # in ~/app: asked 2 times");
	story_end(&story);
}

static void projects_share_a_line_and_a_denial_in_one_speaks_for_all(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "net:access", "a.example:443", "a.example:443", EFFECT_ALLOW, LIFETIME_UNTIL);
	answered(&story, "net:access", "b.example:443", "b.example:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	story.project = OTHER;
	answered(&story, "net:access", "a.example:443", "a.example:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "net:access", "b.example:443", "b.example:443", EFFECT_DENY, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "- \"a.example:443\" # in ~/app, ~/other: asked 2 times, allowed always");
	has(text, "    deny:\n      net:access:\n        - \"b.example:443\" # in ~/other");
	has(text, "you denied it in /home/ada/other, and a rule holds in every project\n");
	story_end(&story);
}

static void record_s_candidates_stand_under_a_heading(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "net:access", "a.example:443", "a.example:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	recorded(&story, "net:access", "z.example:443");
	recorded(&story, "net:access", "z.example:443");
	recorded(&story, "net:access", "*.example.org"); /* of a question at the start */
	row(&story, EVENT_DECISION, "ipc:connect", "/run/x.sock", EFFECT_DENY, "none", "nothing allows it", 0, 0, NULL);
	row(&story, EVENT_DECISION, "fs:read", HOME "/.ssh/id", EFFECT_DENY, "rules", "base denies it", 0, 0, NULL);
	row(&story, EVENT_DECISION, "fs:read", HOME "/.config/sbx", EFFECT_DENY, "protect", "it is sbx's", 0, 0, NULL);
	row(&story, EVENT_DECISION, "fs:read", HOME "/flood", EFFECT_DENY, "flood", "too many", 0, 0, NULL);
	recorded(&story, "fs:write", PROJECT "/.git/config");
	recorded(&story, "fs:read", HOME);
	recorded(&story, "fs:read", "/home");
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "        - \"a.example:443\" # in ~/app: asked 1 time, allowed always");
	has(text, "        # NOT ALLOWED YET: --record denied what follows. Look at each before you paste it.\n"
		  "        - \"z.example:443\" # in ~/app: asked 2 times, last");
	has(text, "      ipc:connect:\n        # NOT ALLOWED YET");
	has(text, "it names more than one target");
	has(text, "fs:read \"~\" (in ~/app: asked 1 time, last 2026-11-18 11:06:52): all of your home lies in it\n");
	lacks(text, "- \"~\"");
	lacks(text, "- \"/home\"");
	has(text, "fs:write \"${project}/.git/config\"");
	lacks(text, "- \"${project}/.git/config\"");
	lacks(text, ".ssh");
	lacks(text, "config/sbx\"");
	lacks(text, "flood");
	story_end(&story);
}

/* What is asked before a run begins names what a rule asks about, which may be no single target. */
static void a_question_at_the_start_has_its_pattern(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "net:access", "*.start.example:443", "*.start.example:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	denied_once(&story, "net:access", "*.no.example");
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "    allow:\n      net:access:\n        - \"*.start.example:443\" #");
	has(text, "    deny:\n      net:access:\n        - \"*.no.example\" #");
	size_t count;
	const struct suggestion *items = suggest_items(story.suggest, &count);
	for (size_t i = 0; i < count; i++) assert_true(pattern_match(items[i].compiled, items[i].target, NULL));
	story_end(&story);
}

/* A run that nobody recorded tells nothing of what no rule speaks of. */
static void without_record_nothing_is_a_candidate(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	row(&story, EVENT_DECISION, "ipc:connect", "/run/x.sock", EFFECT_DENY, "none", "nothing allows it", 0, 0, NULL);
	row(&story, EVENT_DECISION, "net:access", "z.example:443", EFFECT_DENY, "ask", VERDICT_WHY_NOBODY, 0, 0, NULL);
	CLEANUP_FREE char *text = suggested(&story);
	lacks(text, "profiles:");
	lacks(text, "x.sock");
	has(text,
	    "#   default: net:access \"z.example:443\" (in ~/app: asked 1 time, last 2026-11-18 11:06:42): nobody "
	    "has answered\n");
	story_end(&story);
}

/* What never is */

static void masks_and_sensitive_places_are_never_suggested(void **state) {
	(void)state;
	static const char *const places[] = {PROJECT "/.git/hooks", PROJECT "/.git/hooks/pre-commit", HOME "/.bashrc",
					     PROJECT "/.envrc", HOME "/.config/git"};
	static const char *const secrets[] = {HOME "/.ssh", HOME "/.ssh/config", HOME "/.aws/credentials"};
	struct story story;
	story_begin(&story);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		answered(&story, "fs:write", places[i], places[i], EFFECT_ALLOW, LIFETIME_ALWAYS);
	for (size_t i = 0; i < ARRAY_LENGTH(secrets); i++)
		answered(&story, "fs:read", secrets[i], secrets[i], EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "ipc:connect", "/run/docker.sock", "/run/docker.sock", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested(&story);
	lacks(text, "profiles:");
	lacks(text, "\n        - ");
	story_end(&story);
}

/* Nor where the user's own rule asks about one without a word on terminals. */
static void a_mask_that_is_only_asked_about_is_one(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "fs:write", PROJECT "/.vscode/x", PROJECT "/.vscode/x", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested_under(&story, "version: 1\nprofiles:\n  default:\n    ask:\n"
							  "      fs:write: [\"${project}/.vscode\"]\n");
	lacks(text, "profiles:");
	has(text, "it is a place that base keeps (built-in/base.yaml:");
	story_end(&story);
}

/* A folder was granted; what the built-in profile denies in it was not, but a rule of the user's would lift it. */
static void denials_in_a_granted_folder_are_repeated(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "fs:read", HOME "/x", HOME, EFFECT_ALLOW, LIFETIME_ALWAYS);
	new_grant(&story, "fs:read", HOME "/diary", EFFECT_DENY, LIFETIME_ALWAYS); /* of another session */
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "        - \"~\" #");
	has(text, "        - \"~/.npmrc\" # built-in/default.yaml:");
	has(text, "        - \"~/diary\" # grant 2 denies it");
	CLEANUP_RULESET struct ruleset *before = rules_of(NULL, "default", PROJECT);
	CLEANUP_RULESET struct ruleset *after = rules_of(text, "default", PROJECT);
	static const char *const denied[] = {"/.npmrc",   "/.cache/x",       "/.bash_history",
					     "/.ssh/id",  "/.config/fish/x", "/.aws",
					     "/.profile", "/.viminfo",       "/.config/gh/hosts.yml"};
	for (size_t i = 0; i < ARRAY_LENGTH(denied); i++) {
		CLEANUP_FREE char *path = string_format(HOME "%s", denied[i]);
		assert_int_equal(effect_in(before, "fs:read", path), EFFECT_DENY);
		assert_int_equal(effect_in(after, "fs:read", path), EFFECT_DENY);
	}
	assert_int_equal(effect_in(after, "fs:read", HOME "/diary/1"), EFFECT_DENY);
	assert_int_equal(effect_in(after, "fs:read", HOME "/any"), EFFECT_ALLOW);
	assert_int_equal(effect_in(after, "fs:write", PROJECT "/any"), EFFECT_ALLOW);
	story_end(&story);
}

static void what_a_terminal_alone_may_allow_is_a_note_however_long_it_was_allowed(void **state) {
	(void)state;
	static const char policy[] = "version: 1\nprofiles:\n  default:\n    ask:\n"
				     "      fs:read: [{target: ~/keys, confirm: terminal}]\n";
	struct story story;
	story_begin(&story);
	answered(&story, "fs:read", HOME "/keys", HOME "/keys", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested_in(&story, POLICY_LAYER_USER, policy);
	has(text, "allowed always, ");
	has(text, "): only an answer in a terminal can allow it, so no rule is suggested (");
	story_end(&story);
}

/* Its grant leaves it to a terminal; a rule of the user's comes before the project's. */
static void what_a_terminal_confirms_in_a_granted_folder_is_not_lifted(void **state) {
	(void)state;
	static const char policy[] = "version: 1\nprofiles:\n  default:\n    ask:\n"
				     "      fs:read: [~/docs, {target: ~/docs/keys, confirm: terminal}]\n";
	for (int users = 0; users < 2; users++) {
		struct story story;
		story_begin(&story);
		answered(&story, "fs:read", HOME "/docs", HOME "/docs", EFFECT_ALLOW, LIFETIME_ALWAYS);
		answered(&story, "fs:read", HOME "/docs/a", HOME "/docs/a", EFFECT_ALLOW, LIFETIME_ALWAYS);
		CLEANUP_FREE char *text =
			suggested_in(&story, users ? POLICY_LAYER_USER : POLICY_LAYER_PROJECT, policy);
		if (users) { /* in one file the closer one wins */
			has(text, "        - \"~/docs\" #");
		} else {
			has(text, "only a terminal may allow a part of it");
			lacks(text, "        - \"~/docs\" #");
			has(text, "        - \"~/docs/a\" #");
		}
		story_end(&story);
	}
}

/* "No, not all of my home", said once, must not take the project away for good. */
static void a_denial_for_once_takes_nothing_that_rules_allow(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	denied_once(&story, "fs:read", HOME);
	CLEANUP_FREE char *text = suggested(&story);
	has(text, "you denied it once, and a rule allows a part of it (built-in/");
	lacks(text, "profiles:");
	story_end(&story);
	/* Who denies it for good does mean all of it: so does the grant. */
	story_begin(&story);
	answered(&story, "fs:read", HOME, HOME, EFFECT_DENY, LIFETIME_ALWAYS);
	CLEANUP_FREE char *lasting = suggested(&story);
	has(lasting, "    deny:\n      fs:read:\n        - \"~\" #");
	story_end(&story);
}

static void an_address_of_a_name_stays_private_where_the_question_said_so(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "net:access", "x.corp:443", "x.corp:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "net:access", "[::1]:8080", "[::1]:8080", EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "net:access", "[2001:db8::1]:443", "[2001:db8::1]:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	answered(&story, "net:access", "10.0.0.1:443", "10.0.0.1:443", EFFECT_ALLOW, LIFETIME_ALWAYS);
	/* By hand, and it opens no private address. */
	answered(&story, "net:access", "any.example:443", "*", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested_under(&story, "version: 1\nprofiles:\n  default:\n    ask:\n"
							  "      net:access: [{target: \"*.corp\", private: true}]\n");
	has(text, "- {target: \"x.corp:443\", private: true} #");
	has(text, "- \"[::1]:8080\" #");
	has(text, "- \"[2001:db8::1]:443\" #");
	has(text, "- \"10.0.0.1:443\" #");
	CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, "default", PROJECT);
	assert_int_equal(effect_in(ruleset, "net:access", "[2001:db8::1]:443"), EFFECT_ALLOW);
	story_end(&story);
}

static void not_all_of_a_domain_is_private_where_a_part_is(void **state) {
	(void)state;
	static const char *const policies[] = {
		"version: 1\nprofiles:\n  default:\n    ask:\n      net:access: [{target: \"*.corp.example\", private: "
		"true}]\n",
		"version: 1\nprofiles:\n  default:\n    ask:\n      net:access: [{target: \"a.corp.example\", private: "
		"true}]\n",
		"version: 1\nprofiles:\n  default:\n    ask:\n      net:access: [{target: \"*.corp.example\", private: "
		"true}, "
		"x.corp.example]\n",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(policies); i++) {
		struct story story;
		story_begin(&story);
		answered(&story, "net:access", "a.corp.example:443", "*.corp.example", EFFECT_ALLOW, LIFETIME_ALWAYS);
		CLEANUP_FREE char *text = suggested_under(&story, policies[i]);
		if (i == 0)
			has(text, "- {target: \"*.corp.example\", private: true} #");
		else
			has(text, "only for a part of it a rule says private: true (policy.yaml:");
		if (i > 0) lacks(text, "profiles:");
		story_end(&story);
	}
}

/* Hostile names */

static const char *const hostile[] = {
	"x\n    deny: {}",
	"x\n        - \"~\"",
	"x\" # in ~/app: asked 9 times, allowed always\n        - \"/etc",
	"x\"]\nprofiles: {default: {allow: {fs:write: [\"/\"]}}}",
	"\\",
	"\\\"",
	"a\\nb",
	"*",
	"**",
	"[::1]",
	"[a-z]",
	"a?b",
	"${home}",
	"${project}",
	"$HOME",
	"~",
	"#comment",
	" # comment",
	"- item",
	"key: value",
	"!tag",
	"&anchor",
	"*alias",
	"%YAML 1.1",
	"---",
	"...",
	"| block",
	"> fold",
	"null",
	"off",
	"1:30",
	"0x10",
	"'quoted'",
	"\xe2\x80\xaegnp.exe",
	"zero\xe2\x80\x8bwidth",
	"nel\xc2\x85line",
	"ls\xe2\x80\xa8sep",
	"bom\xef\xbb\xbf",
	"\x1b[2Jclear",
	"tab\there",
	"\r\nwindows",
	"bell\a",
	"del\x7f",
	"emoji \xf0\x9f\x98\x80",
	"tag \xf3\xa0\x80\x81",
	"{target: /etc, private: true}",
	", private: true}",
	"trailing ",
	"{a,b}",
};

/* Each line is one that the text is made of, and nothing in it is invisible. */
static void looks_as_it_is(const char *text) {
	static const char *const fronts[] = {
		"# ",         "#   ",      "version: 1",     "profiles:",    "  default:",
		"    allow:", "    deny:", "      fs:read:", "        - \"", "        # NOT ALLOWED YET"};
	CLEANUP_FREE char *copy = string_copy(text);
	char *rest = NULL;
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool known = false;
		for (size_t i = 0; i < ARRAY_LENGTH(fronts); i++) known = known || string_starts(line, fronts[i]);
		if (!known) print_error("line: %s\n", line);
		assert_true(known);
		for (size_t size = strlen(line), step; size > 0; line += step, size -= step) {
			uint32_t point = 0;
			step = text_point(line, size, &point);
			assert_true(step > 0 && text_point_is_visible(point));
		}
	}
}

static size_t user_rules(const struct ruleset *ruleset) {
	size_t count, users = 0;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++) users += rules[i].layer == POLICY_LAYER_USER;
	return users;
}

static void attack_names_of_files_add_no_rule_and_no_comment(void **state) {
	(void)state;
	static const char *const folders[] = {HOME, HOME "/d", PROJECT, "/srv"};
	for (size_t f = 0; f < ARRAY_LENGTH(folders); f++) {
		for (size_t i = 0; i < ARRAY_LENGTH(hostile); i++) {
			for (int basis = 0; basis < 3; basis++) {
				struct story story;
				story_begin(&story);
				CLEANUP_FREE char *path = string_format("%s/%s", folders[f], hostile[i]);
				CLEANUP_FREE char *pattern = NULL;
				const struct permission permission = permission_of(PERMISSION_FS_READ);
				pattern = pattern_quote(&permission, path);
				if (basis == 0)
					answered(&story, "fs:read", path, pattern, EFFECT_ALLOW, LIFETIME_ALWAYS);
				else if (basis == 1)
					recorded(&story, "fs:read", path);
				else
					denied_once(&story, "fs:read", path);
				CLEANUP_FREE char *text = suggested(&story);
				looks_as_it_is(text);
				if (strstr(text, "version: 1\n")) {
					CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, "default", PROJECT);
					assert_int_equal(user_rules(ruleset), 1);
					assert_int_equal(effect_in(ruleset, "fs:read", path),
							 basis == 2 ? EFFECT_DENY : EFFECT_ALLOW);
					CLEANUP_FREE char *neighbour = string_format("%s/neighbour", folders[f]);
					CLEANUP_RULESET struct ruleset *before = rules_of(NULL, "default", PROJECT);
					assert_int_equal(effect_in(ruleset, "fs:read", neighbour),
							 effect_in(before, "fs:read", neighbour));
				} else {
					/* in the project every name is allowed already */
					assert_true(strcmp(folders[f], PROJECT) == 0);
				}
				story_end(&story);
			}
		}
	}
}

static void attack_a_project_s_name_stays_in_its_comment(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	story.project = HOME "/evil\n    deny: {}\n# \xe2\x80\xae allowed always";
	answered(&story, "fs:read", HOME "/x", HOME "/x", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested(&story);
	looks_as_it_is(text);
	CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, "default", PROJECT);
	assert_int_equal(user_rules(ruleset), 1);
	story_end(&story);
}

static void bytes_that_are_no_text_are_a_note(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	recorded(&story, "fs:read", HOME "/\xff\xfe");
	CLEANUP_FREE char *text = suggested(&story);
	looks_as_it_is(text);
	lacks(text, "profiles:");
	has(text, "\"/home/ada/\\\\xff\\\\xfe\" (in ~/app: asked 1 time, last 2026-11-18 11:06:41): a policy file "
		  "can't say it");
	story_end(&story);
}

static void custom_permissions_are_declared(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "db:access", "prod*\n", "prod\\*\n", EFFECT_ALLOW, LIFETIME_ALWAYS);
	static const char policy[] = "version: 1\npermissions: {\"db:access\": \"use the database\"}\nprofiles:\n"
				     "  default:\n    ask:\n      db:access: [\"*\"]\n";
	CLEANUP_FREE char *text = suggested_under(&story, policy);
	has(text, "permissions: # leave out what your file declares already\n  db:access: \"db:access\"\n");
	has(text, "      db:access:\n        - \"prod\\\\*\\x0A\" #");
	CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, "default", PROJECT);
	assert_int_equal(effect_in(ruleset, "db:access", "prod*\n"), EFFECT_ALLOW);
	assert_int_equal(effect_in(ruleset, "db:access", "prodx\n"), EFFECT_DENY);
	story_end(&story);
}

static void names_of_profiles_that_yaml_takes_for_something_else_are_quoted(void **state) {
	(void)state;
	static const char *const profiles[] = {"on", "1.5", "0x1", "null", "a.b", "007", "~x", "-", "no"};
	for (size_t i = 0; i < ARRAY_LENGTH(profiles); i++) {
		struct story story;
		CLEANUP_STRINGS struct strings errors = {0};
		CLEANUP_FREE char *policy =
			string_format("version: 1\nprofiles:\n  \"%s\": {extends: [base]}\n", profiles[i]);
		struct policy_document *document =
			policy_load(POLICY_LAYER_USER, "policy.yaml", policy, strlen(policy), &errors);
		if (!document) continue; /* no profile can be called so */
		policy_document_unref(document);
		story_begin(&story);
		story.profile = profiles[i];
		answered(&story, "fs:read", HOME "/x", HOME "/x", EFFECT_ALLOW, LIFETIME_ALWAYS);
		CLEANUP_FREE char *text = suggested_under(&story, policy);
		CLEANUP_RULESET struct ruleset *ruleset = rules_of(text, profiles[i], PROJECT);
		assert_int_equal(user_rules(ruleset), 1);
		story_end(&story);
	}
}

/* However much was asked: denials stay, of allows the newest. */
static void much_is_cut_and_counted(void **state) {
	(void)state;
	struct story story;
	story_begin(&story);
	answered(&story, "fs:read", HOME "/d/x", HOME "/d/x", EFFECT_DENY, LIFETIME_ALWAYS);
	for (int i = 0; i < LIMIT_SUGGEST_ASKED * 3; i++) {
		CLEANUP_FREE char *target = string_format("h%d.example:443", i);
		recorded(&story, "net:access", target);
	}
	answered(&story, "fs:read", HOME "/d/y", HOME "/d", EFFECT_ALLOW, LIFETIME_ALWAYS);
	CLEANUP_FREE char *text = suggested(&story);
	size_t lines = 0;
	for (const char *p = text; (p = strstr(p, "\n        - ")); p++) lines++;
	assert_int_equal(lines, LIMIT_SUGGESTIONS + 1);
	has(text, "- \"~/d\" #");
	has(text, "- \"~/d/x\" #");
	lacks(text, "\"h1.example");
	has(text, "h3071.example:443");
	has(text, "# And 2873 more;");
	story_end(&story);
}

/* The property: what a suggestion allows was asked and allowed, or lies in what was; nothing else becomes allowed. */

static uint32_t dice_state;
static uint32_t dice(uint32_t sides) {
	dice_state = dice_state * 1664525U + 1013904223U;
	return (dice_state >> 8) % sides;
}

static char *some_path(void) {
	static const char *const tops[] = {HOME, HOME, PROJECT, OTHER, "/srv/data"};
	static const char *const names[] = {"a",      "b",   ".config", "c d",    "x*",
					    ".npmrc", "sub", ".git",    "config", ".ssh"};
	struct string path = {0};
	string_append(&path, tops[dice(ARRAY_LENGTH(tops))]);
	for (uint32_t i = 1 + dice(3); i > 0; i--) string_appendf(&path, "/%s", names[dice(ARRAY_LENGTH(names))]);
	return string_steal(&path);
}

static char *some_host(void) {
	static const char *const hosts[] = {"a.example",   "b.example", "x.b.example",
					    "y.b.example", "10.0.0.1",  "localhost"};
	static const char *const ports[] = {"443", "80", "8080"};
	return string_format("%s:%s", hosts[dice(ARRAY_LENGTH(hosts))], ports[dice(ARRAY_LENGTH(ports))]);
}

static char *widened(const struct permission *permission, const char *target) {
	CLEANUP_FREE char *quoted = pattern_quote(permission, target);
	if (permission->kind == PERMISSION_NET_ACCESS) {
		char *colon = strrchr(quoted, ':');
		if (dice(3) != 0 || string_starts(quoted, "localhost")) return STEAL(quoted);
		*colon = '\0';
		const char *dot = strchr(quoted, '.');
		bool domain = dot && strchr(dot + 1, '.') && quoted[0] > '9' && dice(2) == 0;
		return domain ? string_format("*%s", dot) : STEAL(quoted);
	}
	if (dice(3) == 0) *strrchr(quoted, '/') = '\0';
	return STEAL(quoted);
}

static bool grants_cover(const struct story *story, const struct permission *permission, const char *target) {
	static const struct pattern_scope nothing = {0};
	for (size_t i = 0; i < story->grant_count; i++) {
		const struct grant *grant = &story->grants[i];
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		bool fits = permission_equal(&grant->permission, permission) ||
			    (grant->permission.kind == PERMISSION_FS_WRITE && permission->kind == PERMISSION_FS_READ);
		if (!fits || grant->effect != EFFECT_ALLOW || grant->lifetime == LIFETIME_ONCE) continue;
		assert_int_equal(pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL), 0);
		if (pattern_match(pattern, target, NULL)) return true;
	}
	return false;
}

static void some_answers(struct story *story) {
	static const char *const words[] = {"fs:read", "fs:write", "net:access"};
	static const enum lifetime lifetimes[] = {LIFETIME_ALWAYS, LIFETIME_UNTIL, LIFETIME_ONCE, LIFETIME_SESSION};
	CLEANUP_RULESET struct ruleset *ruleset = rules_of(NULL, "default", PROJECT);
	for (uint32_t i = 3 + dice(12); i > 0; i--) {
		struct permission permission;
		const char *word = words[dice(ARRAY_LENGTH(words))];
		assert_int_equal(permission_parse(word, &permission, NULL), 0);
		CLEANUP_FREE char *target = permission.kind == PERMISSION_NET_ACCESS ? some_host() : some_path();
		CLEANUP_FREE char *pattern = widened(&permission, target);
		/* Only what rules ask about comes before a user. */
		if (effect_in(ruleset, word, target) != EFFECT_ASK) continue;
		if (dice(5) == 0)
			denied_once(story, word, target);
		else
			answered(story, word, target, pattern, dice(6) == 0 ? EFFECT_DENY : EFFECT_ALLOW,
				 lifetimes[dice(ARRAY_LENGTH(lifetimes))]);
	}
}

static void a_rule_allows_what_was_asked_and_nothing_that_no_grant_did(void **state) {
	(void)state;
	static const char *const words[] = {"fs:read", "fs:write", "net:access"};
	const uint32_t rounds = (uint32_t)random_cases(300, 1500);
	size_t suggestions = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		struct story story;
		dice_state = round * 7919;
		story_begin(&story);
		some_answers(&story);
		CLEANUP_FREE char *text = suggested(&story);
		bool any = strstr(text, "version: 1\n");
		CLEANUP_RULESET struct ruleset *before = rules_of(NULL, "default", PROJECT);
		CLEANUP_RULESET struct ruleset *after = rules_of(any ? text : NULL, "default", PROJECT);
		size_t count;
		const struct suggestion *items = suggest_items(story.suggest, &count);
		for (size_t i = 0; i < count; i++) {
			if (!suggestion_is_rule(&items[i]) || items[i].effect != EFFECT_ALLOW) continue;
			suggestions++;
			assert_true(pattern_match(items[i].compiled, items[i].target, NULL));
		}
		for (int i = 0; i < 200; i++) {
			const char *word = words[dice(ARRAY_LENGTH(words))];
			struct permission permission;
			assert_int_equal(permission_parse(word, &permission, NULL), 0);
			CLEANUP_FREE char *target =
				permission.kind == PERMISSION_NET_ACCESS ? some_host() : some_path();
			if (effect_in(after, word, target) != EFFECT_ALLOW ||
			    effect_in(before, word, target) == EFFECT_ALLOW)
				continue;
			bool covered = grants_cover(&story, &permission, target);
			/* What a rule denies no grant allows. */
			if (!covered || effect_in(before, word, target) == EFFECT_DENY)
				print_error("round %u: %s %s became allowed\n%s\n", round, word, target, text);
			assert_true(covered && effect_in(before, word, target) == EFFECT_ASK);
		}
		story_end(&story);
	}
	assert_true(suggestions > rounds);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_becomes_a_file),
		cmocka_unit_test(what_a_rule_says_by_now_is_left_out),
		cmocka_unit_test(the_last_answer_counts),
		cmocka_unit_test(what_another_rule_covers_is_said_once),
		cmocka_unit_test(projects_share_a_line_and_a_denial_in_one_speaks_for_all),
		cmocka_unit_test(record_s_candidates_stand_under_a_heading),
		cmocka_unit_test(a_question_at_the_start_has_its_pattern),
		cmocka_unit_test(without_record_nothing_is_a_candidate),
		cmocka_unit_test(masks_and_sensitive_places_are_never_suggested),
		cmocka_unit_test(a_mask_that_is_only_asked_about_is_one),
		cmocka_unit_test(denials_in_a_granted_folder_are_repeated),
		cmocka_unit_test(what_a_terminal_alone_may_allow_is_a_note_however_long_it_was_allowed),
		cmocka_unit_test(what_a_terminal_confirms_in_a_granted_folder_is_not_lifted),
		cmocka_unit_test(a_denial_for_once_takes_nothing_that_rules_allow),
		cmocka_unit_test(an_address_of_a_name_stays_private_where_the_question_said_so),
		cmocka_unit_test(not_all_of_a_domain_is_private_where_a_part_is),
		cmocka_unit_test(attack_names_of_files_add_no_rule_and_no_comment),
		cmocka_unit_test(attack_a_project_s_name_stays_in_its_comment),
		cmocka_unit_test(bytes_that_are_no_text_are_a_note),
		cmocka_unit_test(custom_permissions_are_declared),
		cmocka_unit_test(names_of_profiles_that_yaml_takes_for_something_else_are_quoted),
		cmocka_unit_test(much_is_cut_and_counted),
		cmocka_unit_test(a_rule_allows_what_was_asked_and_nothing_that_no_grant_did),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
