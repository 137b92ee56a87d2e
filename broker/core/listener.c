/*
 * Theory of operation.
 *
 * Whoever holds flock(2) on "broker.lock" serves. The lock goes with its process, so a killed broker leaves no
 * stale lock, and only its holder may remove or make the socket: no race with a stale one. The lock's file is removed
 * by its holder at the end; who opened it before and gets the lock afterwards sees by fstat/stat that the name is no
 * longer that file and starts over.
 *
 * Somebody may remove the folder while we live; then another sbxd makes it anew and serves there. So the names are
 * removed only while the lock's is still our file (which we hold open, so its inode can't be another's): then the
 * socket is ours, too. listener_is_current lets the broker see that it is time to leave.
 *
 * Leaving when idle: the name goes first, so that new clients find none (and start another sbxd, which waits for the
 * lock), then who is in the backlog already is taken and served after all.
 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/owner.h"

enum {
	WAIT_STEP_MS = 5,
	WAIT_STEPS = 2000,
	BACKLOG = 128,
	ACTIVATION_FD = 3, /* SD_LISTEN_FDS_START, sd_listen_fds(3) */
};

static const char lock_name[] = "broker.lock";

struct listener {
	int directory;
	int lock;
	int fd;
	bool activated; /* the name is systemd's */
	char *path, *lock_path;
	struct sockaddr_un address;
};

static int make_address(const char *path, struct sockaddr_un *ret_address, struct error *error) {
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	size_t size = strlen(path);
	if (size >= sizeof ret_address->sun_path)
		return error_set(error, ENAMETOOLONG, "%s is too long for a socket's name: set XDG_RUNTIME_DIR", path);
	memcpy(ret_address->sun_path, path, size);
	return 0;
}

/* 1: the service manager's socket (sd_listen_fds(3)) is ours, 0: there is none. One that isn't what its unit should
 * have asked for is an error: we would serve where nobody looks. */
static int activation_take(const struct sockaddr_un *wanted, struct error *error) {
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	unsigned long long number;
	if (!pid || !count || string_to_u64(pid, &number) < 0 || number != (unsigned long long)getpid()) return 0;
	int listening = 0, type = 0;
	socklen_t size = sizeof listening, type_size = sizeof type;
	if (string_to_u64(count, &number) < 0 || number != 1 ||
	    getsockopt(ACTIVATION_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || !listening ||
	    getsockopt(ACTIVATION_FD, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0 || type != SOCK_SEQPACKET)
		return error_set(error, EINVAL,
				 "the service manager must pass one listening socket (ListenSequentialPacket=%s)",
				 wanted->sun_path);
	struct sockaddr_un address = {0};
	socklen_t address_size = sizeof address;
	if (getsockname(ACTIVATION_FD, (struct sockaddr *)&address, &address_size) < 0 ||
	    address.sun_family != AF_UNIX || strcmp(address.sun_path, wanted->sun_path) != 0)
		return error_set(error, EINVAL,
				 "the service manager's socket isn't where commands look: ListenSequentialPacket=%s",
				 wanted->sun_path);
	if (fcntl(ACTIVATION_FD, F_SETFD, FD_CLOEXEC) < 0)
		return error_errno(error, "taking the service manager's socket");
	return 1;
}

static bool is_named(int fd, const char *path) {
	struct stat named, status;
	return lstat(path, &named) == 0 && fstat(fd, &status) == 0 && status.st_ino == named.st_ino &&
	       status.st_dev == named.st_dev;
}

/* 1 when it is ours, 0 when another has it. */
static int try_lock(struct listener *listener, struct error *error) {
	CLEANUP_FD int fd = openat(listener->directory, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) return error_errno(error, "opening %s", lock_name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? 0 : error_errno(error, "locking %s", lock_name);
	if (!is_named(fd, listener->lock_path)) return 0;
	owner_write(fd);
	listener->lock = fd_steal(&fd);
	return 1;
}

static bool somebody_serves(const struct sockaddr_un *address) {
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* EAGAIN: its backlog is full, so it is there. */
	return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN);
}

/* Set here because accepted sockets inherit it: nothing that a client sends, not even before it is accepted, comes
 * without the sender's credentials (client.c). */
static int want_credentials(int fd, struct error *error) {
	static const int on = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return error_errno(error, "asking for the senders' credentials");
	return 0;
}

static int take_activated(const struct listener *listener, struct error *error) {
	int r = want_credentials(listener->fd, error);
	return r < 0 ? r : fd_nonblocking(listener->fd, true, error);
}

int listener_resume(struct listener *listener, struct error *error) {
	if (listener->activated) return 0;
	fd_close(listener->fd);
	listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0) return error_errno(error, "making the socket");
	int r = want_credentials(listener->fd, error);
	if (r < 0) return r;
	if (unlink(listener->path) < 0 && errno != ENOENT)
		return error_errno(error, "removing the old socket %s", listener->path);
	/* The mode is the umask's (077): set before the name exists. */
	if (bind(listener->fd, (struct sockaddr *)&listener->address, sizeof listener->address) < 0)
		return error_errno(error, "making the socket %s", listener->path);
	if (listen(listener->fd, BACKLOG) < 0) return error_errno(error, "listening on %s", listener->path);
	return 0;
}

static int wait_for_lock(struct listener *listener, struct error *error) {
	static const struct timespec step = {.tv_nsec = WAIT_STEP_MS * 1000000L};
	for (int i = 0; i < WAIT_STEPS; i++) {
		int r = try_lock(listener, error);
		if (r == 0) r = owner_refuse_foreign(listener->lock_path, error);
		if (r != 0) return r;
		if (!listener->activated && somebody_serves(&listener->address)) return 0;
		nanosleep(&step, NULL);
	}
	return error_set(error, ETIMEDOUT,
			 "another sbxd holds %s but doesn't serve: end it (pgrep -u %u -x sbxd) and try again",
			 listener->lock_path, geteuid());
}

int listener_open(const struct places *places, enum listener_outcome *ret_outcome, struct listener **ret_listener,
		  struct error *error) {
	struct listener *listener = mem_new(struct listener);
	listener->lock = -1;
	listener->path = string_copy(places->socket);
	listener->lock_path = string_format("%s/%s", places->runtime, lock_name);
	listener->fd = -1;
	listener->directory = file_open_private_directory(places->runtime, error);
	int r = listener->directory < 0 ? listener->directory : make_address(listener->path, &listener->address, error);
	if (r == 0) r = activation_take(&listener->address, error);
	if (r > 0) {
		listener->activated = true;
		listener->fd = ACTIVATION_FD;
	}
	if (r >= 0) r = wait_for_lock(listener, error);
	if (r > 0) {
		*ret_outcome = LISTENER_OURS;
		r = listener->activated ? take_activated(listener, error) : listener_resume(listener, error);
	} else if (r == 0) {
		*ret_outcome = LISTENER_ANOTHERS;
		listener_free(listener);
		*ret_listener = NULL;
		return 0;
	}
	if (r < 0) {
		listener_free(listener);
		return r;
	}
	*ret_listener = listener;
	return 0;
}

void listener_free(struct listener *listener) {
	if (!listener) return;
	if (listener->lock >= 0 && listener_is_current(listener)) {
		listener_retire(listener);
		unlink(listener->lock_path);
	}
	fd_close(listener->fd);
	fd_close(listener->lock);
	fd_close(listener->directory);
	free(listener->path);
	free(listener->lock_path);
	free(listener);
}

int listener_fd(const struct listener *listener) {
	return listener->fd;
}

void listener_retire(struct listener *listener) {
	if (!listener->activated && listener_is_current(listener)) unlink(listener->path);
}

bool listener_is_current(const struct listener *listener) {
	return is_named(listener->lock, listener->lock_path);
}
