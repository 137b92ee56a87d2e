/*
 * Theory of operation. Runners map the file. We write it by pwrite(2), which changes the very memory that they have
 * mapped (a file system keeps one copy of a page), and fails where writing to a mapping of our own would be a SIGBUS.
 * Pages are taken from the first free one on, and written when they are taken: so none has a hole before it, which
 * would say something else than what can be written.
 *
 * A runner has its page locked for the time of an answer (F_OFD_SETLK, fcntl(2)), which the kernel shows us and undoes
 * when it dies. Whoever locks it after a write has what was written for his answer.
 *
 * A runner follows its page before it has begun anew with us, and may fail to: what it has mapped then is a page that
 * was left. So that page is its own until it has ended.
 */
#include "clearances.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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
	pid_t runner; /* that took it last */
	int pidfd;    /* of it, once the page is left; owned */
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

void clearances_free(struct clearances *clearances) {
	if (!clearances) return;
	if (is_named(clearances)) unlink(clearances->path);
	fd_close(clearances->fd);
	free(clearances->path);
	for (size_t i = 0; i < clearances->count; i++) fd_close(clearances->pages[i].pidfd);
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
	clearances->pages[clearances->count++] = (struct page){.pidfd = -1};
}

int clearances_take(struct clearances *clearances, pid_t runner, bool given, size_t *ret_page, struct error *error) {
	size_t page = 0;
	while (page < clearances->count && !is_free(&clearances->pages[page], runner)) page++;
	const int r = clearances_write(clearances, page, given, error);
	if (r < 0) return r;
	if (page == clearances->count) add_page(clearances);
	fd_close(clearances->pages[page].pidfd);
	clearances->pages[page] = (struct page){.taken = true, .runner = runner, .pidfd = -1};
	*ret_page = page;
	return 0;
}

void clearances_leave(struct clearances *clearances, size_t page, int runner_pidfd) {
	clearances->pages[page].taken = false;
	clearances->pages[page].pidfd = runner_pidfd;
}

bool clearances_are_in_use(const struct clearances *clearances, size_t page) {
	struct flock range = {.l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)(page * clearances->page),
			      .l_len = sizeof(struct clearance_word)};
	return fcntl(clearances->fd, F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
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
