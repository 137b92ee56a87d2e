#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "doctor/doctor.h"

enum { RUN_PATIENCE_MS = 10 * 1000, RUN_OUTPUT_MAX = 4096 };

_Noreturn static void child_exec(char *const *argv, int out) {
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		_exit(125);
	execvp(argv[0], argv);
	_exit(127);
}

static void read_output(int fd, struct string *output) {
	struct moment now;
	clock_read(clock_system(), &now);
	int64_t deadline = now.boot_ms + RUN_PATIENCE_MS;
	for (;;) {
		char block[512];
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		clock_read(clock_system(), &now);
		if (now.boot_ms >= deadline || poll(&ready, 1, (int)(deadline - now.boot_ms)) == 0) return;
		ssize_t size = read(fd, block, sizeof block);
		if (size < 0 && errno == EINTR) continue;
		if (size <= 0) return;
		if (output->size < RUN_OUTPUT_MAX) string_append_bytes(output, block, (size_t)size);
	}
}

int doctor_run(char *const *argv, char **ret_output) {
	int ends[2], status = -1;
	if (pipe2(ends, O_CLOEXEC) < 0) return -1;
	CLEANUP_FD int out = ends[0];
	CLEANUP_FD int in = ends[1];
	pid_t child = fork();
	if (child < 0) return -1;
	if (child == 0) child_exec(argv, in);
	fd_close(fd_steal(&in));
	struct string output = {0};
	read_output(out, &output);
	/* Whoever still runs has had its time; one that has ended isn't hurt. */
	siginfo_t state = {0};
	if (waitid(P_PID, (id_t)child, &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == 0) {
		struct pollfd nothing = {.fd = -1};
		poll(&nothing, 1, 50);
		kill(child, SIGKILL);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
	}
	while (output.size > 0 && output.data[output.size - 1] == '\n') output.data[--output.size] = '\0';
	*ret_output = string_steal(&output);
	return status;
}
