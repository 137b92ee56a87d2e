/*
 * Theory of operation
 *
 * The bytes between the terminal and the tool's pty are copied as they are; those to the terminal are followed
 * (screen.h), so that a question can be put in a place of its own and all be put back afterwards.
 *
 * A tool draws its screen anew on SIGWINCH, which the kernel sends for another size only. Many look whether the size
 * is another than they know (ncurses), so where the picture is lost it must be for a while: one line more, until the
 * tool has drawn and is quiet, and then the size that is true. One more and not one less, since a program that has one
 * line less scrolls to keep the cursor in sight, and doesn't scroll back.
 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "hangup.h"
#include "screen.h"
#include "stream.h"

enum {
	TERMINAL_DRAIN_MS = 500,
	TERMINAL_LOOK_MS = 50, /* between looks at whether the tool has drawn for the other size */
	TERMINAL_LOOKS = 8,    /* then it is given up */
};

struct terminal {
	struct event_base *base;
	int tty, master;
	struct termios found;
	bool raw, held, paused, wanted; /* wanted: taken, though a prompt may hold it just now */
	struct stream *typed, *shown;
	struct screen *screen;
	struct event *redrawing; /* the size is another than it is */
	int looks;
	bool drew, draws; /* since that began; since the last look */
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

bool terminal_is_of(const struct terminal *terminal, pid_t group) {
	return tcgetpgrp(terminal->tty) == group;
}

bool terminal_is_gone(const struct terminal *terminal) {
	return hangup_of(terminal->tty);
}

/* The one place where the user's terminal is changed. */
static void set_modes(const struct terminal *terminal, const struct termios *modes) {
	while (tcsetattr(terminal->tty, TCSADRAIN, modes) < 0 && errno == EINTR) {
	}
}

static void put_back(void *argument) {
	const struct terminal *terminal = argument;
	if (terminal->raw && terminal_is_foreground(terminal)) set_modes(terminal, &terminal->found);
}

static void set_raw(struct terminal *terminal, bool raw) {
	if (terminal->raw == raw || !terminal_is_foreground(terminal)) return;
	struct termios modes = terminal->found;
	if (raw) {
		if (tcgetattr(terminal->tty, &terminal->found) < 0)
			return; /* it may have changed while we were stopped */
		modes = terminal->found;
		cfmakeraw(&modes);
	}
	if (raw) mem_before_end(put_back, terminal);
	set_modes(terminal, &modes);
	terminal->raw = raw;
}

static void settle(struct terminal *terminal) {
	if (terminal->master < 0) return;
	bool take = terminal->wanted && !terminal->held && terminal_is_foreground(terminal);
	set_raw(terminal, take);
	if (!take) terminal->raw = false; /* in the background it is somebody else's now */
	stream_run(terminal->typed, take);
	stream_run(terminal->shown, !terminal->held && !terminal->paused);
}

static void on_shown(void *context, const char *bytes, size_t size) {
	struct terminal *terminal = context;
	terminal->drew = terminal->draws = true;
	screen_see(terminal->screen, bytes, size);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct terminal *terminal = argument;
	(void)fd, (void)what;
	const bool over = (terminal->drew && !terminal->draws) || ++terminal->looks >= TERMINAL_LOOKS;
	terminal->draws = false;
	if (over) terminal_resize(terminal);
}

void terminal_attach(struct terminal *terminal, int master) {
	fd_nonblocking(master, true, NULL);
	terminal->master = master;
	terminal->typed = stream_new(terminal->base, terminal->tty, master);
	terminal->shown = stream_new(terminal->base, master, terminal->tty);
	terminal->screen = screen_new(terminal_size(terminal).ws_row);
	terminal->redrawing = event_new(terminal->base, -1, EV_PERSIST, on_look, terminal);
	stream_follow(terminal->shown, on_shown, terminal);
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

static void set_size(struct terminal *terminal, struct winsize size) {
	ioctl(terminal->master, TIOCSWINSZ, &size); /* the kernel tells the tool: SIGWINCH */
}

void terminal_resize(struct terminal *terminal) {
	const struct winsize size = terminal_size(terminal);
	struct winsize known = {0};
	if (terminal->master < 0) return;
	ioctl(terminal->master, TIOCGWINSZ, &known);
	const bool ours = event_pending(terminal->redrawing, EV_TIMEOUT, NULL) && known.ws_row == size.ws_row + 1 &&
			  known.ws_col == size.ws_col;
	const bool same = known.ws_row == size.ws_row && known.ws_col == size.ws_col;
	if (!same && !ours) screen_resized(terminal->screen, size.ws_row);
	event_del(terminal->redrawing);
	set_size(terminal, size);
}

static void ask_for_redraw(struct terminal *terminal, enum screen_back back) {
	const struct timeval look = {.tv_usec = TERMINAL_LOOK_MS * 1000};
	struct winsize size = terminal_size(terminal);
	if (size.ws_row == 0 || back == SCREEN_AS_IT_WAS) return;
	size.ws_row++;
	set_size(terminal, size);
	if (back == SCREEN_BELOW) {
		terminal_resize(terminal);
		return;
	}
	terminal->looks = 0;
	terminal->drew = terminal->draws = false;
	event_add(terminal->redrawing, &look);
}

static bool reads_keys(const struct terminal *terminal) {
	struct termios modes;
	return tcgetattr(terminal->master, &modes) == 0 && !(modes.c_lflag & ICANON);
}

void terminal_hold(struct terminal *terminal, struct string *first) {
	if (terminal->held) return;
	if (terminal->shown) stream_pass(terminal->shown); /* what was written before the question is above it */
	terminal->held = true;
	settle(terminal);
	if (terminal_is_foreground(terminal)) tcgetattr(terminal->tty, &terminal->found);
	if (terminal->screen) screen_leave(terminal->screen, reads_keys(terminal), first);
}

void terminal_go_on(struct terminal *terminal) {
	CLEANUP_STRING struct string bytes = {0};
	if (!terminal->held) return;
	terminal->held = false;
	terminal_resize(terminal); /* SIGWINCH went to whoever had the foreground: a picture of another size is none */
	if (terminal->screen) {
		const enum screen_back back = screen_return(terminal->screen, &bytes);
		stream_insert(terminal->shown, bytes.data, bytes.size);
		ask_for_redraw(terminal, back);
	}
	settle(terminal);
}

void terminal_pause(struct terminal *terminal, bool paused) {
	terminal->paused = paused;
	if (!paused) terminal_resize(terminal);
	if (terminal->shown) stream_run(terminal->shown, !terminal->held && !paused);
}

int terminal_reopen(const struct terminal *terminal) {
	return reopen(terminal->tty, 0);
}

void terminal_recover(const struct terminal *terminal) {
	if (terminal_is_foreground(terminal)) set_modes(terminal, &terminal->found);
}

void terminal_give(const struct terminal *terminal, pid_t group) {
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU); /* we may be in the background when it comes back to us */
	sigprocmask(SIG_BLOCK, &set, &old);
	tcsetpgrp(terminal->tty, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

bool terminal_has_more(const struct terminal *terminal, bool killed) {
	CLEANUP_STRING struct string end = {0};
	if (!terminal || !terminal->shown) return false;
	screen_end(terminal->screen, killed, &end);
	return end.size > 0 || stream_has_more(terminal->shown);
}

void terminal_drain(struct terminal *terminal, bool killed) {
	CLEANUP_STRING struct string end = {0};
	if (!terminal->shown) return;
	stream_drain(terminal->shown, TERMINAL_DRAIN_MS);
	screen_end(terminal->screen, killed, &end);
	if (end.size > 0) fd_write_all(terminal->tty, end.data, end.size, NULL);
}

void terminal_free(struct terminal *terminal) {
	if (!terminal) return;
	set_raw(terminal, false);
	mem_before_end(NULL, NULL);
	stream_free(terminal->typed);
	stream_free(terminal->shown);
	screen_free(terminal->screen);
	if (terminal->redrawing) event_free(terminal->redrawing);
	fd_close(terminal->master);
	fd_close(terminal->tty);
	free(terminal);
}
