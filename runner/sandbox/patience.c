#include "runner/patience.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/text.h"
#include "schema/limits.h"

static bool is_on(const struct strings *paths, const char *point) {
	for (size_t i = 0; i < paths->count; i++)
		if (path_is_below(paths->items[i], point)) return true;
	return false;
}

static bool is_in(const struct strings *paths, const char *point) {
	return path_is_below_any(point, (const char *const *)paths->items, paths->count);
}

/* What a sandbox has of its own, where the host has gvfs, the document portal and the like. */
static bool is_fresh(const char *point) {
	static const char *const fresh[] = {"/proc", "/sys", "/dev", "/run"};
	return path_is_below_any(point, fresh, ARRAY_LENGTH(fresh));
}

/* May a look come upon a file system that hangs? `points` gets those that lie in one of the paths. */
static bool is_needed(const struct patience *patience, struct strings *points) {
	CLEANUP_STRINGS struct strings mounts = {0};
	bool needed = false;
	mounts_that_may_hang(&mounts);
	for (size_t i = 0; i < mounts.count; i++) {
		const char *point = mounts.items[i];
		needed |= is_on(patience->paths, point) || !(patience->near || is_fresh(point));
		if (!patience->near && !is_fresh(point) && is_in(patience->paths, point)) strings_add(points, point);
	}
	return needed;
}

/* A byte each, in their order. */
static _Noreturn void look_at_all(const struct strings *paths, int out) {
	struct stat status;
	for (size_t i = 0; i < paths->count; i++) {
		const bool there = stat(paths->items[i], &status) == 0;
		if (fd_write_all(out, there ? "1" : "0", 1, NULL) < 0) break;
	}
	_exit(0);
}

static bool answers_in(int in, int64_t ms) {
	char byte;
	struct pollfd ready = {.fd = in, .events = POLLIN};
	int r;
	do r = poll(&ready, 1, (int)ms);
	while (r < 0 && errno == EINTR);
	return r > 0 && read(in, &byte, 1) >= 0;
}

/* Not in the first moment. */
static int wait_on(const struct patience *patience, const char *path, int in, struct error *error) {
	CLEANUP_FREE char *shown = text_visible(path);
	CLEANUP_FREE char *rule = patience->rule ? patience->rule(patience->context, path) : NULL;
	CLEANUP_FREE char *where = rule ? text_visible(rule) : NULL;
	log_notice("waiting for %s%s%s%s: its file system doesn't answer", shown, where ? ", which " : "",
		   where ? where : "", where ? " names" : "");
	if (answers_in(in, LIMIT_STUCK_MS - LIMIT_LOOK_MS)) return 0;
	return error_set(error, ETIMEDOUT,
			 "the file system of %s hasn't answered for %d seconds: mount it anew or unmount it%s%s%s",
			 shown, LIMIT_STUCK_MS / 1000, where ? ", or change the rule (" : "", where ? where : "",
			 where ? ")" : "");
}

static void add_all(struct strings *to, const struct strings *from) {
	for (size_t i = 0; i < from->count; i++) strings_add(to, from->items[i]);
}

int patience_look(const struct patience *patience, struct error *error) {
	CLEANUP_STRINGS struct strings paths = {0}, points = {0};
	int ends[2], r = 0;
	if (patience->paths->count == 0 || !is_needed(patience, &points)) return 0;
	add_all(&paths, patience->paths); /* first: a rule names them */
	add_all(&paths, &points);
	if (pipe2(ends, O_CLOEXEC) < 0) return error_errno(error, "making a pipe");
	const pid_t child = fork();
	if (child == 0) look_at_all(&paths, ends[1]);
	fd_close(ends[1]);
	if (child < 0) r = error_errno(error, "starting a process that looks at paths");
	for (size_t i = 0; r == 0 && i < paths.count; i++)
		if (!answers_in(ends[0], LIMIT_LOOK_MS)) r = wait_on(patience, paths.items[i], ends[0], error);
	fd_close(ends[0]);
	if (child > 0 && r < 0)
		kill(child, SIGKILL); /* what hangs in the kernel ends when it can: nobody waits for it */
	if (child > 0 && r == 0) waitpid(child, NULL, 0);
	return r;
}
