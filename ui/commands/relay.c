/*
 * Theory of operation
 *
 * Three processes. The relay stays in root's session and copies between root's terminal and the master of a new one.
 * The monitor, still root, leads a session of its own whose terminal is the new one. The third goes on and drops; it
 * has a process group of its own, which its shell, so to say, is the monitor for: without one in its session the kernel
 * would not let it stop on ^Z (an orphaned group, setpgid(2)).
 *
 * When the third stops, the monitor stops, and then the relay, in the eyes of root's shell; SIGCONT goes the same way.
 * Signals are taken from the mask in both (signalfd(2), sigwaitinfo(2)), so nothing happens between two lines.
 *
 * Root's terminal is read, in raw mode, only while we are its foreground group and our output goes there: in
 * `sbx run --as-user ada … | less` the keys are less's. When it hangs up, so does the new one, which is there for that
 * also where root's is none of 0, 1, 2.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

enum { RELAY_LOOK_MS = 300 };

struct relay {
	int tty, master, signals; /* -1: it hung up */
	pid_t monitor;
	struct termios found;
	bool raw, reads;
	char typed[1024]; /* not taken by the other side yet */
	size_t start, end;
};

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1};

static void block_signals(sigset_t *ret_set, sigset_t *ret_old) {
	sigemptyset(ret_set);
	for (size_t i = 0; i < ARRAY_LENGTH(forwarded); i++) sigaddset(ret_set, forwarded[i]);
	sigaddset(ret_set, SIGCHLD);
	sigaddset(ret_set, SIGCONT);
	sigaddset(ret_set, SIGWINCH);
	sigaddset(ret_set, SIGTTOU);
	sigprocmask(SIG_BLOCK, ret_set, ret_old);
}

static int exit_status(int wait_status) {
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The monitor */

/* Ends with the child's status; stops when it stops. */
static void monitor_child(pid_t child, int tty) {
	int status;
	while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
		if (!WIFSTOPPED(status)) _exit(exit_status(status));
		raise(SIGSTOP);
		if (tty >= 0) tcsetpgrp(tty, child);
		kill(-child, SIGCONT);
	}
}

static _Noreturn void monitor(pid_t child, int tty, const sigset_t *set) {
	for (;;) {
		monitor_child(child, tty);
		int number = sigwaitinfo(set, NULL);
		for (size_t i = 0; i < ARRAY_LENGTH(forwarded); i++)
			if (number == forwarded[i]) kill(-child, number);
	}
}

/* Takes `slave` for what was root's terminal. Returns in the process that goes on. */
static int go_apart(int slave, const sigset_t *set, const sigset_t *old) {
	if (setsid() < 0) return -errno;
	if (ioctl(slave, TIOCSCTTY, 0) < 0) return -errno;
	int tty = -1;
	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--) {
		if (!isatty(fd)) continue;
		if (dup2(slave, fd) < 0) return -errno;
		tty = fd;
	}
	pid_t child = fork();
	if (child < 0) return -errno;
	if (child > 0) {
		setpgid(child, child);
		/* open as long as this lives: a terminal that nobody has open is hung up */
		if (dup2(slave, STDERR_FILENO + 1) < 0) _exit(125);
		close_range(STDERR_FILENO + 2, UINT_MAX, 0);
		monitor(child, tty, set);
	}
	setpgid(0, 0);
	if (tty >= 0) tcsetpgrp(tty, getpid());
	sigprocmask(SIG_SETMASK, old, NULL);
	return 0;
}

/* The relay */

static void put_back(void *argument) {
	const struct relay *relay = argument;
	if (relay->raw && tcgetpgrp(relay->tty) == getpgrp()) tcsetattr(relay->tty, TCSADRAIN, &relay->found);
}

static void set_raw(struct relay *relay, bool raw) {
	if (relay->tty < 0 || relay->raw == raw || tcgetpgrp(relay->tty) != getpgrp()) return;
	if (raw && tcgetattr(relay->tty, &relay->found) < 0) return;
	struct termios modes = relay->found;
	if (raw) cfmakeraw(&modes);
	mem_before_end(raw ? put_back : NULL, relay);
	tcsetattr(relay->tty, TCSADRAIN, &modes);
	relay->raw = raw;
}

static void pass_size(const struct relay *relay) {
	struct winsize size;
	if (relay->tty >= 0 && ioctl(relay->tty, TIOCGWINSZ, &size) == 0) ioctl(relay->master, TIOCSWINSZ, &size);
}

/* What the other side wrote; false when there is no more. */
static bool pass_output(struct relay *relay) {
	char block[4096];
	ssize_t got = read(relay->master, block, sizeof block);
	if (got > 0) return fd_write_all(relay->tty, block, (size_t)got, NULL) == 0;
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void pass_input(struct relay *relay) {
	if (relay->start == relay->end) {
		ssize_t got = read(relay->tty, relay->typed, sizeof relay->typed);
		if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) relay->reads = false; /* it hung up */
		relay->start = 0;
		relay->end = got > 0 ? (size_t)got : 0;
	}
	ssize_t put = write(relay->master, relay->typed + relay->start, relay->end - relay->start);
	if (put > 0) relay->start += (size_t)put;
}

static _Noreturn void relay_end(struct relay *relay, int status) {
	struct pollfd more = {.fd = relay->master, .events = POLLIN};
	while (relay->tty >= 0 && poll(&more, 1, 0) > 0 && (more.revents & POLLIN) && pass_output(relay)) {
	}
	set_raw(relay, false);
	_exit(status);
}

static void watch_monitor(struct relay *relay) {
	int status;
	while (waitpid(relay->monitor, &status, WNOHANG | WUNTRACED) == relay->monitor) {
		if (!WIFSTOPPED(status)) relay_end(relay, exit_status(status));
		sigset_t stop, old;
		sigemptyset(&stop);
		sigaddset(&stop, SIGTSTP);
		set_raw(relay, false);
		relay->raw = false;
		kill(0, SIGTSTP); /* the whole pipeline of root's shell, as the terminal would */
		sigprocmask(SIG_UNBLOCK, &stop, &old);
		sigprocmask(SIG_SETMASK, &old, NULL);
		pass_size(relay);
		kill(relay->monitor, SIGCONT);
	}
}

static void on_signal(struct relay *relay) {
	struct signalfd_siginfo info;
	if (read(relay->signals, &info, sizeof info) != sizeof info) return;
	int number = (int)info.ssi_signo;
	if (number == SIGCHLD) watch_monitor(relay);
	if (number == SIGWINCH) pass_size(relay);
	for (size_t i = 0; i < ARRAY_LENGTH(forwarded); i++)
		if (number == forwarded[i]) kill(relay->monitor, number);
}

static _Noreturn void relay_run(struct relay *relay) {
	watch_monitor(relay); /* a signal of before we looked */
	for (;;) {
		bool take = relay->tty >= 0 && relay->reads && tcgetpgrp(relay->tty) == getpgrp();
		bool full = relay->start < relay->end;
		if (take) set_raw(relay, true);
		struct pollfd fds[] = {
			{.fd = relay->signals, .events = POLLIN},
			{.fd = relay->master, .events = (short)(POLLIN | (full ? POLLOUT : 0))},
			{.fd = relay->tty, .events = take && !full ? POLLIN : 0},
		};
		/* A shell's fg does not tell a job that is running already. */
		if (poll(fds, ARRAY_LENGTH(fds), relay->tty >= 0 && !take ? RELAY_LOOK_MS : -1) < 0) continue;
		if (fds[0].revents) on_signal(relay);
		if (fds[2].revents & POLLHUP) {
			relay->tty = -1;
			fd_close_p(&relay->master);
			continue;
		}
		if ((fds[1].revents & (POLLIN | POLLHUP)) && !pass_output(relay)) fd_close_p(&relay->master);
		if (relay->master >= 0 && ((fds[1].revents & POLLOUT) || fds[2].revents)) pass_input(relay);
	}
}

/* A new terminal like root's, for the user alone. */
static int open_terminal(struct relay *relay, uid_t uid, int *ret_slave, struct error *error) {
	struct winsize size = {0};
	if (tcgetattr(relay->tty, &relay->found) < 0) return error_errno(error, "reading the terminal's modes");
	ioctl(relay->tty, TIOCGWINSZ, &size);
	if (openpty(&relay->master, ret_slave, NULL, &relay->found, &size) < 0)
		return error_errno(error, "making a terminal for the user");
	if (fchown(*ret_slave, uid, (gid_t)-1) < 0 || fchmod(*ret_slave, S_IRUSR | S_IWUSR) < 0)
		return error_errno(error, "giving the new terminal to the user");
	return fd_nonblocking(relay->master, true, error);
}

/* For both ways: 1 may be open for writing alone. */
static int reopen(int fd) {
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int relay_start(uid_t uid, struct error *error) {
	static const int order[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
	struct relay relay = {.tty = -1, .master = -1, .reads = isatty(STDOUT_FILENO) == 1};
	CLEANUP_FD int slave = -1;
	for (size_t i = 0; i < ARRAY_LENGTH(order) && relay.tty < 0; i++)
		if (isatty(order[i]) == 1) relay.tty = reopen(order[i]);
	if (relay.tty < 0) relay.tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (relay.tty < 0) return 0;
	int r = open_terminal(&relay, uid, &slave, error);
	if (r < 0) return r;
	sigset_t set, old;
	block_signals(&set, &old);
	relay.monitor = fork();
	if (relay.monitor < 0) return error_errno(error, "starting a process");
	if (relay.monitor == 0) {
		fd_close(relay.master);
		fd_close(relay.tty);
		r = go_apart(slave, &set, &old);
		return r < 0 ? error_set(error, -r, "leaving root's terminal: %s", strerror(-r)) : 0;
	}
	fd_close(fd_steal(&slave));
	relay.signals = signalfd(-1, &set, SFD_CLOEXEC);
	relay_run(&relay);
}
