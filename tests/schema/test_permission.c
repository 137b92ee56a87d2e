#include <string.h>

#include "base/memory.h"
#include "schema/permission.h"
#include "support/cmocka.h"

static void words(void **state) {
	(void)state;
	struct permission permission;
	for (int kind = 0; kind < PERMISSION_CUSTOM; kind++) {
		struct permission builtin = permission_of((enum permission_kind)kind);
		assert_int_equal(permission_parse(builtin.name, &permission, NULL), 0);
		assert_int_equal(permission.kind, kind);
		CLEANUP_FREE char *sentence = permission_sentence(&builtin, NULL, "<100%s>");
		assert_non_null(strstr(sentence, "<100%s>"));
	}
	assert_int_equal(permission_parse("db:access", &permission, NULL), 0);
	assert_int_equal(permission.kind, PERMISSION_CUSTOM);

	CLEANUP_FREE char *described = permission_sentence(&permission, "use the database", "prod");
	assert_string_equal(described, "use the database: prod");
	CLEANUP_FREE char *alone = permission_sentence(&permission, "use the database", "");
	assert_string_equal(alone, "use the database");
	const struct permission listen = permission_of(PERMISSION_NET_LISTEN);
	CLEANUP_FREE char *port = permission_sentence(&listen, NULL, "3000");
	assert_string_equal(port, "make port 3000 of the sandbox reachable at http://127.0.0.1:3000");
	CLEANUP_FREE char *some_port = permission_sentence(&listen, NULL, "");
	assert_string_equal(some_port, "make a port of the sandbox reachable on this machine");
	assert_int_equal(permission_parse("sbx:ask", &permission, NULL), 0);
	const struct permission ask = permission_ask();
	assert_true(permission_equal(&permission, &ask));

	static const char *const bad[] = {
		"",        ":",        "fs",
		"fs:",     "fs:raed",  "env:write",
		"sbx:run", "sbx:asks", ":read",
		"FS:read", "fs:re ad", "a:b:c",
		"-a:b",    "a:1",      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:b"};
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct error error = ERROR_NONE;
		assert_true(permission_parse(bad[i], &permission, &error) < 0);
		assert_non_null(strstr(error.message, "expected fs:read"));
	}
}

static void one_word_form(void **state) {
	(void)state;
	struct permission permission;
	const char *target = NULL;
	assert_int_equal(permission_split("env:read=A=B", &permission, &target, NULL), 0);
	assert_string_equal(target, "A=B");
	assert_true(permission_split("fs:read", &permission, &target, NULL) < 0);
	assert_true(permission_split("nope=x", &permission, &target, NULL) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(one_word_form)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
