/* How far an answer may reach. */
#include <string.h>

#include "base/memory.h"
#include "prompts/scope.h"
#include "support/cmocka.h"

static void offers_within(const char *name, const char *target, bool replaced, size_t depth, const char *expected) {
	struct permission permission;
	CLEANUP_STRINGS struct strings scopes = {0};
	CLEANUP_STRING struct string list = {0};
	assert_int_equal(permission_parse(name, &permission, NULL), 0);
	const struct scope_bounds bounds = {.home = "/home/u", .depth = depth, .replaced = replaced};
	scopes_offered(&permission, target, &bounds, &scopes);
	for (size_t i = 0; i < scopes.count; i++) string_appendf(&list, "%s%s", i ? " " : "", scopes.items[i]);
	assert_string_equal(list.data, expected);
}

static void offers_for(const char *name, const char *target, bool replaced, const char *expected) {
	offers_within(name, target, replaced, 0, expected);
}

static void offers(const char *name, const char *target, const char *expected) {
	offers_for(name, target, false, expected);
}

static void a_file_that_is_replaced_has_its_folder_first(void **state) {
	(void)state;
	offers_for("fs:write", "/home/u/src/a/b.c", true, "folder exact /home/u/src /home/u");
	offers_for("fs:write", "/home/u/.config/tool/settings", true, "folder exact /home/u/.config /home/u");
	offers_for("fs:write", "/srv/a/b", true, "folder exact");
	offers_for("fs:write", "/srv/b", true, "exact");
	/* Where everybody's files are: not by default. */
	offers_for("fs:write", "/home/u/notes.txt", true, "exact folder");
	offers_for("fs:write", "/home/u/.config/user-dirs.dirs", true, "exact folder /home/u");
	offers_for("fs:write", "/home/u/.local/share/x", true, "exact folder /home/u/.local /home/u");
}

static void no_folder_above_what_must_be_lifted_is_offered(void **state) {
	(void)state;
	offers_within("fs:write", "/home/u/src/.git/config", false, 5, "exact");
	offers_within("fs:write", "/home/u/src/.git/hooks/a", true, 5, "folder exact");
	offers_within("fs:read", "/home/u/.ssh/keys/a", false, 3, "exact folder /home/u/.ssh");
}

static void what_is_offered(void **state) {
	(void)state;
	offers("fs:read", "/home/u/src/a/b.c", "exact folder /home/u/src /home/u");
	offers("fs:read", "/home/u/.npmrc", "exact folder");
	offers("fs:read", "/home/u", "exact");
	offers("fs:write", "/home/v/x", "exact folder");
	offers("fs:write", "/srv/x", "exact");
	offers("fs:write", "/srv/a/b/c", "exact folder /srv/a");
	offers("fs:read", "/", "exact");
	offers("net:access", "svc.test:443", "exact host");
	offers("net:access", "a.svc.test:443", "exact host domain");
	offers("net:access", "shop.co.uk:443", "exact host");
	offers("net:access", "a.shop.co.uk:443", "exact host domain");
	offers("net:access", "10.0.0.1:443", "exact host");
	offers("net:access", "[2001:db8::1]:443", "exact host");
	offers("net:access", "localhost:5432", "exact");
	offers("net:access", "com:443", "exact host");
	offers("proc:spawn", "/usr/bin/curl", "exact");
	offers("fs:link", "/home/u/notes", "exact");
	offers("ipc:connect", "/run/docker.sock", "exact");
	offers("env:read", "TOKEN", "exact");
	offers("db:access", "prod/users", "exact");
}

static void many_folders_are_cut(void **state) {
	(void)state;
	struct permission permission = permission_of(PERMISSION_FS_READ);
	CLEANUP_STRINGS struct strings scopes = {0};
	CLEANUP_STRING struct string target = {0};
	for (int i = 0; i < 1000; i++) string_append(&target, "/d");
	const struct scope_bounds bounds = {.home = "/home/u"};
	scopes_offered(&permission, target.data, &bounds, &scopes);
	assert_int_equal(scopes.count, LIMIT_SCOPES);
}

static void means(const char *name, const char *target, const char *scope, const char *expected) {
	struct permission permission;
	CLEANUP_STRINGS struct strings scopes = {0};
	CLEANUP_FREE char *pattern = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(permission_parse(name, &permission, NULL), 0);
	const struct scope_bounds bounds = {.home = "/home/u"};
	scopes_offered(&permission, target, &bounds, &scopes);
	int r = scope_pattern(&permission, target, &scopes, scope, &pattern, &error);
	if (!expected) {
		assert_true(r < 0);
		assert_non_null(strstr(error.message, "it offers exact"));
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(pattern, expected);
}

static void what_a_scope_means(void **state) {
	(void)state;
	means("fs:read", "/home/u/src/a/b.c", "exact", "/home/u/src/a/b.c");
	means("fs:read", "/home/u/src/a[1]/*.c", "exact", "/home/u/src/a\\[1]/\\*.c");
	means("fs:read", "/home/u/src/a[1]/*.c", "folder", "/home/u/src/a\\[1]");
	means("fs:read", "/home/u/src/a/b.c", "/home/u/src", "/home/u/src");
	means("fs:read", "/home/u/src/a/b.c", "/home/u/src/a/b.c", "/home/u/src/a/b.c");
	means("fs:read", "/home/u/src/a/b.c", "/home", NULL);
	means("fs:read", "/home/u/src/a/b.c", "/", NULL);
	means("fs:read", "/home/u/src/a/b.c", "/etc", NULL);
	means("fs:read", "/home/u/src/a/b.c", "domain", NULL);
	means("net:access", "a.svc.test:443", "exact", "a.svc.test:443");
	means("net:access", "a.svc.test:443", "host", "a.svc.test");
	means("net:access", "a.svc.test:443", "domain", "*.svc.test");
	means("net:access", "[2001:db8::1]:443", "host", "[2001:db8::1]");
	means("net:access", "svc.test:443", "domain", NULL);
	means("net:access", "svc.test:443", "folder", NULL);
	means("env:read", "TOKEN", "*", NULL);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_offered),
		cmocka_unit_test(no_folder_above_what_must_be_lifted_is_offered),
		cmocka_unit_test(a_file_that_is_replaced_has_its_folder_first),
		cmocka_unit_test(many_folders_are_cut),
		cmocka_unit_test(what_a_scope_means),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
