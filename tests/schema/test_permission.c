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
		const struct permission_traits *traits = permission_traits(&builtin);
		assert_true(traits->what && traits->gives && traits->lists);
		CLEANUP_FREE char *names = permission_names();
		assert_non_null(strstr(names, builtin.name));
	}
	const struct permission write = permission_of(PERMISSION_FS_WRITE), read = permission_of(PERMISSION_FS_READ);
	CLEANUP_FREE char *both = permission_sentence(&write, NULL, "/x");
	assert_string_equal(both, "read and write /x");
	CLEANUP_FREE char *denied = permission_denial(&write, "/x");
	assert_string_equal(denied, "write to /x");
	CLEANUP_FREE char *unread = permission_denial(&read, "/x");
	assert_string_equal(unread, "read /x");
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

static void kinds_of_target(void **state) {
	(void)state;
	static const struct {
		enum permission_kind kind;
		bool files, place, path, net;
	} known[] = {
		{PERMISSION_FS_READ, true, true, true, false},      {PERMISSION_FS_WRITE, true, true, true, false},
		{PERMISSION_FS_LINK, false, true, true, false},     {PERMISSION_CUSTOM, false, false, false, false},
		{PERMISSION_PROC_SPAWN, false, false, true, false}, {PERMISSION_IPC_CONNECT, false, true, true, false},
		{PERMISSION_NET_ACCESS, false, false, false, true}, {PERMISSION_NET_LISTEN, false, false, false, true},
		{PERMISSION_ENV_READ, false, false, false, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
		const struct permission permission = permission_of(known[i].kind);
		assert_int_equal(permission_is_of_files(&permission), known[i].files);
		assert_int_equal(permission_is_of_place(&permission), known[i].place);
		assert_int_equal(permission_is_of_path(&permission), known[i].path);
		assert_int_equal(permission_is_of_net(&permission), known[i].net);
	}
}

static void writing_includes_reading(void **state) {
	(void)state;
	const struct permission reads = permission_of(PERMISSION_FS_READ), writes = permission_of(PERMISSION_FS_WRITE);
	struct permission one, other;
	assert_true(permission_includes(&writes, &reads) && permission_includes(&reads, &reads));
	assert_false(permission_includes(&reads, &writes));
	permission_parse("db:access", &one, NULL);
	permission_parse("db:write", &other, NULL);
	assert_false(permission_includes(&one, &other));
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(kinds_of_target),
					   cmocka_unit_test(writing_includes_reading), cmocka_unit_test(one_word_form)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
