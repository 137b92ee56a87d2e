/*
 * Theory of operation. Runners map the file. We write it by pwrite(2), which changes the very memory that they have
 * mapped (a file system keeps one copy of a page), and fails where writing to a mapping of our own would be a SIGBUS.
 * Pages are taken from the first free one on, and written when they are taken: so none has a hole before it, which
 * would say something else than what can be written.
 *
 * For the time of an answer a runner has a word in a memory file of its own (schema/clearance.h), which we read by
 * /proc/PID/fd. Only of a memory file is it known that opening it and reading it waits for nobody; the name of any
 * other begins otherwise, unless root gave it (proc_pid_fd(5)).
 *
 * A runner follows its page before it has begun anew with us, and may fail to: what it has mapped then is a page that
 * was left. So that page is its own until it has ended.
 */
#include "clearances.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "core/processes.h"
#include "schema/clearance.h"
#include "schema/message.h"

enum { MAPS_BYTES = 4 * 1024 * 1024 };

static const char name[] = "broker.clearance";

struct page {
	bool taken;
	pid_t runner;  /* that took it last */
	int pidfd;     /* of it, once the page is left; owned */
	int answering; /* its memory file, or -1 */
};

struct clearances {
	int fd;
	char *path;
	ino_t inode;
	size_t page; /* the size of one */
	struct page *pages;
	size_t count;
};

static int make_file(struct clearances *clearances, struct error *error) {
	struct stat status;
	if (unlink(clearances->path) < 0 && errno != ENOENT) return error_errno(error, "removing %s", clearances->path);
	clearances->fd = open(clearances->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (clearances->fd < 0 || fstat(clearances->fd, &status) < 0)
		return error_errno(error, "making %s", clearances->path);
	clearances->inode = status.st_ino;
	return 0;
}

int clearances_new(const char *folder, struct clearances **ret_clearances, struct error *error) {
	struct clearances *clearances = mem_new(struct clearances);
	*clearances =
		(struct clearances){.fd = -1, .path = path_join(folder, name), .page = (size_t)sysconf(_SC_PAGESIZE)};
	const int r = make_file(clearances, error);
	if (r < 0)
		clearances_free(clearances);
	else
		*ret_clearances = clearances;
	return r;
}

/* Its name may be another broker's by now (listener.c). */
static bool is_named(const struct clearances *clearances) {
	struct stat named, status;
	return clearances->fd >= 0 && fstat(clearances->fd, &status) == 0 && lstat(clearances->path, &named) == 0 &&
	       named.st_ino == status.st_ino && named.st_dev == status.st_dev;
}

static void close_page(struct page *page) {
	fd_close(page->pidfd);
	fd_close(page->answering);
}

void clearances_free(struct clearances *clearances) {
	if (!clearances) return;
	if (is_named(clearances)) unlink(clearances->path);
	fd_close(clearances->fd);
	free(clearances->path);
	for (size_t i = 0; i < clearances->count; i++) close_page(&clearances->pages[i]);
	free(clearances->pages);
	free(clearances);
}

int clearances_write(const struct clearances *clearances, size_t page, bool given, struct error *error) {
	const struct clearance_word word = {.flags = given ? CLEARANCE_GIVEN : CLEARANCE_WITHHELD};
	const ssize_t size = pwrite(clearances->fd, &word, sizeof word, (off_t)(page * clearances->page));
	if (size == sizeof word) return 0;
	if (size >= 0) errno = ENOSPC;
	return error_errno(error, "writing %s", clearances->path);
}

static bool is_free(const struct page *page, pid_t runner) {
	return !page->taken && (page->runner == runner || process_has_ended(page->pidfd));
}

static void add_page(struct clearances *clearances) {
	clearances->pages = array_grow(clearances->pages, clearances->count, sizeof *clearances->pages);
	clearances->pages[clearances->count++] = (struct page){.pidfd = -1, .answering = -1};
}

static int open_answering(const struct clearances_follower *follower) {
	static const char memory[] = "/memfd:";
	char path[64], begin[sizeof memory];
	if (follower->answering <= 0 || follower->answering > INT32_MAX) return -1;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)follower->runner, (int)follower->answering);
	CLEANUP_FD int named = open(path, O_PATH | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", named);
	const ssize_t size = readlink(path, begin, strlen(memory));
	const bool is_memory = size == (ssize_t)strlen(memory) && strncmp(begin, memory, (size_t)size) == 0;
	return named >= 0 && is_memory ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

int clearances_take(struct clearances *clearances, const struct clearances_follower *follower, bool given,
		    size_t *ret_page, struct error *error) {
	size_t page = 0;
	while (page < clearances->count && !is_free(&clearances->pages[page], follower->runner)) page++;
	const int r = clearances_write(clearances, page, given, error);
	if (r < 0) return r;
	if (page == clearances->count) add_page(clearances);
	close_page(&clearances->pages[page]);
	clearances->pages[page] = (struct page){
		.taken = true, .runner = follower->runner, .pidfd = -1, .answering = open_answering(follower)};
	*ret_page = page;
	return 0;
}

void clearances_leave(struct clearances *clearances, size_t page, int runner_pidfd) {
	clearances->pages[page].taken = false;
	fd_close(clearances->pages[page].answering);
	clearances->pages[page].answering = -1;
	clearances->pages[page].pidfd = runner_pidfd;
}

bool clearances_are_in_use(const struct clearances *clearances, size_t page) {
	clearance_answering answering;
	atomic_thread_fence(memory_order_seq_cst); /* what was written comes before */
	return pread(clearances->pages[page].answering, &answering, sizeof answering, 0) != sizeof answering ||
	       answering != 0;
}

/* proc_pid_maps(5): a mapped file that was removed keeps its path there. */
bool clearances_has_follower(pid_t process) {
	CLEANUP_FREE char *path = string_format("/proc/%d/maps", (int)process), *maps = NULL;
	CLEANUP_FREE char *mapped = string_format("/%s", name);
	return file_read(path, MAPS_BYTES, &maps, NULL, NULL) < 0 || strstr(maps, mapped);
}

json_t *clearances_describe(const struct clearances *clearances, size_t page) {
	return json_pack("{s:o, s:I, s:I}", "file", message_bytes(clearances->path), "inode",
			 (json_int_t)clearances->inode, "page", (json_int_t)page);
}
