#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "support/cmocka.h"
#include "ui/words.h"

static int enter_a_directory(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	return chdir("/usr/lib");
}

static void a_relative_path_is_below_the_working_directory(void **state) {
	(void)state;
	static const struct {
		enum permission_kind kind;
		const char *text, *pattern;
	} cases[] = {
		{PERMISSION_FS_READ, "notes", "/usr/lib/notes"},
		{PERMISSION_FS_WRITE, "./a/../b/", "/usr/lib/b"},
		{PERMISSION_FS_READ, "..", "/usr"},
		{PERMISSION_FS_READ, "*.txt", "/usr/lib/*.txt"},
		{PERMISSION_FS_READ, "**/.env", "**/.env"},
		{PERMISSION_FS_READ, "~/x", "~/x"},
		{PERMISSION_FS_READ, "${project}/x", "${project}/x"},
		{PERMISSION_FS_READ, "/x", "/x"},
		{PERMISSION_IPC_CONNECT, "run/s.sock", "/usr/lib/run/s.sock"},
		{PERMISSION_PROC_SPAWN, "curl", "curl"},
		{PERMISSION_PROC_SPAWN, "./tool", "/usr/lib/tool"},
		{PERMISSION_NET_ACCESS, "a.test:443", "a.test:443"},
		{PERMISSION_ENV_READ, "LC_*", "LC_*"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission = permission_of(cases[i].kind);
		CLEANUP_FREE char *pattern = NULL;
		assert_int_equal(words_pattern(&permission, cases[i].text, &pattern, NULL), 0);
		assert_string_equal(pattern, cases[i].pattern);
	}
}

static void a_working_directory_with_wildcards_in_its_name_is_taken_literally(void **state) {
	(void)state;
	char name[] = "/var/tmp/sbx-[x]*-XXXXXX";
	char *directory = mkdtemp(name);
	assert_non_null(directory);
	assert_int_equal(chdir(directory), 0);
	struct permission permission = permission_of(PERMISSION_FS_READ);
	CLEANUP_FREE char *pattern = NULL;
	assert_int_equal(words_pattern(&permission, "f", &pattern, NULL), 0);
	assert_int_equal(chdir("/usr/lib"), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_true(string_starts(pattern, "/var/tmp/sbx-\\[x\\]\\*-") ||
		    string_starts(pattern, "/var/tmp/sbx-\\[x]\\*-"));
}

/* As /var/run/docker.sock, before Docker is started. */
static void a_socket_is_meant_where_it_lies_or_will_lie(void **state) {
	(void)state;
	char name[] = "/var/tmp/sbx-words-XXXXXX";
	CLEANUP_FREE char *base = mem_expect(realpath(mem_expect(mkdtemp(name)), NULL));
	CLEANUP_FREE char *link = path_join(base, "link"), *text = path_join(link, "not-yet.sock"),
			  *expected = string_format("%s/folder/not-yet.sock", base), *folder = path_parent(expected),
			  *nowhere = path_join(base, "nowhere/at-all.sock");
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink("folder", link), 0);
	const struct permission permission = permission_of(PERMISSION_IPC_CONNECT);
	CLEANUP_FREE char *target = NULL, *pattern = NULL, *same = NULL;
	assert_int_equal(words_target(&permission, text, &target, NULL), 0);
	assert_int_equal(words_pattern(&permission, text, &pattern, NULL), 0);
	assert_int_equal(words_target(&permission, nowhere, &same, NULL), 0);
	unlink(link);
	rmdir(folder);
	rmdir(base);
	assert_string_equal(target, expected);
	assert_string_equal(pattern, expected);
	assert_string_equal(same, nowhere);
}

static void the_texts_of_allow_and_deny_are_made_absolute_in_place(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings texts = {0};
	strings_add(&texts, "fs:read=x");
	strings_add(&texts, "net:access=a.test");
	assert_int_equal(words_patterns(&texts, NULL), 0);
	assert_string_equal(texts.items[0], "fs:read=/usr/lib/x");
	assert_string_equal(texts.items[1], "net:access=a.test");
}

static void a_target_is_canonical(void **state) {
	(void)state;
	struct permission read = permission_of(PERMISSION_FS_READ), net = permission_of(PERMISSION_NET_ACCESS);
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *host = NULL;
	char *none = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(words_target(&read, "~/a/./b", &path, NULL), 0);
	assert_string_equal(path, "/home/ada/a/b");
	assert_int_equal(words_target(&net, "Svc.TEST.:443", &host, NULL), 0);
	assert_string_equal(host, "svc.test:443");
	assert_int_equal(words_target(&net, "svc.test", &none, &error), -EINVAL);
}

static void the_project_is_asked_for_where_it_would_be_everything(void **state) {
	(void)state;
	char *project = NULL;
	assert_int_equal(chdir("/"), 0);
	assert_true(words_project(NULL, &project, NULL) < 0);
	assert_int_equal(words_project("/usr/lib", &project, NULL), 0);
	assert_string_equal(project, "/usr/lib");
	free(project);
	assert_int_equal(chdir("/usr/lib"), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_is_below_the_working_directory),
		cmocka_unit_test(a_working_directory_with_wildcards_in_its_name_is_taken_literally),
		cmocka_unit_test(a_socket_is_meant_where_it_lies_or_will_lie),
		cmocka_unit_test(the_texts_of_allow_and_deny_are_made_absolute_in_place),
		cmocka_unit_test(a_target_is_canonical),
		cmocka_unit_test(the_project_is_asked_for_where_it_would_be_everything),
	};
	return cmocka_run_group_tests(tests, enter_a_directory, NULL);
}
