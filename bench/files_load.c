/*
 * files_load: what bench/files.sh has done inside a sandbox, and when it began and ended.
 *
 * Reads jobs, one a line with tabs between its words:
 *
 *     stat COUNT PATH                     stat(2), COUNT times
 *     read COUNT PATH                     open(2) to read, and close(2)
 *     write COUNT PATH                    open(2) to write, and close(2)
 *     run FOLDER PROGRAM [ARGUMENT…]      a program; what it prints is thrown away
 *     change PATH                         another mount at PATH, or other flags of the one that is there. Says `ready`
 * first
 *
 * and answers each with a line `BEGIN END OUTCOME`: two readings of CLOCK_MONOTONIC in ns, which all processes of a
 * machine share; and `ok`, `absent` (ENOENT), `refused` (EACCES), else `failed:ERRNO`, ECHILD for a
 * program that did not succeed.
 * Uses nothing but libc, so that it runs in any view.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "load.h"

enum { WORDS_MAX = 4096, CHANGE_MS = 2000 };

extern char **environ;

struct span {
	int64_t begin_ns, end_ns;
};

/* Calls, many times over. Each returns 0 or the errno of the last one. */

static int touch_stat(const char *path) {
	struct stat info;
	return stat(path, &info) < 0 ? errno : 0;
}

static int touch_open(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0) return errno;
	close(fd);
	return 0;
}

static int touch_read(const char *path) {
	return touch_open(path, O_RDONLY);
}

static int touch_write(const char *path) {
	return touch_open(path, O_WRONLY);
}

static int repeat(int (*touch)(const char *path), char *const *words, struct span *span) {
	unsigned long long count = 0;
	int code = words[1] && words[2] ? -string_to_u64(words[1], &count) : EINVAL;
	span->begin_ns = load_now_ns();
	while (count-- > 0) code = touch(words[2]);
	span->end_ns = load_now_ns();
	return code;
}

static int job_stat(char *const *words, struct span *span) {
	return repeat(touch_stat, words, span);
}

static int job_read(char *const *words, struct span *span) {
	return repeat(touch_read, words, span);
}

static int job_write(char *const *words, struct span *span) {
	return repeat(touch_write, words, span);
}

/* Programs */

static int job_run(char *const *words, struct span *span) {
	posix_spawn_file_actions_t actions;
	pid_t child = -1;
	int status = -1;
	if (!words[1] || !words[2]) return EINVAL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
	span->begin_ns = load_now_ns();
	int code = chdir(words[1]) < 0 ? errno : posix_spawnp(&child, words[2], &actions, NULL, words + 2, environ);
	if (code == 0 && waitpid(child, &status, 0) < 0) code = errno;
	span->end_ns = load_now_ns();
	posix_spawn_file_actions_destroy(&actions);
	return code == 0 && status != 0 ? ECHILD : code;
}

/* Mounts. Looked for in mountinfo, since a look at the path itself would ask. */

/* The id and the flags of what is mounted where that path leads: of the deepest mount point above it the last mount.
 * mountinfo's fields (proc(5)): id, parent, device, root, mount point, flags. */
static char *mount_at(FILE *mountinfo, const char *path) {
	CLEANUP_FREE char *line = NULL;
	size_t room = 0, deepest = 0;
	char *found = NULL;
	fflush(mountinfo);
	rewind(mountinfo);
	while (getline(&line, &room, mountinfo) > 0) {
		CLEANUP_FREE char *id = NULL, *point = NULL, *flags = NULL;
		if (sscanf(line, "%ms %*s %*s %*s %ms %ms", &id, &point, &flags) != 3) continue;
		const size_t size = strlen(point);
		if (size < deepest || !string_starts(path, point) || (path[size] != '/' && path[size] != '\0'))
			continue;
		deepest = size;
		free(found);
		found = string_format("%s %s", id, flags);
	}
	return found ? found : string_copy("");
}

static int job_change(char *const *words, struct span *span) {
	FILE *mountinfo = words[1] ? fopen("/proc/self/mountinfo", "re") : NULL;
	if (!mountinfo) return EINVAL;
	CLEANUP_FREE char *before = mount_at(mountinfo, words[1]), *after = NULL;
	struct pollfd changes = {.fd = fileno(mountinfo), .events = POLLPRI};
	int code = 0;
	puts("ready");
	fflush(stdout);
	span->begin_ns = load_now_ns();
	do {
		free(after);
		after = mount_at(mountinfo, words[1]);
		span->end_ns = load_now_ns();
		if (!string_equal(before, after)) break;
		if (poll(&changes, 1, CHANGE_MS) == 0) code = ETIMEDOUT;
	} while (code == 0);
	fclose(mountinfo);
	return code;
}

static const struct {
	const char *name;
	int (*run)(char *const *words, struct span *span);
} jobs[] = {
	{"stat", job_stat}, {"read", job_read}, {"write", job_write}, {"run", job_run}, {"change", job_change},
};

static int run_job(char *line, struct span *span) {
	char *words[WORDS_MAX + 1] = {0}, *rest = NULL;
	size_t count = 0;
	line[strcspn(line, "\n")] = '\0';
	for (char *word = strtok_r(line, "\t", &rest); word; word = strtok_r(NULL, "\t", &rest)) {
		if (count == WORDS_MAX) return E2BIG;
		words[count++] = word;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(jobs); i++)
		if (string_equal(words[0], jobs[i].name)) return jobs[i].run(words, span);
	return EINVAL;
}

int main(void) {
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, stdin) > 0) {
		struct span span = {0};
		const int code = run_job(line, &span);
		printf("%" PRId64 " %" PRId64 " ", span.begin_ns, span.end_ns);
		if (code == 0 || code == ENOENT || code == EACCES)
			puts(code == 0 ? "ok" : code == ENOENT ? "absent" : "refused");
		else
			printf("failed:%d\n", code);
		fflush(stdout);
	}
	return 0;
}
