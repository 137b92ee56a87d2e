/*
 * Which files run when one is executed: real files, links and hostile ones.
 */
#include "hold/interpreters.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "support/cmocka.h"

static char *top;

static void put(const char *name, const char *bytes, size_t size) {
	CLEANUP_FREE char *path = path_join(top, name);
	assert_int_equal(file_write(path, bytes, size, 0755, NULL), 0);
}

static char *find(const char *path) {
	CLEANUP_STRINGS struct strings paths = {0};
	CLEANUP_STRING struct string text = {0};
	const struct lead first = {.thread = getpid(), .folder = AT_FDCWD};
	const int r = interpreters_find(&first, path, &paths);
	if (r != 0) string_appendf(&text, "%s%s", strerrorname_np(r), paths.count ? " " : "");
	for (size_t i = 0; i < paths.count; i++) {
		const bool own = path_is_below(paths.items[i], top);
		string_appendf(&text, "%s%s", i ? " " : "", paths.items[i] + (own ? strlen(top) + 1 : 0));
	}
	return string_steal(&text);
}

static void expect(const char *name, const char *expected) {
	CLEANUP_FREE char *path = path_join(top, name), *text = find(path);
	if (strcmp(text, expected) != 0) fail_msg("%s: '%s', not '%s'", name, text, expected);
}

static void scripts_and_links(void **state) {
	(void)state;
	CLEANUP_FREE char *inner_line = string_format("#!%s/plain -x\n", top);
	CLEANUP_FREE char *outer_line = string_format("#! \t%s/inner\n", top);
	CLEANUP_FREE char *loop_line = string_format("#!%s/loop", top);
	put("plain", "nothing", 7);
	put("inner", inner_line, strlen(inner_line));
	put("outer", outer_line, strlen(outer_line));
	put("loop", loop_line, strlen(loop_line));
	put("relative", "#!sh\n", 5);
	put("lost", "#!/nowhere/sh\n", 14);
	put("empty", "#!", 2);
	CLEANUP_FREE char *link = path_join(top, "link");
	assert_int_equal(symlink("outer", link), 0);
	expect("plain", "plain");
	expect("inner", "inner plain");
	expect("outer", "outer inner plain");
	expect("link", "link outer inner plain");
	expect("loop", "loop");
	expect("lost", "ENOENT lost");
	expect("relative", "ENOENT relative");
	expect("empty", "empty");
	expect("missing", "ENOENT");
	expect("plain/missing", "ENOTDIR");
	put("beside", "#!plain", 7);
	assert_int_equal(chdir(top), 0);
	expect("beside", "beside plain");
	assert_int_equal(chdir("/"), 0);
}

static void elf_programs_have_a_loader(void **state) {
	(void)state;
	CLEANUP_FREE char *text = find("/bin/sh");
	assert_true(string_starts(text, "/bin/sh /usr/bin/"));
	assert_non_null(strstr(text, "/ld-"));
}

static void what_is_no_file_is_not_opened(void **state) {
	(void)state;
	CLEANUP_FREE char *pipe = path_join(top, "pipe"), *folder = path_join(top, "folder"),
			  *null = path_join(top, "null");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink("/dev/null", null), 0);
	expect("pipe", "EACCES");
	expect("folder", "EACCES");
	expect("null", "EACCES");
}

static void what_may_not_be_executed_is_no_program(void **state) {
	(void)state;
	CLEANUP_FREE char *path = path_join(top, "text");
	put("text", "nothing", 7);
	assert_int_equal(chmod(path, 0644), 0);
	expect("text", "EACCES");
}

static void hostile_bytes(void **state) {
	(void)state;
	char bytes[4096];
	for (unsigned seed = 0; seed < 200; seed++) {
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (char)((seed * 2654435761U + i * 40503U) >> (i % 13));
		const char *begin = seed % 2 ? "\177ELF" : "#! /";
		for (size_t i = 0; i < 4; i++) bytes[i] = begin[i];
		put("hostile", bytes, 1 + seed % sizeof bytes);
		CLEANUP_FREE char *path = path_join(top, "hostile"), *text = find(path);
		assert_non_null(strstr(text, "hostile"));
	}
}

static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-interpreters.XXXXXX";
	assert_non_null(mkdtemp(name));
	top = realpath(name, NULL);
	return 0;
}

static int teardown(void **state) {
	static const char *const names[] = {"plain", "inner",  "outer", "loop",    "relative", "empty", "link",
					    "pipe",  "folder", "null",  "hostile", "beside",   "lost",  "text"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		CLEANUP_FREE char *path = path_join(top, names[i]);
		remove(path);
	}
	int r = rmdir(top);
	free(top);
	return r;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_and_links),
		cmocka_unit_test(elf_programs_have_a_loader),
		cmocka_unit_test(what_is_no_file_is_not_opened),
		cmocka_unit_test(what_may_not_be_executed_is_no_program),
		cmocka_unit_test(hostile_bytes),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
