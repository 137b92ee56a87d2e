#include "sleep.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/start.h"
#include "base/string.h"
#include "core/broker.h"
#include "core/hooks.h"
#include "core/sleep_wire.h"
#include "session.h"
#include "session_tell.h"
#include "settling.h"

struct sleep {
	struct broker *broker;
	int socket;
	struct event *readable;
	bool ready;
};

/* Beside sbxd (a build tree), or where programs that nobody calls by name are. */
static char *find_helper(void) {
	static const char *const places[] = {"sbx-sleep", "../libexec/sbx/sbx-sleep", "../lib/sbx/sbx-sleep"};
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
	if (size < 0) return NULL;
	self[size] = '\0';
	CLEANUP_FREE char *directory = path_parent(self);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		CLEANUP_FREE char *path = NULL;
		if (path_normalise(directory, places[i], &path, NULL) == 0 && access(path, X_OK) == 0)
			return STEAL(path);
	}
	return NULL;
}

static bool has_bus(void) {
	return getenv("DBUS_SYSTEM_BUS_ADDRESS") || access("/run/dbus/system_bus_socket", F_OK) == 0;
}

/* It ends with the socket. */
_Noreturn static void run_helper(const char *path, int socket) {
	char *const argv[] = {(char *)"sbx-sleep", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(socket, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(125);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execv(path, argv);
	_exit(125);
}

int sleep_start(void) {
	CLEANUP_FREE char *path = find_helper();
	int ends[2];
	if (!path || !has_bus()) return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return -1;
	CLEANUP_FD int ours = ends[0];
	CLEANUP_FD int theirs = ends[1];
	const pid_t helper = start_orphan();
	if (helper == 0) run_helper(path, theirs);
	return helper < 0 ? -1 : fd_steal(&ours);
}

static void let_sleep(void *argument) {
	struct sleep *sleep = argument;
	const char go = SLEEP_GO;
	if (sleep->socket >= 0 && send(sleep->socket, &go, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_error("telling logind that the machine may sleep: %m");
}

static void prepare(struct sleep *sleep) {
	const struct settling_wish wish = {.aim = SETTLING_ASKS};
	struct settling *settling = settling_new(sleep->broker, &wish);
	sessions_tell_sleep(sleep->broker, true, settling);
	settling_then(settling, let_sleep, sleep);
}

static void wake(struct sleep *sleep) {
	sleep->broker->hooks->awake(sleep->broker);
	sessions_tell_sleep(sleep->broker, false, NULL);
}

static void lose(struct sleep *sleep) {
	if (sleep->ready) log_warning("sbx-sleep has ended: held calls may keep the machine from sleeping");
	event_free(sleep->readable);
	sleep->readable = NULL;
	fd_close(sleep->socket);
	sleep->socket = -1;
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	(void)what;
	struct sleep *sleep = argument;
	char byte;
	ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (got <= 0)
		lose(sleep);
	else if (byte == SLEEP_READY)
		sleep->ready = true;
	else if (byte == SLEEP_SOON)
		prepare(sleep);
	else if (byte == SLEEP_AWAKE)
		wake(sleep);
}

struct sleep *sleep_new(struct broker *broker, int socket) {
	struct sleep *sleep = mem_new(struct sleep);
	sleep->broker = broker;
	sleep->socket = socket;
	if (socket < 0) return sleep;
	sleep->readable = event_new(broker->base, socket, EV_READ | EV_PERSIST, on_readable, sleep);
	if (!sleep->readable) mem_exhausted();
	event_add(sleep->readable, NULL);
	return sleep;
}

void sleep_free(struct sleep *sleep) {
	if (!sleep) return;
	if (sleep->readable) event_free(sleep->readable);
	fd_close(sleep->socket);
	free(sleep);
}

bool sleep_is_told(const struct sleep *sleep) {
	return sleep && sleep->socket >= 0;
}
