/*
 * Theory of operation
 *
 * The broker is started by whoever needs it first, like tmux or gpg-agent. `sbxd` takes a lock, listens, goes into the
 * background, and only then does the process that we started end with status 0; where another sbxd holds the lock
 * already it ends the same way. So a start is: try to connect; where nothing listens run sbxd, wait for its end, try
 * again. Fifty at once run fifty short-lived sbxd of which one stays. A broker that is just leaving (idle) may take our
 * connection and close it unanswered: that is one more reason to try again, and the tries are bounded by time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "runner/inside.h"
#include "schema/owner.h"
#include "ui/broker.h"

enum { START_PATIENCE_MS = 10 * 1000, START_PAUSE_MS = 20, START_WORDS_MAX = 600 };

int program_find(const char *name, char **ret_path, struct error *error) {
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
	if (size < 0) return error_errno(error, "finding out where sbx is installed (is /proc mounted?)");
	self[size] = '\0';
	static const char *const places[] = {"", "../libexec/sbx/", "../lib/sbx/", "../../bin/"};
	CLEANUP_FREE char *directory = path_parent(self);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		CLEANUP_FREE char *relative = string_format("%s%s", places[i], name);
		CLEANUP_FREE char *path = NULL;
		if (path_normalise(directory, relative, &path, NULL) < 0 || access(path, X_OK) < 0) continue;
		*ret_path = STEAL(path);
		return 0;
	}
	return error_set(error, ENOENT,
			 "the program %s is neither beside sbx in %s nor in ../libexec/sbx: install sbx again", name,
			 directory);
}

/* In the child: nothing of ours but stderr is handed on. */
_Noreturn static void exec_broker(const char *path, int words_fd) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(words_fd, STDERR_FILENO) < 0)
		_exit(125);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	char *const arguments[] = {(char *)"sbxd", NULL};
	execv(path, arguments);
	const char *why = strerror(errno);
	if (write(STDERR_FILENO, why, strlen(why)) < 0) _exit(126);
	_exit(126);
}

/* What sbxd said before it ended, as one visible line. */
static char *last_words(int fd) {
	char bytes[START_WORDS_MAX + 1];
	ssize_t size = read(fd, bytes, START_WORDS_MAX);
	bytes[size > 0 ? size : 0] = '\0';
	size_t end = strlen(bytes);
	while (end > 0 && bytes[end - 1] == '\n') bytes[--end] = '\0';
	return text_visible(bytes);
}

static int start_broker(struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int r = program_find("sbxd", &path, error);
	if (r < 0) return r;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return error_errno(error, "starting the broker");
	CLEANUP_FD int words = ends[0];
	CLEANUP_FD int words_in = ends[1];
	pid_t child = fork();
	if (child < 0) return error_errno(error, "starting the broker");
	if (child == 0) exec_broker(path, words_in);
	fd_close(fd_steal(&words_in));
	int status;
	pid_t ended;
	do ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended < 0) return error_errno(error, "waiting for the broker to start");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
	CLEANUP_FREE char *said = last_words(words);
	if (WIFSIGNALED(status))
		return error_set(error, EIO, "%s was ended by signal %d: %s", path, WTERMSIG(status), said);
	return error_set(error, EIO, "%s ended with status %d: %s", path, WEXITSTATUS(status),
			 *said ? said : "it said nothing; 'sbx doctor' may know more");
}

/* Nobody listens (any more): starting one may help. Whatever else went wrong will not go away by itself. */
static bool is_absent(int r) {
	return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN;
}

/* A broker lives as long as anybody needs it, so after an upgrade the old one serves on, faults and all. To end it is
 * the user's to decide: prompts that wait would be cancelled, and grants for a session end with it. */
static void compare_versions(const struct channel *channel) {
	const char *version = channel_broker_version(channel);
	if (strverscmp(version, SBX_VERSION) < 0)
		log_warning("sbxd %s still runs, though sbx is %s by now: when no prompt waits, end it with 'kill %d'; "
			    "the next command starts the new one, and what runs in sandboxes goes on",
			    version, SBX_VERSION, (int)channel_broker_pid(channel));
}

static int connect_or_start(struct channel **ret_channel, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int r = channel_socket_path(&path, error);
	if (r < 0) return r;
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FREE char *lock = path_join(folder, "broker.lock");
	int64_t deadline = clock_ms(CLOCK_BOOTTIME) + START_PATIENCE_MS;
	for (;;) {
		r = owner_refuse_foreign(lock, error);
		if (r < 0) return r;
		r = channel_connect(path, ret_channel, error);
		if (r == 0 || !is_absent(r)) return r;
		if (clock_ms(CLOCK_BOOTTIME) > deadline)
			return error_prefix(error, "the broker was started but does not answer");
		if (r != -EAGAIN && start_broker(error) < 0)
			return error_prefix(error, "the broker could not be started");
		r = channel_connect(path, ret_channel, error);
		if (r == 0 || !is_absent(r)) return r;
		struct timespec pause = {.tv_nsec = START_PAUSE_MS * 1000000L};
		nanosleep(&pause, NULL);
	}
}

int broker_connect(void *context, struct channel **ret_channel, struct error *error) {
	(void)context;
	int r = inside_refuse(error);
	if (r == 0) r = connect_or_start(ret_channel, error);
	if (r == 0) compare_versions(*ret_channel);
	return r;
}
