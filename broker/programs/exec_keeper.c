/*
 * Theory of operation.
 *
 * A process whose parent ends becomes the child of its nearest ancestor that is a subreaper (PR_SET_CHILD_SUBREAPER,
 * prctl(2)): the keeper. So whoever of the program's descendants lives is a child of the keeper's or becomes one when
 * those between them are killed: children are killed until there are none. One keeper for each program, as of its own
 * orphans the executor couldn't tell whose they are.
 *
 * PID namespaces would do this, too, but take a user namespace, in which the program wouldn't have the user's groups.
 */
#include "exec_keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

enum { STATUS_NOT_STARTED = 127 }; /* as the shell has it */

_Noreturn static void become(char *const *argv, const int pipes[3], pid_t keeper) {
	static const int reset[] = {SIGPIPE, SIGHUP, SIGXFSZ, SIGCHLD, SIGTERM, SIGINT};
	static char *const environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LANG=C.UTF-8", NULL};
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < ARRAY_LENGTH(reset); i++) signal(reset[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	/* We may have lost our parent before we asked to die with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != keeper || chdir("/") < 0)
		_exit(STATUS_NOT_STARTED);
	for (int i = 0; i < 3; i++)
		if (dup2(pipes[i], i) < 0) _exit(STATUS_NOT_STARTED);
	close_range(3, ~0U, 0);
	execve(argv[0], argv, environment);
	dprintf(STDERR_FILENO, "it can't be started: %s\n", strerrordesc_np(errno));
	_exit(STATUS_NOT_STARTED);
}

/* False when there is none. */
static bool kill_children(void) {
	FILE *file = fopen("/proc/thread-self/children", "re"); /* proc_pid_children(5) */
	long child;
	bool some = false;
	while (file && fscanf(file, "%ld", &child) == 1) { /* NOLINT(cert-err34-c): the kernel's numbers */
		kill((pid_t)child, SIGKILL);
		some = true;
	}
	if (file) fclose(file);
	return some;
}

/* How the program has ended, if only now. */
static int sweep(pid_t leader) {
	int status = 0;
	kill(-leader, SIGKILL); /* also where the kernel has no list of children */
	kill(leader, SIGKILL);
	while (waitpid(leader, &status, 0) < 0 && errno == EINTR)
		;
	while (kill_children()) waitpid(-1, NULL, 0);
	return status;
}

/* Until the program has ended, or has to. */
static void wait_for_end(pid_t leader, const sigset_t *awaited) {
	while (sigwaitinfo(awaited, NULL) != SIGTERM) {
		/* The leader isn't reaped, so that its number, and its group's, are nobody else's yet. */
		for (siginfo_t ended = {0};; waitpid(ended.si_pid, NULL, 0)) {
			ended.si_pid = 0;
			if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == leader) return;
			if (ended.si_pid == 0) break;
		}
	}
}

_Noreturn static void end_as(int status) {
	if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
	sigset_t none;
	sigemptyset(&none);
	signal(WTERMSIG(status), SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	kill(getpid(), WTERMSIG(status));
	_exit(STATUS_NOT_STARTED);
}

_Noreturn void exec_keeper_run(char *const *argv, const int pipes[3], pid_t executor) {
	sigset_t awaited;
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGCHLD);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	prctl(PR_SET_NAME, "sbxd-keeper", 0, 0, 0);
	setpgid(0, 0);
	pid_t self = getpid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 ||
	    getppid() != executor)
		_exit(STATUS_NOT_STARTED);
	pid_t leader = fork();
	if (leader == 0) become(argv, pipes, self);
	if (leader < 0) {
		dprintf(pipes[2], "it can't be started: %s\n", strerrordesc_np(errno));
		_exit(STATUS_NOT_STARTED);
	}
	setpgid(leader, leader); /* whoever of us is first */
	close_range(3, ~0U, 0);  /* the program's pipes, the executor's socket */
	wait_for_end(leader, &awaited);
	end_as(sweep(leader));
}
