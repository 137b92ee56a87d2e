/*
 * Theory of operation. What lies in a tree that the sandbox is shown has the same name inside and on the host, so the
 * path is walked inside first. A socket that is found there is the sandbox's own, if the kernel says that it was bound
 * in the sandbox's network, or the host's: then the host must have that very inode under that very name, since it is by
 * the name that rules and people judge. Where the sandbox has none (nothing is shown there, or something is laid over
 * it), the host's own at that name is what a rule may have meant: $SSH_AUTH_SOCK in the host's /tmp. Its links are the
 * host's to follow; where they end is the name that is judged.
 */
#include "ipc_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "calls/process.h"
#include "calls/regular.h"
#include "mounts/mountinfo.h"
#include "plan/lead.h"

char *ipc_target_path(const struct socket_call *call) {
	const struct sockaddr_un *address = (const struct sockaddr_un *)&call->address;
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	if (call->address_size <= before || call->address_size > sizeof *address) return NULL;
	if (address->sun_family != AF_UNIX || address->sun_path[0] == '\0') return NULL;
	return string_copy_bytes(address->sun_path, strnlen(address->sun_path, call->address_size - before));
}

void ipc_target_finish(struct ipc_target *target) {
	fd_close(target->fd);
	free(target->path);
	*target = (struct ipc_target){.fd = -1};
}

/* Asked of nobody: a file system that doesn't answer must not hold us up. */
static bool look(int fd, struct statx *ret_status) {
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID, ret_status) ==
	       0;
}

static dev_t device_of(const struct statx *status) {
	return makedev(status->stx_dev_major, status->stx_dev_minor);
}

static bool same_inode(const struct statx *a, const struct statx *b) {
	return a->stx_ino == b->stx_ino && device_of(a) == device_of(b);
}

/* Does the host have that very socket at that very name? */
static bool host_agrees(const char *path, const struct statx *found) {
	struct statx status;
	CLEANUP_FREE char *real = NULL;
	CLEANUP_FD int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !look(fd, &status) || !same_inode(&status, found)) return false;
	CLEANUP_FREE char *name = string_format("fd/%d", fd);
	real = process_link(getpid(), name);
	return string_equal(real, path);
}

/* Is somebody there? A datagram socket that is aimed at another disturbs nobody: the kernel looks the peer up, and says
 * whether it is of another type (EPROTOTYPE). What was left behind by who has ended is nobody's to be asked about. */
static bool is_bound(int fd) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_FD int scratch = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", fd);
	return scratch >= 0 && (connect(scratch, (const struct sockaddr *)&address, sizeof address) == 0 ||
				errno == EPROTOTYPE || errno == EPERM);
}

/* The device of the super block that it lies on, which stat(2) may give another number for (btrfs); 0: not known. */
static dev_t super_of(pid_t thread, uint64_t mount) {
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", thread), *text = NULL;
	if (regular_read(path, MOUNTINFO_MAX, &text, NULL, NULL) < 0) return 0;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		char *at; /* "ID PARENT MAJOR:MINOR …" */
		if (strtoull(line, &at, 10) != mount) continue;
		strtoull(at, &at, 10);
		const unsigned major_number = (unsigned)strtoul(at, &at, 10);
		if (*at != ':') return 0;
		return makedev(major_number, (unsigned)strtoul(at + 1, NULL, 10));
	}
	return 0;
}

/* Where one super block has several trees with the same inodes, the name that it was bound as must lead to this very
 * one, without a link: it was bound in that folder, so it is of that tree. */
static bool is_own(const struct ipc_sight *sight, pid_t thread, const struct statx *status) {
	const struct lead lead = {.thread = thread, .folder = AT_FDCWD, .curtain = sight->curtain, .last = true};
	CLEANUP_FREE char *name = NULL, *place = NULL;
	CLEANUP_FD int named = -1;
	struct statx other;
	if (sight->is_own(sight->context, device_of(status), status->stx_ino, NULL)) return true;
	const dev_t super = super_of(thread, status->stx_mnt_id);
	if (super == 0 || super == device_of(status)) return false;
	if (!sight->is_own(sight->context, super, status->stx_ino, &name) || name[0] != '/') return false;
	return lead_open(&lead, name, &named, &place) == 0 && string_equal(place, name) && look(named, &other) &&
	       same_inode(&other, status);
}

/* What the sandbox has there. 0: it is the target. */
static int find_inside(const struct ipc_sight *sight, pid_t thread, const char *path, struct ipc_target *target) {
	const struct lead lead = {.thread = thread, .folder = AT_FDCWD, .curtain = sight->curtain, .last = true};
	CLEANUP_FREE char *place = NULL;
	CLEANUP_FD int fd = -1;
	struct statx status;
	int r = lead_open(&lead, path, &fd, &place);
	if (r == -ESTALE) return -ENOENT; /* no name of the curtain's is a socket */
	if (r < 0) return r == -EXDEV ? -EACCES : r;
	if (!look(fd, &status)) return -EACCES;
	if (sight->curtain != 0 && device_of(&status) == sight->curtain) return -ENOENT;
	if (!S_ISSOCK(status.stx_mode)) return -ECONNREFUSED;
	const bool own = is_own(sight, thread, &status);
	if (!own && (!place || !is_bound(fd) || !host_agrees(place, &status))) return -ECONNREFUSED;
	*target = (struct ipc_target){.kind = own ? IPC_TARGET_OWN : IPC_TARGET_HOST,
				      .fd = fd_steal(&fd),
				      .device = device_of(&status),
				      .inode = status.stx_ino,
				      .path = own ? NULL : STEAL(place),
				      .code = ECONNREFUSED};
	return 0;
}

/* As the thread wrote it, without a look at anything but its working folder's name. The system's old name for /run is
 * no secret: rules are written for the one, programs have the other. */
static char *written_path(pid_t thread, const char *path) {
	CLEANUP_FREE char *folder = path[0] == '/' ? NULL : process_link(thread, "cwd");
	char *written = NULL;
	if (path[0] != '/' && folder[0] != '/') return NULL;
	if (path_normalise(folder, path, &written, NULL) < 0) return NULL;
	if (!string_starts(written, "/var/run/")) return written;
	char *short_path = string_copy(written + strlen("/var"));
	free(written);
	return short_path;
}

/* What the host has there, if it may be spoken of, under whichever name. */
static bool find_on_host(const struct ipc_sight *sight, const char *path, struct ipc_target *target) {
	struct statx status;
	if (!sight->asked(sight->context, path)) return false;
	CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || !look(fd, &status) || !S_ISSOCK(status.stx_mode)) return false;
	CLEANUP_FREE char *name = string_format("fd/%d", fd);
	CLEANUP_FREE char *real = process_link(getpid(), name);
	if (!string_equal(real, path) && !sight->asked(sight->context, real)) return false;
	if (!is_bound(fd) || !host_agrees(real, &status)) return false;
	target->kind = IPC_TARGET_HOST;
	target->fd = fd_steal(&fd);
	target->device = device_of(&status);
	target->inode = status.stx_ino;
	target->path = STEAL(real);
	return true;
}

void ipc_target_find(const struct ipc_sight *sight, pid_t thread, const char *path, struct ipc_target *ret_target) {
	*ret_target = (struct ipc_target){.fd = -1};
	int r = find_inside(sight, thread, path, ret_target);
	if (r == 0) return;
	ret_target->code = -r;
	CLEANUP_FREE char *written = written_path(thread, path);
	if (written) find_on_host(sight, written, ret_target);
}
