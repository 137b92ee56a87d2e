/* Who walks through a tree, and who has only a folder open or named: real processes. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "hold/walking.h"
#include "support/cmocka.h"

static char top[PATH_MAX];

struct known {
	const char *listed; /* the one that somebody has listed */
	int64_t within_ms;  /* as was asked for last */
};

static bool is_listed(void *context, const char *folder, int64_t within_ms) {
	struct known *known = context;
	known->within_ms = within_ms;
	return string_equal(known->listed, folder);
}

static char *at(const char *name) {
	return string_format("%s%s", top, name);
}

struct process {
	pid_t pid;
	int ready, end;
};

/* A process that opens `opened` (or NULL) with `flags` and reads it if it is to, or runs sh with the words. */
static struct process process_start(const char *opened, int flags, bool reads, char *const *words) {
	int ready[2], end[2];
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	struct process process = {.pid = fork(), .ready = ready[0], .end = end[1]};
	if (process.pid == 0) {
		char byte;
		fd_close(ready[0]);
		fd_close(end[1]);
		if (words) {
			dup2(ready[1], STDOUT_FILENO);
			dup2(end[0], STDIN_FILENO);
			execv("/bin/sh", words);
			_exit(1);
		}
		int fd = opened ? open(opened, flags) : -1;
		DIR *stream = reads ? fdopendir(fd) : NULL;
		while (stream && readdir(stream)) {
		}
		if (reads && !stream && read(fd, &byte, 1) != 1) _exit(1);
		_exit(write(ready[1], "1", 1) == 1 && read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	char byte;
	fd_close(ready[1]);
	fd_close(end[0]);
	assert_int_equal(read(process.ready, &byte, 1), 1);
	return process;
}

static void process_end(struct process *process) {
	fd_close(process->ready);
	fd_close(process->end);
	assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
}

static void expect(const struct process *process, const char *target, const struct walking_world *world,
		   const char *expected) {
	CLEANUP_FREE char *path = at(target), *tree = walking_tree(process->pid, path, world);
	CLEANUP_FREE char *wanted = expected ? at(expected) : NULL;
	if (!string_equal(tree, wanted))
		fail_msg("%s: %s, not %s", path, tree ? tree : "none", wanted ? wanted : "none");
}

static void a_folder_that_is_open_and_was_read_is_walked_through(void **state) {
	(void)state;
	struct known known = {0};
	const struct walking_world world = {.context = &known, .listed = is_listed};
	CLEANUP_FREE char *folder = at("/a");
	struct process process = process_start(folder, O_RDONLY | O_DIRECTORY, true, NULL);
	expect(&process, "/a/b", &world, "/a");
	expect(&process, "/a/b/c", &world, "/a");
	expect(&process, "/a", &world, NULL); /* that is the target */
	expect(&process, "/ab", &world, NULL);
	process_end(&process);
}

static void one_that_was_never_read_is_not(void **state) {
	(void)state;
	struct known known = {0};
	const struct walking_world world = {.context = &known, .listed = is_listed};
	CLEANUP_FREE char *folder = at("/a");
	static const int ways[] = {O_RDONLY | O_DIRECTORY, O_PATH};
	for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
		struct process process = process_start(folder, ways[i], false, NULL);
		expect(&process, "/a/b", &world, NULL);
		process_end(&process);
	}
}

/* After its grant has ended its name may be that of a folder: "/". */
static void a_file_is_no_folder(void **state) {
	(void)state;
	struct known known = {0};
	const struct walking_world world = {.context = &known, .listed = is_listed};
	CLEANUP_FREE char *file = at("/file");
	CLEANUP_FD int made = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(made, "text", 4), 4);
	struct process process = process_start(file, O_RDONLY, true, NULL);
	expect(&process, "/file/b", &world, NULL);
	process_end(&process);
	assert_int_equal(unlink(file), 0);
}

static void one_that_is_named_and_was_listed_is_walked_through(void **state) {
	(void)state;
	CLEANUP_FREE char *folder = at("/a"), *deeper = at("/a/b");
	struct known known = {.listed = folder};
	const struct walking_world world = {.context = &known, .listed = is_listed};
	char *const named[] = {(char *)"sh", (char *)"-c", (char *)"echo 1; read end; :", (char *)"sh", deeper,
			       folder,       NULL};
	struct process process = process_start(NULL, 0, false, named);
	expect(&process, "/a/b/c", &world, "/a");
	assert_in_range(known.within_ms, 0, 30 * 1000);
	known.listed = deeper;
	expect(&process, "/a/b/c", &world, "/a/b");
	expect(&process, "/a/b", &world, NULL);
	known.listed = NULL; /* as of git -C */
	expect(&process, "/a/b/c", &world, NULL);
	process_end(&process);
	char *const relative[] = {
		(char *)"sh", (char *)"-c", (char *)"cd a; echo 1; read end; :", (char *)"sh", (char *)".", NULL};
	known.listed = folder;
	process = process_start(NULL, 0, false, relative);
	expect(&process, "/a/b", &world, "/a");
	process_end(&process);
	char *const other[] = {
		(char *)"sh", (char *)"-c", (char *)"cd a; echo 1; read end; :", (char *)"sh", (char *)"b", NULL};
	process = process_start(NULL, 0, false, other); /* cat ~/n*: the shell has listed it */
	expect(&process, "/a/b", &world, NULL);
	process_end(&process);
}

static void a_process_that_is_gone_walks_nowhere(void **state) {
	(void)state;
	struct known known = {.listed = top};
	const struct walking_world world = {.context = &known, .listed = is_listed};
	struct process process = process_start(NULL, 0, false, NULL);
	process_end(&process);
	expect(&process, "/a", &world, NULL);
}

static int make_folders(void **state) {
	(void)state;
	char *made = getcwd(top, sizeof top - 32);
	CLEANUP_FREE char *name = string_format("%s/walking-XXXXXX", made ? made : "/tmp");
	if (!mkdtemp(name) || chdir(name) < 0 || !getcwd(top, sizeof top)) return -1;
	return mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 ? 0 : -1;
}

static int remove_folders(void **state) {
	(void)state;
	return rmdir("a/b") == 0 && rmdir("a") == 0 && chdir("..") == 0 ? rmdir(top) : -1;
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_that_is_open_and_was_read_is_walked_through),
		cmocka_unit_test(one_that_was_never_read_is_not),
		cmocka_unit_test(a_file_is_no_folder),
		cmocka_unit_test(one_that_is_named_and_was_listed_is_walked_through),
		cmocka_unit_test(a_process_that_is_gone_walks_nowhere),
	};
	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
