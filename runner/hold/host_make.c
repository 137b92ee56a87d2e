#include "host_make.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/call_table.h"
#include "calls/process.h"
#include "plan/lead.h"

enum { REACH_TRIES = 16 };

/* Of an open(2) that makes a file: what is there by now isn't made once more. */
enum { MAKING = O_CREAT | O_EXCL | O_NOFOLLOW };

const char *host_make_path(const struct trap *trap) {
	const struct call *call = &trap->call;
	return call->class == CALL_NAMES && call->makes[1] ? call->paths[1] : call->paths[0];
}

bool host_make_removes(const struct trap *trap) {
	return trap->call.class == CALL_NAMES && trap->call.removes[0] && !trap->call.makes[1];
}

static int remove_name(const struct trap *trap, int folder, const char *name) {
	const struct call_raw *raw = &trap->raw;
	const bool at = string_equal(trap->call.name, "unlinkat") && (raw->arguments[2] & AT_REMOVEDIR);
	const int flags = at || string_equal(trap->call.name, "rmdir") ? AT_REMOVEDIR : 0;
	return unlinkat(folder, name, flags) < 0 ? errno : 0;
}

static mode_t mode_of(const struct trap *trap) {
	const struct call_shape *shape = call_shape_of(trap->raw.number);
	const bool folder = shape->class == CALL_NAMES && shape->mode_at == 0;
	const size_t at = folder ? (size_t)(shape->paths[0].path + 1) : shape->mode_at;
	CLEANUP_FREE char *status = string_format("/proc/%d/status", trap->thread);
	const mode_t mode = (mode_t)trap->raw.arguments[at - 1];
	return mode & ~(mode_t)process_number(status, "Umask", 8);
}

static uint64_t flags_of(const struct trap *trap) {
	const struct call_shape *shape = call_shape_of(trap->raw.number);
	if (shape->flags == CALL_FLAGS_CREAT) return O_CREAT | O_WRONLY | O_TRUNC;
	return trap->raw.arguments[shape->flags_at - 1] & UINT32_MAX;
}

/* By its descriptor the mode is what was asked for, whatever our own umask takes away. Who makes a file may write it by
 * the descriptor that it gets, also one that nobody may write (open(2)). */
static mode_t mode_until_opened(const struct trap *trap, mode_t mode) {
	return (mode & 0777) | (trap->call.class == CALL_OPEN ? S_IRUSR | S_IWUSR : 0);
}

/* As open(2) has it of what can be no file. */
static int check_way(const struct trap *trap) {
	const char *way = trap->call.ways[0];
	if (trap->call.class != CALL_OPEN) return 0;
	if (flags_of(trap) & O_DIRECTORY) return EINVAL;
	return way && *way && way[strlen(way) - 1] == '/' ? EISDIR : 0;
}

static int make_file(const struct trap *trap, int folder, const char *name, mode_t mode) {
	const int code = check_way(trap);
	if (code != 0) return code;
	CLEANUP_FD int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 || fchmod(fd, mode_until_opened(trap, mode)) < 0 ? errno : 0;
}

static void settle_mode(const struct trap *trap, int fd, mode_t now) {
	const mode_t mode = mode_of(trap) & 0777, until = mode_until_opened(trap, mode);
	if (until != mode && (now & 07777) == until) fchmod(fd, mode);
}

static int make_folder(int folder, const char *name, mode_t mode) {
	if (mkdirat(folder, name, 0700) < 0) return errno;
	CLEANUP_FD int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fchmod(fd, mode & 01777) < 0 ? errno : 0;
}

int host_make(const struct trap *trap) {
	const char *path = host_make_path(trap), *name = trap->call.name;
	const bool removes = host_make_removes(trap);
	const mode_t mode = removes || trap->call.text ? 0 : mode_of(trap);
	CLEANUP_FREE char *above = path_parent(path);
	CLEANUP_FD int folder = file_reach(AT_FDCWD, above, O_DIRECTORY);
	if (folder < 0) return errno == ENOENT || errno == EACCES ? errno : EROFS;
	if (removes) return remove_name(trap, folder, path_name(path));
	if (trap->call.text) return symlinkat(trap->call.text, folder, path_name(path)) < 0 ? errno : 0;
	if (string_starts(name, "mkdir")) return make_folder(folder, path_name(path), mode);
	return make_file(trap, folder, path_name(path), mode);
}

/* What was mounted just now the kernel has at hand, unless something is renamed meanwhile. */
static int reach(const struct trap *trap, const struct trap_rules *rules) {
	int file = -1;
	for (int tries = 0; tries < REACH_TRIES && file < 0 && (tries == 0 || errno == EAGAIN); tries++)
		file = file_reach_cached(rules->root, host_make_path(trap) + 1, 0);
	if (file < 0 && errno == EAGAIN) errno = EACCES;
	return file;
}

/* By its name alone first: a node of the curtain, which we serve ourselves, or a pipe would keep us waiting. */
int host_make_open(const struct trap *trap, const struct trap_rules *rules) {
	CLEANUP_FD int file = reach(trap, rules);
	struct stat status;
	if (file < 0) return -errno;
	if (rules->curtain != 0 && lead_device(file) == rules->curtain) return -EACCES;
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode)) return -EACCES;
	const int fd = fd_reopen(file, (int)(flags_of(trap) & ~(uint64_t)MAKING));
	if (fd < 0) return -errno;
	settle_mode(trap, fd, status.st_mode);
	return fd;
}

static void send_value(int listener, uint64_t id, int64_t value, int error) {
	struct seccomp_notif_resp answer = {.id = id, .val = value, .error = -error};
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static int add_descriptor(int listener, struct seccomp_notif_addfd *add) {
	int r;
	do r = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, add);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

/* SECCOMP_ADDFD_FLAG_SEND came with Linux 5.14: both in one step, so that no descriptor is left when the thread is
 * gone in between (seccomp_unotify(2)). The tool may have as many descriptors as it can have (EMFILE). */
void host_make_answer(int listener, const struct trap *trap, int fd) {
	if (fd < 0) {
		send_value(listener, trap->id, 0, 0);
		return;
	}
	struct seccomp_notif_addfd add = {.id = trap->id,
					  .flags = SECCOMP_ADDFD_FLAG_SEND,
					  .srcfd = (uint32_t)fd,
					  .newfd_flags = (uint32_t)(flags_of(trap) & O_CLOEXEC)};
	int r = add_descriptor(listener, &add);
	if (r >= 0) return;
	add.flags = 0;
	if (r == -EINVAL) r = add_descriptor(listener, &add);
	send_value(listener, trap->id, r < 0 ? 0 : r, r < 0 ? -r : 0);
}
