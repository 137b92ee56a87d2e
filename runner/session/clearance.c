/*
 * Theory of operation. Two pages lie side by side. The answer's beginning, which differs from call to call, is the end
 * of the first one, which is ours. Its end is the beginning of the second one: of the broker's file, mapped for
 * reading. The kernel copies both at once (copy_from_user() in seccomp_notify_send()).
 *
 * Another broker has another file, whose page is laid over the one before while nobody sends. A file that was cut short
 * fails with EFAULT, since it is the kernel that reads it, and not we (SIGBUS).
 *
 * What sbxd reads of us is a memory file that is sealed, so that nobody can cut it and writing to it is no SIGBUS. It
 * is written before the kernel copies the answer, and sbxd reads it after its own word is written: of two that come
 * together at least one sees the other.
 */
#include "clearance.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "schema/clearance.h"

struct clearance {
	pthread_mutex_t lock;                   /* who sends; all below */
	char *pages;                            /* two */
	size_t page;                            /* the size of one */
	_Atomic clearance_answering *answering; /* mapped from: */
	int answering_fd;
	int fd;       /* of the broker's file; -1: none is followed yet */
	off_t offset; /* of the page in it */
};

static struct seccomp_notif_resp *answer_of(const struct clearance *clearance) {
	/* a page is aligned, and the half of an answer is as much as it needs */
	return (void *)(clearance->pages + clearance->page - offsetof(struct seccomp_notif_resp, error));
}

static int map_answering(struct clearance *clearance, struct error *error) {
	static const char what[] = "making room for the word that an answer is under way";
	CLEANUP_FD int fd = memfd_create("sbx-answering", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, sizeof *clearance->answering) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_errno(error, what);
	void *mapped = mmap(NULL, sizeof *clearance->answering, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) return error_errno(error, what);
	clearance->answering = mapped;
	clearance->answering_fd = fd_steal(&fd);
	return 0;
}

int clearance_new(struct clearance **ret_clearance, struct error *error) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CLEANUP_CLEARANCE struct clearance *clearance = mem_new(struct clearance);
	*clearance = (struct clearance){.page = page, .fd = -1, .answering_fd = -1};
	pthread_mutex_init(&clearance->lock, NULL);
	void *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) return error_errno(error, "making room for answers to trapped calls");
	clearance->pages = pages;
	answer_of(clearance)->flags = CLEARANCE_GIVEN;
	const int r = map_answering(clearance, error);
	if (r < 0) return r;
	*ret_clearance = STEAL(clearance);
	return 0;
}

int clearance_answering_fd(const struct clearance *clearance) {
	return clearance->answering_fd;
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

static void say_answering(struct clearance *clearance) {
	atomic_fetch_add(clearance->answering, 1);
	atomic_thread_fence(memory_order_seq_cst); /* the look at the broker's word comes after */
}

bool clearance_begin(struct clearance *clearance) {
	say_answering(clearance);
	if (clearance_is_given(clearance)) return true;
	clearance_end(clearance);
	return false;
}

void clearance_end(struct clearance *clearance) {
	atomic_fetch_sub(clearance->answering, 1);
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
	say_answering(clearance);
	const int r = send_answer(listener, answer);
	clearance_end(clearance);
	pthread_mutex_unlock(&clearance->lock);
	return r;
}

void clearance_free(struct clearance *clearance) {
	if (!clearance) return;
	if (clearance->pages) munmap(clearance->pages, 2 * clearance->page);
	if (clearance->answering) munmap((void *)clearance->answering, sizeof *clearance->answering);
	fd_close(clearance->answering_fd);
	fd_close(clearance->fd);
	pthread_mutex_destroy(&clearance->lock);
	free(clearance);
}
