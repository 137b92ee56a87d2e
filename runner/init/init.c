/*
 * sbx-init: process 1 of a sandbox. A static program without libraries, started by bwrap from a read-only copy.
 *
 * Theory of operation. It says hello and is told what to run. It makes the pty, puts itself under the filter (so that
 * every process here is: attack K3), says that it is ready, and waits again, so that the portal can finish its work
 * before anything of the tool's runs, and the runner take the other ends of pty and filter. On GO it starts the tool in
 * a process group and session of the sandbox's own, and from then on reaps, passes signals on and reports. It can't be
 * traced (not dumpable) and its end is the end of every process of the sandbox (pid_namespaces(7)). Its peer's end is
 * its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "orders.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

struct init {
	struct launch_orders orders;
	struct order go;
	int stdio[3];
	int master, slave; /* of the pty, -1 = none */
	int listener;      /* of the filter, -1 = none */
	bool killable;     /* signals don't interrupt what it has received */
	pid_t tool;
	sigset_t old_mask;
};

static void send_report(const struct report *message) {
	if (fd_send(ORDERS_FD, message, sizeof *message, NULL) < 0) _exit(125);
}

static void report(enum report_kind kind, int value, const char *text) {
	struct report message = {.kind = kind, .value = value, .terminal = -1, .listener = -1};
	if (text) snprintf(message.text, sizeof message.text, "%s", text);
	send_report(&message);
}

static _Noreturn void fail(const char *what, int code) {
	report(REPORT_FAILED, code, what);
	_exit(125);
}

/* With WAIT_KILLABLE_RECV (Linux 5.19) a signal does not restart a call that waits for an answer. */
static void load_filter(struct init *init) {
	const struct launch_orders *orders = &init->orders;
	const struct sock_fprog program = {.len = (unsigned short)orders->filter_count,
					   .filter = (struct sock_filter *)orders->filter};
	const unsigned long listen = orders->listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) fail("no_new_privs", errno);
	bool killable = orders->listener;
	long listener = -1;
	if (killable)
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				   listen | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (listener < 0) {
		killable = false;
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen, &program);
	}
	if (listener < 0) fail("loading the system call filter", errno);
	if (!orders->listener) return;
	init->listener = (int)listener;
	init->killable = killable;
}

/* The pty lies in the sandbox's own devpts, so its name means something inside; the runner gets the other end. */
static void open_terminal(struct init *init) {
	bool wanted = false;
	for (int i = 0; i < 3; i++) wanted |= init->go.terminal[i];
	if (!wanted) return;
	const int unlock = 0;
	init->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (init->master < 0 || ioctl(init->master, TIOCSPTLCK, &unlock) < 0)
		fail("making a terminal for the tool", errno);
	init->slave = ioctl(init->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (init->slave < 0) fail("opening the tool's terminal", errno);
	ioctl(init->master, TIOCSWINSZ, &init->go.size);
	tcsetattr(init->slave, TCSANOW, &init->go.modes);
	if (ioctl(init->slave, TIOCSCTTY, 0) < 0) fail("making the terminal the tool's", errno);
}

static void receive_orders(struct init *init) {
	struct error error = ERROR_NONE;
	int r = orders_receive(ORDERS_FD, &init->go, &init->orders, &error);
	if (r == -EPROTO) _exit(125); /* the runner is gone */
	if (r < 0) fail(error.message, error.code);
	for (int i = 0; i < 3; i++) {
		init->stdio[i] = ORDERS_STDIO + i;
		if (init->go.terminal[i]) fd_close_p(&init->stdio[i]);
	}
}

/* The runner has taken what was named by the time it says so, and our own copies go before there is a tool. */
static void await_go(struct init *init) {
	struct order order;
	send_report(&(struct report){
		.kind = REPORT_READY, .value = init->killable, .terminal = init->master, .listener = init->listener});
	ssize_t size = fd_receive(ORDERS_FD, &order, sizeof order, NULL);
	if (size != sizeof order || order.kind != ORDER_GO) _exit(125); /* the runner is gone */
	fd_close_p(&init->master);
	fd_close_p(&init->listener);
}

/* Who reads and writes the terminal: the tool's process group, or nobody while `sbx run` is in the background. */
static void give_terminal(const struct init *init, bool foreground) {
	if (init->slave < 0) return;
	pid_t group = foreground ? getpgid(init->tool) : getpgid(0);
	if (group > 0) tcsetpgrp(init->slave, group);
}

static rlim_t lower(rlim_t one, rlim_t other) {
	return one < other ? one : other;
}

/* Here and not before the sandbox is made: what the kernel counts by user it counts by user namespace, too, and
 * compares a process's limit with what its own namespace has (user_namespaces(7); inc_rlimit_get_ucounts in
 * kernel/ucount.c). */
static void set_limits(const struct launch_orders *orders) {
	for (uint32_t i = 0; i < orders->limit_count; i++) {
		const rlim_t soft = (rlim_t)orders->limits[i].soft, hard = (rlim_t)orders->limits[i].hard;
		struct rlimit limit;
		if (getrlimit(orders->limits[i].resource, &limit) < 0) _exit(125);
		limit.rlim_max = lower(limit.rlim_max, hard);
		limit.rlim_cur = lower(soft == RLIM_INFINITY ? limit.rlim_cur : soft, limit.rlim_max);
		if (setrlimit(orders->limits[i].resource, &limit) < 0) _exit(125);
	}
}

/* Only 0, 1 and 2 go into the tool (attack F11, CVE-2024-21626). `complaint` ends as number 3, closed by execve. */
static int set_descriptors(const struct init *init, int complaint) {
	int from[3];
	for (int i = 0; i < 3; i++) { /* above what is about to be overwritten */
		from[i] = fcntl(init->stdio[i] < 0 ? init->slave : init->stdio[i], F_DUPFD_CLOEXEC, 16);
		if (from[i] < 0) return -1;
	}
	complaint = fcntl(complaint, F_DUPFD_CLOEXEC, 16);
	for (int i = 0; i < 3; i++)
		if (dup2(from[i], i) < 0) return -1;
	if (complaint < 0 || dup3(complaint, 3, O_CLOEXEC) < 0) return -1;
	return (int)syscall(SYS_close_range, 4U, ~0U, 0U);
}

static void execute(const struct launch_orders *orders) {
	execve(orders->program, orders->arguments.items, orders->environment.items);
	if (errno != ENOEXEC) return;
	/* a script without #!, which shells and execvp(3) run with sh */
	CLEANUP_STRINGS struct strings argv = {0};
	strings_add(&argv, "sh");
	strings_add(&argv, orders->program);
	for (size_t i = 1; i < orders->arguments.count; i++) strings_add(&argv, orders->arguments.items[i]);
	execve("/bin/sh", argv.items, orders->environment.items);
	errno = ENOEXEC;
}

static _Noreturn void tool_start(const struct init *init, int complaint) {
	setpgid(0, 0);
	if (!init->go.background && init->slave >= 0) tcsetpgrp(init->slave, getpid());
	if (set_descriptors(init, complaint) < 0) _exit(125);
	complaint = 3;
	int code;
	if (chdir(init->orders.directory) < 0) {
		code = -errno; /* negative: the directory, not the program */
	} else {
		set_limits(&init->orders);
		for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
		sigprocmask(SIG_SETMASK, &init->old_mask, NULL);
		execute(&init->orders);
		code = errno;
	}
	if (write(complaint, &code, sizeof code) < 0) _exit(125);
	_exit(125);
}

static void start(struct init *init) {
	int complaint[2], code = 0;
	if (pipe2(complaint, O_CLOEXEC) < 0) fail("making a pipe", errno);
	init->tool = fork();
	if (init->tool < 0) fail("starting a process", errno);
	if (init->tool == 0) tool_start(init, complaint[1]);
	setpgid(init->tool, init->tool);
	if (!init->go.background) give_terminal(init, true);
	fd_close(complaint[1]);
	ssize_t got;
	do got = read(complaint[0], &code, sizeof code);
	while (got < 0 && errno == EINTR);
	fd_close(complaint[0]);
	if (got == sizeof code && code < 0) fail("entering the working directory", -code);
	if (got == sizeof code) {
		report(REPORT_NOT_STARTED, code, NULL);
		_exit(127);
	}
	for (int i = 0; i < 3; i++) fd_close(init->stdio[i]);
}

static void reap(const struct init *init) {
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
		if (pid != init->tool) continue;
		if (WIFSTOPPED(status)) {
			report(REPORT_STOPPED, WSTOPSIG(status), NULL);
		} else {
			report(REPORT_EXITED, status, NULL);
			_exit(0);
		}
	}
}

static void pass_signal(const struct init *init, int number) {
	if (kill(-init->tool, number) < 0) kill(init->tool, number);
}

static void obey(const struct init *init) {
	struct order order;
	ssize_t size = fd_receive(ORDERS_FD, &order, sizeof order, NULL);
	if (size == -EAGAIN) return;
	if (size != sizeof order) _exit(125); /* the runner is gone: so is everything here */
	switch (order.kind) {
	case ORDER_PREPARE:
	case ORDER_GO:
		break;
	case ORDER_SIGNAL:
		pass_signal(init, order.value);
		break;
	case ORDER_CONTINUE:
		give_terminal(init, order.value != 0);
		pass_signal(init, SIGCONT);
		break;
	case ORDER_FOREGROUND:
		give_terminal(init, order.value != 0);
		break;
	}
}

static _Noreturn void serve(const struct init *init, int signals) {
	struct pollfd polled[] = {{.fd = ORDERS_FD, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	for (;;) {
		reap(init);
		if (poll(polled, 2, -1) < 0 && errno != EINTR) _exit(125);
		struct signalfd_siginfo info;
		if (polled[1].revents && read(signals, &info, sizeof info) < 0 && errno != EAGAIN) _exit(125);
		if (polled[0].revents) obey(init);
	}
}

/* A person may find the program, and wonder. */
static _Noreturn void refuse(void) {
	static const char words[] = "sbx-init: this is the first process of a sandbox, which `sbx run` starts\n";
	(void)!write(STDERR_FILENO, words, sizeof words - 1);
	_exit(125);
}

int main(void) {
	struct init init = {.master = -1, .slave = -1, .listener = -1};
	struct stat orders;
	if (fstat(ORDERS_FD, &orders) < 0 || !S_ISSOCK(orders.st_mode)) refuse();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || fcntl(ORDERS_FD, F_SETFD, FD_CLOEXEC) < 0) return 125;
	prctl(PR_SET_NAME, "sbx-init"); /* bwrap starts it as /run/sbx/init */
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &init.old_mask);
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) return 125;
	report(REPORT_HELLO, 0, NULL);

	receive_orders(&init);
	if (setsid() < 0) fail("making a session", errno);
	open_terminal(&init);
	load_filter(&init);
	await_go(&init);
	start(&init);
	serve(&init, signals);
}
