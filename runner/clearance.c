/*
 * Theory of operation. Two pages lie side by side. The answer's beginning, which differs from call to call, is the end
 * of the first one, which is ours. Its end is the beginning of the second one: of the broker's file, mapped for
 * reading. The kernel copies both at once (copy_from_user() in seccomp_notify_send()).
 *
 * Another broker has another file, whose page is laid over the one before by one mmap(2): an answer meanwhile has the
 * one or the other, or fails with EFAULT. A file that was cut short fails likewise, since it is the kernel that reads
 * it, and not we (SIGBUS).
 */
#include "clearance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "schema/clearance.h"

struct clearance {
	char *pages; /* two */
	size_t page; /* the size of one */
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
	*clearance = (struct clearance){.pages = pages, .page = page};
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

int clearance_follow(struct clearance *clearance, const char *path, uint64_t inode, uint64_t page,
		     struct error *error) {
	if (page > INT32_MAX)
		return error_set(error, EPROTO, "the broker's file has no page %llu", (unsigned long long)page);
	const off_t offset = (off_t)(page * clearance->page);
	CLEANUP_FD int fd = open_file(path, inode, offset, error);
	if (fd < 0) return fd;
	if (mmap(clearance->pages + clearance->page, clearance->page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, offset) ==
	    MAP_FAILED)
		return error_errno(error, "mapping %s (set XDG_RUNTIME_DIR to a folder whose files can be mapped)",
				   path);
	return 0;
}

int clearance_send(struct clearance *clearance, int listener, uint64_t id) {
	struct seccomp_notif_resp *answer = answer_of(clearance);
	answer->id = id;
	answer->val = 0;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer) == 0 || errno == ENOENT) return 0;
	return -errno;
}

void clearance_free(struct clearance *clearance) {
	if (!clearance) return;
	munmap(clearance->pages, 2 * clearance->page);
	free(clearance);
}
