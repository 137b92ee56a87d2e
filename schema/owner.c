#include "schema/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "base/text.h"

enum { OWNER_TEXT_MAX = 255, OWNER_NAMESPACE_MAX = 63, OWNER_COLUMNS = 200 };

struct owner {
	char process[OWNER_NAMESPACE_MAX + 1], user[OWNER_NAMESPACE_MAX + 1], pid[OWNER_NAMESPACE_MAX + 1];
	char host[OWNER_TEXT_MAX + 1];
};

static void read_namespace(const char *path, char ret_name[OWNER_NAMESPACE_MAX + 1]) {
	const ssize_t size = readlink(path, ret_name, OWNER_NAMESPACE_MAX);
	ret_name[size > 0 ? size : 0] = '\0';
}

static void read_ours(struct owner *ours) {
	struct utsname machine;
	read_namespace("/proc/self/ns/user", ours->user);
	read_namespace("/proc/self/ns/pid", ours->pid);
	snprintf(ours->process, sizeof ours->process, "%d", (int)getpid());
	snprintf(ours->host, sizeof ours->host, "%s", uname(&machine) == 0 ? machine.nodename : "?");
}

void owner_write(int lock) {
	struct owner ours;
	read_ours(&ours);
	CLEANUP_FREE char *text = string_format("%s %s %s %s\n", ours.process, ours.user, ours.pid, ours.host);
	if (ftruncate(lock, 0) == 0) fd_write_all(lock, text, strlen(text), NULL);
}

/* False: nobody has said so. */
static bool read_owner(int fd, struct owner *ret_owner) {
	char text[OWNER_TEXT_MAX + 1];
	const ssize_t size = pread(fd, text, OWNER_TEXT_MAX, 0);
	text[size > 0 ? size : 0] = '\0';
	return sscanf(text, "%63s %63s %63s %255s", ret_owner->process, ret_owner->user, ret_owner->pid,
		      ret_owner->host) == 4;
}

static int open_lock(const char *path) {
	return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static char *words_of(const struct owner *owner) {
	CLEANUP_FREE char *words = string_format("process %s of %s on %s", owner->process, owner->user, owner->host);
	return text_visible_cut(words, OWNER_COLUMNS);
}

/* A process that gets the lock gives it back at once: sbxd, which wants it at that moment, tries again. */
static bool is_held(int fd) {
	return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int owner_refuse_foreign(const char *path, struct error *error) {
	CLEANUP_FD int fd = open_lock(path);
	struct owner owner, ours;
	if (fd < 0 || !read_owner(fd, &owner)) return 0;
	read_ours(&ours);
	if ((string_equal(owner.user, ours.user) && string_equal(owner.pid, ours.pid)) || !is_held(fd)) return 0;
	CLEANUP_FREE char *words = words_of(&owner);
	return error_set(error, EXDEV,
			 "sbxd runs in another container or namespace that shares your home or runtime directory, and "
			 "can't serve this one: %s (here is %s): end that process there, or set HOME and "
			 "XDG_RUNTIME_DIR to folders of this one's own",
			 words, ours.user);
}

void owner_explain(const char *path, struct error *error) {
	CLEANUP_FD int fd = open_lock(path);
	struct owner owner;
	if (fd < 0 || !read_owner(fd, &owner)) return;
	CLEANUP_FREE char *process = text_visible(owner.process);
	error_set(error, EBUSY,
		  "sbxd already runs, as process %s, and has your database, but its socket lies elsewhere: it was "
		  "started with another XDG_RUNTIME_DIR. Set XDG_RUNTIME_DIR to that one (in a login session it is "
		  "/run/user/%u), or end that process (kill %s)",
		  process, geteuid(), process);
}
