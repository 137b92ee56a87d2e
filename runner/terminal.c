#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "stream.h"

enum { TERMINAL_DRAIN_MS = 500 };

struct terminal {
	struct event_base *base;
	int tty, master;
	struct termios found;
	bool raw, held, wanted; /* wanted: taken, though a prompt may hold it just now */
	struct stream *typed, *shown;
};

/* A description of our own: O_NONBLOCK on the inherited one would hit the shell, too. */
static int reopen(int fd, int flags) {
	CLEANUP_FREE char *path = string_format("/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | flags);
}

int terminal_open(struct event_base *base, bool is_terminal[3], struct terminal **ret_terminal, struct error *error) {
	static const int order[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
	int found = -1;
	for (int i = 0; i < 3; i++) is_terminal[i] = isatty(i) == 1;
	for (size_t i = 0; i < ARRAY_LENGTH(order) && found < 0; i++)
		if (is_terminal[order[i]]) found = order[i];
	if (found < 0) return 0;
	struct terminal *terminal = mem_new(struct terminal);
	*terminal = (struct terminal){.base = base, .tty = reopen(found, O_NONBLOCK), .master = -1};
	if (terminal->tty < 0) terminal->tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (terminal->tty < 0 || tcgetattr(terminal->tty, &terminal->found) < 0) {
		int r = error_errno(error, "opening the terminal");
		fd_close(terminal->tty);
		free(terminal);
		return r;
	}
	*ret_terminal = terminal;
	return 0;
}

struct winsize terminal_size(const struct terminal *terminal) {
	struct winsize size = {0};
	ioctl(terminal->tty, TIOCGWINSZ, &size);
	return size;
}

struct termios terminal_modes(const struct terminal *terminal) {
	return terminal->found;
}

bool terminal_is_foreground(const struct terminal *terminal) {
	return tcgetpgrp(terminal->tty) == getpgrp();
}

/* The one place where the user's terminal is changed. */
static void set_raw(struct terminal *terminal, bool raw) {
	if (terminal->raw == raw || !terminal_is_foreground(terminal)) return;
	struct termios modes = terminal->found;
	if (raw) {
		if (tcgetattr(terminal->tty, &terminal->found) < 0)
			return; /* it may have changed while we were stopped */
		modes = terminal->found;
		cfmakeraw(&modes);
	}
	while (tcsetattr(terminal->tty, TCSADRAIN, &modes) < 0 && errno == EINTR) {
	}
	terminal->raw = raw;
}

static void settle(struct terminal *terminal) {
	if (terminal->master < 0) return;
	bool take = terminal->wanted && !terminal->held && terminal_is_foreground(terminal);
	set_raw(terminal, take);
	if (!take) terminal->raw = false; /* in the background it is somebody else's now */
	stream_run(terminal->typed, take);
	stream_run(terminal->shown, !terminal->held);
}

void terminal_attach(struct terminal *terminal, int master) {
	fd_nonblocking(master, true, NULL);
	terminal->master = master;
	terminal->typed = stream_new(terminal->base, terminal->tty, master);
	terminal->shown = stream_new(terminal->base, master, terminal->tty);
	settle(terminal);
}

void terminal_take(struct terminal *terminal) {
	terminal->wanted = true;
	terminal_resize(terminal);
	settle(terminal);
}

void terminal_release(struct terminal *terminal) {
	terminal->wanted = false;
	settle(terminal);
}

void terminal_resize(struct terminal *terminal) {
	const struct winsize size = terminal_size(terminal);
	if (terminal->master >= 0) ioctl(terminal->master, TIOCSWINSZ, &size); /* the kernel tells the tool: SIGWINCH */
}

/* The kernel sends SIGWINCH for a change only, and a tool that draws the screen draws it anew then. */
static void ask_for_redraw(struct terminal *terminal) {
	struct winsize size;
	if (terminal->master < 0 || ioctl(terminal->master, TIOCGWINSZ, &size) < 0 || size.ws_row == 0) return;
	size.ws_row++;
	ioctl(terminal->master, TIOCSWINSZ, &size);
	terminal_resize(terminal);
}

void terminal_hold(struct terminal *terminal) {
	terminal->held = true;
	settle(terminal);
}

void terminal_go_on(struct terminal *terminal) {
	terminal->held = false;
	ask_for_redraw(terminal);
	settle(terminal);
}

int terminal_reopen(const struct terminal *terminal) {
	return reopen(terminal->tty, 0);
}

void terminal_give(const struct terminal *terminal, pid_t group) {
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU); /* we may be in the background when it comes back to us */
	sigprocmask(SIG_BLOCK, &set, &old);
	tcsetpgrp(terminal->tty, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void terminal_drain(struct terminal *terminal) {
	if (terminal->shown) stream_drain(terminal->shown, TERMINAL_DRAIN_MS);
}

void terminal_free(struct terminal *terminal) {
	if (!terminal) return;
	set_raw(terminal, false);
	stream_free(terminal->typed);
	stream_free(terminal->shown);
	fd_close(terminal->master);
	fd_close(terminal->tty);
	free(terminal);
}
