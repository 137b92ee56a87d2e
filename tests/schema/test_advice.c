#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "schema/advice.h"
#include "support/cmocka.h"

static char rule[] = "policy\x1b.yaml:7", builtin[] = "built-in/base.yaml:18";

static void each_denial_has_its_own_advice(void **state) {
	(void)state;
	static const struct {
		const char *module, *target;
		char *rule;
		int64_t grant;
		bool this_run;
		const char *advice; /* NULL = none */
	} cases[] = {
		{"none", "a.test:80", NULL, 0, false, "allow with: sbx grant net:access a.test:80 --profile p"},
		{"ask", "[2001:db8::1]:80", NULL, 0, false,
		 "allow with: sbx grant net:access '[2001:db8::1]:80' --profile p"},
		{"ask", "a.test:80", NULL, 4, false, "end that with: sbx revoke 4"},
		{"grants", "a.test:80", NULL, 7, false, "end that with: sbx revoke 7"},
		{"grants", "a.test:80", NULL, 7, true, "it was denied for this run alone"},
		{"ask", "a.test:80", NULL, 4, true, "it was denied for this run alone"},
		{"grants", "a.test:80", NULL, 0, false, "allow with: sbx grant net:access a.test:80 --profile p"},
		{"rules", "a.test:80", rule, 0, false,
		 "the rule at policy\\x1b.yaml:7 forbids it; grants can't override deny rules"},
		{"rules", "a.test:80", builtin, 0, false,
		 "the rule at built-in/base.yaml:18 forbids it; grants can't override deny rules; to lift it, allow it "
		 "in "
		 "~/.config/sbx/policy.yaml"},
		{"rules", "a.test:80", NULL, 0, false, NULL},
		{"private", "a.test:80", NULL, 0, false,
		 "allow with this under `allow:` of the profile p in ~/.config/sbx/policy.yaml: "
		 "net:access: [{target: \"a.test:80\", private: true}]"},
		{"private", "10.0.0.5:443", NULL, 0, false,
		 "allow with: sbx grant net:access 10.0.0.5:443 --profile p"},
		{"private", "localhost:80", NULL, 0, false,
		 "allow with: sbx grant net:access localhost:80 --profile p"},
		{"broker", "a.test:80", NULL, 0, false, "'sbx doctor' says what is wrong with sbxd or its disk"},
		{"flood", "a.test:80", NULL, 0, false,
		 "answer what waits (sbx prompts), or allow with: sbx grant net:access a.test:80 --profile p"},
		{"exec", "a.test:80", NULL, 0, false,
		 "the administrator has a program decide this (/etc/sbx/sbx.yaml): ask them"},
		{"protect", "a.test:80", NULL, 0, false, NULL},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct verdict verdict = {
			.rule = cases[i].rule, .grant = cases[i].grant, .this_run = cases[i].this_run};
		snprintf(verdict.module, sizeof verdict.module, "%s", cases[i].module);
		const struct advice_about about = {"net:access", cases[i].target, "p", NULL};
		CLEANUP_FREE char *advice = advice_text(&verdict, &about);
		if (!cases[i].advice)
			assert_null(advice);
		else
			assert_string_equal(advice, cases[i].advice);
	}
}

static void a_grant_is_for_just_that_target_whatever_it_is_called(void **state) {
	(void)state;
	static const struct {
		struct advice_about about;
		enum effect effect;
		const char *command;
	} cases[] = {
		{{"fs:read", "/h/*", "p", NULL}, EFFECT_ALLOW, "sbx grant fs:read '/h/\\*' --profile p"},
		{{"fs:read", "/h/$(id)", "p", NULL}, EFFECT_ALLOW, "sbx grant fs:read '/h/\\$(id)' --profile p"},
		{{"fs:read", "/h/it's", "p", NULL}, EFFECT_ALLOW, "sbx grant fs:read '/h/it'\\''s' --profile p"},
		{{"fs:read", "/h/a\nb", "p", NULL}, EFFECT_ALLOW, "sbx grant fs:read $'/h/a\\012b' --profile p"},
		{{"fs:read", "/h/a\\[1]", "p", NULL},
		 EFFECT_ALLOW,
		 "sbx grant fs:read '/h/a'\\\\''\\\\'\\[1]' --profile p"},
		{{"db:access", "--once", "p", NULL}, EFFECT_ALLOW, "sbx grant db:access=--once --profile p"},
		{{"fs:write", "/h/x", "p", "/h/my app"},
		 EFFECT_DENY,
		 "sbx grant fs:write /h/x --profile p --project '/h/my app' --deny"},
		{{"net:access", "[::1]:80", "p q", NULL},
		 EFFECT_ALLOW,
		 "sbx grant net:access '[::1]:80' --profile 'p q'"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *command = advice_grant(&cases[i].about, cases[i].effect);
		assert_string_equal(command, cases[i].command);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_denial_has_its_own_advice),
		cmocka_unit_test(a_grant_is_for_just_that_target_whatever_it_is_called),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
