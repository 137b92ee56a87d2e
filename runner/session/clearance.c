/*
 * Theory of operation. Two pages lie side by side. The answer's beginning, which differs from call to call, is the end
 * of the first one, which is ours. Its end is the beginning of the second one: of the broker's file, mapped for
 * reading. The kernel copies both at once (copy_from_user() in seccomp_notify_send()).
 *
 * Another broker has another file, whose page is laid over the one before while nobody sends. A file that was cut short
 * fails with EFAULT, since it is the kernel that reads it, and not we (SIGBUS).
 */
#include "clearance.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "schema/clearance.h"

struct clearance {
	pthread_mutex_t lock; /* who sends; all below */
	char *pages;          /* two */
	size_t page;          /* the size of one */
	int fd;               /* of the broker's file; -1: none is followed yet */
	off_t offset;         /* of the page in it */
};

static struct seccomp_notif_resp *answer_of(const struct clearance *clearance) {
	/* a page is aligned, and the half of an answer is as much as it needs */
	return (void *)(clearance->pages + clearance->page - offsetof(struct seccomp_notif_resp, error));
}

int clearance_new(struct clearance **ret_clearance, struct error *error) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) return error_errno(error, "making room for answers to trapped calls");
	struct clearance *clearance = mem_new(struct clearance);
	*clearance = (struct clearance){.pages = pages, .page = page, .fd = -1};
	pthread_mutex_init(&clearance->lock, NULL);
	answer_of(clearance)->flags = CLEARANCE_GIVEN;
	*ret_clearance = clearance;
	return 0;
}

static int open_file(const char *path, uint64_t inode, off_t offset, struct error *error) {
	const struct file_demand demand = {.kind = S_IFREG, .owner = geteuid(), .never = 0077};
	CLEANUP_FD int fd = file_open_demanded(AT_FDCWD, path, path, &demand, error);
	struct stat status;
	if (fd < 0) return fd;
	if (fstat(fd, &status) < 0) return error_errno(error, "%s", path);
	if (status.st_ino != inode || status.st_size < offset + (off_t)sizeof(struct clearance_word))
		return error_set(error, ESTALE, "%s is not the file that the broker has made", path);
	return fd_steal(&fd);
}

/* While it is locked sbxd sees that an answer is under way (broker/sessions/clearances.c). */
static int lock_page(int fd, off_t offset, short type) {
	struct flock range = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = sizeof(struct clearance_word)};
	return fd < 0 || fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : -errno;
}

/* Before Linux 6.12 mmap(2) unmaps what was there also where the file system refuses then: so it is mapped elsewhere
 * first. */
static int map_page(const struct clearance *clearance, int fd, off_t offset, const char *path, struct error *error) {
	void *mapped = mmap(NULL, clearance->page, PROT_READ, MAP_SHARED, fd, offset);
	if (mapped == MAP_FAILED)
		return error_errno(error, "mapping %s (set XDG_RUNTIME_DIR to a folder whose files can be mapped)",
				   path);
	if (mremap(mapped, clearance->page, clearance->page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   clearance->pages + clearance->page) == MAP_FAILED)
		mem_exhausted();
	return 0;
}

int clearance_follow(struct clearance *clearance, const char *path, uint64_t inode, uint64_t page,
		     struct error *error) {
	if (page > INT32_MAX)
		return error_set(error, EPROTO, "the broker's file has no page %llu", (unsigned long long)page);
	const off_t offset = (off_t)(page * clearance->page);
	CLEANUP_FD int fd = open_file(path, inode, offset, error);
	if (fd < 0) return fd;
	if (lock_page(fd, offset, F_RDLCK) < 0 || lock_page(fd, offset, F_UNLCK) < 0)
		return error_errno(error, "locking %s (set XDG_RUNTIME_DIR to a folder whose files can be locked)",
				   path);
	pthread_mutex_lock(&clearance->lock);
	const int r = map_page(clearance, fd, offset, path, error);
	if (r == 0) {
		fd_close(clearance->fd);
		clearance->fd = fd_steal(&fd);
		clearance->offset = offset;
	}
	pthread_mutex_unlock(&clearance->lock);
	return r;
}

/* Where reading what is mapped would be a SIGBUS, this fails. */
bool clearance_is_given(const struct clearance *clearance) {
	struct clearance_word word;
	if (clearance->fd < 0) return true;
	return pread(clearance->fd, &word, sizeof word, clearance->offset) == sizeof word && word.error == 0 &&
	       word.flags == CLEARANCE_GIVEN;
}

/* A signal may come before the kernel looks for the call. */
static int send_answer(int listener, const struct seccomp_notif_resp *answer) {
	int r;
	do {
		r = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer);
	} while (r < 0 && errno == EINTR);
	return r == 0 || errno == ENOENT ? 0 : -errno;
}

int clearance_send(struct clearance *clearance, int listener, uint64_t id) {
	struct seccomp_notif_resp *answer = answer_of(clearance);
	pthread_mutex_lock(&clearance->lock);
	answer->id = id;
	answer->val = 0;
	int r = lock_page(clearance->fd, clearance->offset, F_RDLCK);
	if (r == 0) r = send_answer(listener, answer);
	lock_page(clearance->fd, clearance->offset, F_UNLCK);
	pthread_mutex_unlock(&clearance->lock);
	return r;
}

void clearance_free(struct clearance *clearance) {
	if (!clearance) return;
	munmap(clearance->pages, 2 * clearance->page);
	fd_close(clearance->fd);
	pthread_mutex_destroy(&clearance->lock);
	free(clearance);
}
