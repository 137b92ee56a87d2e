#include "base/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_LEAST = 256 * 1024 };

/* With less a program ends by a signal somewhere in a library, and nobody knows why. */
static void check_stack(void) {
	static const char words[] = "sbx: the stack is limited to less than 256 KiB (ulimit -s): raise that limit\n";
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_LEAST) return;
	if (write(STDERR_FILENO, words, strlen(words)) < 0) _exit(125);
	_exit(125);
}

/* A program that was started without any word has no name either (execve(2)). */
static void take_name(void) {
	/* getauxval(3) gives pointers as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const char *path = (const char *)getauxval(AT_EXECFN);
	if (*program_invocation_short_name == '\0' && path) program_invocation_short_name = basename(path);
}

void start_process(void) {
	sigset_t none;
	take_name();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) _exit(125);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	check_stack();
}

pid_t start_orphan(void) {
	const pid_t child = fork();
	if (child == 0) {
		if (fork() != 0) _exit(0);
		return 0;
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
	return child;
}
