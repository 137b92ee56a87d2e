#include <string.h>

#include "base/string.h"
#include "schema/event.h"
#include "schema/grant.h"
#include "schema/prompt.h"
#include "schema/session.h"
#include "support/cmocka.h"

static struct grant sample(void) {
	struct grant grant = {.id = 7,
			      .permission = permission_of(PERMISSION_FS_READ),
			      .pattern = string_copy("/home/u/\xff\n"),
			      .effect = EFFECT_ALLOW,
			      .project = string_copy("/p"),
			      .lifetime = LIFETIME_UNTIL,
			      .created_ms = 1000,
			      .expires_ms = 10000,
			      .expires_boot_ms = 500,
			      .origin = GRANT_ORIGIN_PROMPT};
	memcpy(grant.boot_id, "boot-a", 7);
	return grant;
}

static void grants_travel_as_json(void **state) {
	(void)state;
	CLEANUP_GRANT struct grant grant = sample();
	CLEANUP_GRANT struct grant back = {0};
	CLEANUP_GRANT struct grant copy = {0};
	json_t *json = grant_to_json(&grant);
	static const char *const keys[] = {"id",      "permission", "pattern",   "effect",  "profile", "project",
					   "session", "lifetime",   "created",   "expires", "origin",  "prompt",
					   "reason",  "uses",       "last_used", "revoked", "resolved"};
	assert_int_equal(json_object_size(json), ARRAY_LENGTH(keys));
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) assert_non_null(json_object_get(json, keys[i]));
	assert_true(json_is_null(json_object_get(json, "profile")));
	assert_string_equal(json_string_value(json_object_get(json, "expires")), "1970-01-01T00:00:10.000Z");
	struct error error = ERROR_NONE;
	assert_int_equal(grant_from_json(json, &back, &error), 0);
	assert_string_equal(back.pattern, grant.pattern);
	assert_null(back.profile);
	assert_int_equal(back.expires_ms, 10000);
	grant_copy(&copy, &grant);
	assert_string_equal(copy.project, "/p");
	assert_ptr_not_equal(copy.project, grant.project);
	json_decref(json);
}

static void wrong_records_are_refused(void **state) {
	(void)state;
	static const struct {
		const char *key, *value;
	} faults[] = {{"id", "-1"},          {"id", "\"7\""},        {"permission", "null"}, {"permission", "\"nope\""},
		      {"effect", "\"yes\""}, {"created", "\"now\""}, {"pattern", "7"},       {"uses", "null"},
		      {"colour", "1"}};
	for (size_t i = 0; i < ARRAY_LENGTH(faults); i++) {
		CLEANUP_GRANT struct grant grant = sample();
		CLEANUP_GRANT struct grant back = {0};
		json_t *json = grant_to_json(&grant);
		json_object_set_new(json, faults[i].key, json_loads(faults[i].value, JSON_DECODE_ANY, NULL));
		struct error error = ERROR_NONE;
		assert_true(grant_from_json(json, &back, &error) < 0);
		assert_non_null(strstr(error.message, faults[i].key));
		assert_null(back.pattern);
		json_decref(json);
	}
}

static void attack_b15_either_clock_ends_a_grant(void **state) {
	(void)state;
	CLEANUP_GRANT struct grant grant = sample();
	static const struct {
		int64_t wall, boot;
		const char *id;
		bool ended;
	} cases[] = {
		{9999, 499, "boot-a", false},  {10000, 1, "boot-a", true}, {1, 500, "boot-a", true}, /* wall set back */
		{9999, 9999, "boot-b", false}, {10000, 1, "boot-b", true},                           /* another boot */
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct moment now = {.wall_ms = cases[i].wall, .boot_ms = cases[i].boot};
		memcpy(now.boot_id, cases[i].id, strlen(cases[i].id) + 1);
		assert_int_equal(grant_has_expired(&grant, &now), cases[i].ended);
	}
	grant.lifetime = LIFETIME_ALWAYS;
	struct moment far = {.wall_ms = INT64_MAX, .boot_ms = INT64_MAX};
	assert_false(grant_has_expired(&grant, &far));
}

static void a_verdict_without_effect_denies(void **state) {
	(void)state;
	static const char *const texts[] = {"{}", "{\"effect\": null}", "{\"effect\": \"ask\"}",
					    "{\"effect\": \"deny\"}"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP_VERDICT struct verdict verdict = {.effect = EFFECT_ALLOW};
		json_t *json = json_loads(texts[i], 0, NULL);
		if (verdict_from_json(json, &verdict, NULL) == 0) assert_int_equal(verdict.effect, EFFECT_DENY);
		json_decref(json);
	}
}

static void the_other_records_have_their_keys(void **state) {
	(void)state;
	struct prompt prompt = {.id = 2,
				.bundle = 1,
				.permission = permission_of(PERMISSION_NET_ACCESS),
				.target = string_copy("a:1"),
				.desktop = true};
	strings_add(&prompt.parents, "sh (2)");
	json_t *json = prompt_to_json(&prompt);
	assert_int_equal(json_object_size(json), 21);
	assert_null(json_object_get(json, "token"));
	struct prompt back = {0};
	memcpy(prompt.token, "0123456789abcdef0123456789abcdef", RANDOM_TOKEN_SIZE);
	json_decref(json);
	json = prompt_to_json(&prompt);
	assert_int_equal(prompt_from_json(json, &back, NULL), 0);
	assert_string_equal(back.token, prompt.token);
	assert_string_equal(back.parents.items[0], "sh (2)");
	assert_int_equal(back.bundle, 1);
	assert_true(back.desktop);
	json_decref(json);
	prompt_finish(&prompt);
	prompt_finish(&back);

	struct session_record session = {.id = 3, .exit = SESSION_RUNNING};
	json = session_record_to_json(&session);
	assert_int_equal(json_object_size(json), 9);
	assert_true(json_is_null(json_object_get(json, "exit")));
	json_decref(json);

	struct event event = {.seq = 1, .time_ms = 5, .kind = EVENT_SESSION_END, .verdict = -1};
	json = event_to_json(&event);
	assert_int_equal(json_object_size(json), 15);
	assert_string_equal(json_string_value(json_object_get(json, "kind")), "session-end");
	assert_true(json_is_null(json_object_get(json, "verdict")));
	json_decref(json);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grants_travel_as_json),
		cmocka_unit_test(wrong_records_are_refused),
		cmocka_unit_test(attack_b15_either_clock_ends_a_grant),
		cmocka_unit_test(a_verdict_without_effect_denies),
		cmocka_unit_test(the_other_records_have_their_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
