#include <string.h>

#include "base/memory.h"
#include "schema/target.h"
#include "support/cmocka.h"

static void same_thing_same_bytes(void **state) {
	(void)state;
	static const struct {
		const char *permission, *text, *target; /* NULL = refused */
	} cases[] = {
		{"fs:read", "notes", "/home/u/app/notes"},
		{"fs:read", "../x//y/", "/home/u/x/y"},
		{"fs:read", "~/x", "/home/u/x"},
		{"fs:read", "~", "/home/u"},
		{"fs:read", "~x", "/home/u/app/~x"},
		{"fs:write", "/a/\nb", "/a/\nb"},
		{"fs:write", "", NULL},
		{"net:access", "Example.org.:443", "example.org:443"},
		{"net:access", "[::1]:80", "[::1]:80"},
		{"net:access", "127.0.0.1:80", "localhost:80"},
		{"net:access", "[::ffff:10.0.0.1]:80", "10.0.0.1:80"},
		{"net:access", "[2001:DB8:0:0::1]:80", "[2001:db8::1]:80"},
		{"net:access", "example.org", NULL},
		{"net:access", "0x7f.1:80", NULL},
		{"net:access", "a%00b:80", NULL},
		{"net:listen", "3000", "3000"},
		{"net:listen", "03000", NULL},
		{"net:listen", "70000", NULL},
		{"env:read", "PATH", "PATH"},
		{"env:read", "A=b", NULL},
		{"db:access", "prod users", "prod users"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission;
		struct error error = ERROR_NONE;
		CLEANUP_FREE char *target = NULL;
		assert_int_equal(permission_parse(cases[i].permission, &permission, NULL), 0);
		int r = target_parse(&permission, cases[i].text, "/home/u/app", "/home/u", &target, &error);
		if ((r == 0) != (cases[i].target != NULL)) fail_msg("%s: %s", cases[i].text, error.message);
		if (r == 0) assert_string_equal(target, cases[i].target);
		if (r < 0) assert_non_null(strstr(error.message, cases[i].permission));
	}
}

static void attack_fs_14_too_long_is_an_error(void **state) {
	(void)state;
	struct permission permission = permission_of(PERMISSION_FS_READ);
	char text[LIMIT_TARGET + 2];
	for (size_t i = 0; i < sizeof text - 1; i++) text[i] = i % 50 == 0 ? '/' : 'a';
	text[sizeof text - 1] = '\0';
	char *target = NULL;
	assert_true(target_parse(&permission, text, NULL, NULL, &target, NULL) < 0);
	assert_null(target);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_thing_same_bytes),
					   cmocka_unit_test(attack_fs_14_too_long_is_an_error)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
