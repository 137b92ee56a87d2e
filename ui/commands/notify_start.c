#include "notify_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
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

/* A child's child in a session of its own: nobody has to wait for it, and no terminal ends it. */
_Noreturn static void run_agent(const char *path) {
	char *const argv[] = {(char *)"sbx-notify", NULL};
	sigset_t none;
	if (fork() != 0) _exit(0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || setsid() < 0 || chdir("/") < 0) _exit(125);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0) _exit(125);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(path, argv);
	_exit(125);
}

void notify_start(void) {
	CLEANUP_FREE char *path = NULL;
	if (is_unwanted() || !has_session_bus() || !has_display() || notify_lock_is_taken() ||
	    program_find("sbx-notify", &path, NULL) < 0)
		return;
	pid_t child = fork();
	if (child == 0) run_agent(path);
	if (child < 0) log_debug("starting sbx-notify: %m");
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}
