#include "notify_start.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/start.h"
#include "base/string.h"
#include "schema/limits.h"
#include "ui/broker.h"
#include "ui/notify_lock.h"

static bool is_set(const char *name) {
	const char *value = getenv(name);
	return value && *value;
}

static bool is_unwanted(void) {
	const char *value = getenv("SBX_NO_NOTIFY");
	return value && *value && strcmp(value, "0") != 0;
}

/* sd_bus_open_user(3). */
static bool has_session_bus(void) {
	if (is_set("DBUS_SESSION_BUS_ADDRESS")) return true;
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	CLEANUP_FREE char *socket = string_format("%s/bus", runtime ? runtime : "");
	return runtime && *runtime == '/' && access(socket, W_OK) == 0;
}

static bool has_display(void) {
	return is_set("WAYLAND_DISPLAY") || is_set("DISPLAY");
}

/* In a session of its own: no terminal ends it. */
_Noreturn static void run_agent(const char *path, int ready) {
	char *const argv[] = {(char *)"sbx-notify", (char *)"--ready", NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || setsid() < 0 || chdir("/") < 0) _exit(125);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0) _exit(125);
	if (ready == NOTIFY_READY_FD ? fcntl(ready, F_SETFD, 0) < 0 : dup2(ready, NOTIFY_READY_FD) < 0) _exit(125);
	close_range(NOTIFY_READY_FD + 1, UINT_MAX, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(path, argv);
	_exit(125);
}

int notify_start(void) {
	CLEANUP_FREE char *path = NULL;
	int ends[2];
	if (is_unwanted() || !has_session_bus() || !has_display() || notify_lock_is_taken() ||
	    program_find("sbx-notify", &path, NULL) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	const pid_t agent = start_orphan();
	if (agent == 0) run_agent(path, ends[1]);
	if (agent < 0) log_debug("starting sbx-notify: %m");
	fd_close(ends[1]);
	return ends[0];
}

void notify_await(int agent) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct pollfd ready = {.fd = agent, .events = POLLIN};
	struct error error = ERROR_NONE;
	if (broker_connect(NULL, &channel, &error) < 0) return; /* the run will say why */
	poll(&ready, 1, LIMIT_AGENT_MS);
}
