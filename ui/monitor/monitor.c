/*
 * Theory of operation
 *
 * One loop: keys, signals (by a signalfd, since nothing of this may run in a handler) and the three connections of
 * link.c; whatever came is taken in whole before the screen is drawn, and curses writes only what is another on
 * it. Keys come raw, ^C and ^Z too, so that in a form ^C means back. Who suspends the monitor can't be asked by it: it
 * hangs up before and connects again after.
 */
#include "monitor/monitor.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "keys.h"
#include "link.h"
#include "view.h"

enum { ESCAPE_DELAY_MS = 25, KEYS_A_TURN = 256 };
enum { FD_KEYS = LINK_FDS, FD_SIGNALS, FD_COUNT };

static const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};

struct monitor {
	struct monitor_model model;
	struct monitor_link *link;
	SCREEN *screen;
	int signal_fd;
	int ended_by; /* a signal; 0: none yet */
};

/* Signals */

static int open_signals(struct error *error) {
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) return error_errno(error, "blocking signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_errno(error, "waiting for signals") : fd;
}

static void stop_here(void) {
	sigset_t stop;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	kill(0, SIGTSTP); /* the whole pipeline, as the terminal would */
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

static void draw_all_anew(void) {
	clearok(curscr, TRUE);
	refresh();
}

static void take_size(void) {
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0) return;
	resizeterm(size.ws_row, size.ws_col);
}

static void suspend(struct monitor *monitor) {
	monitor->model.suspend = false;
	link_rest(monitor->link, &monitor->model);
	endwin();
	stop_here();
	take_size();
	draw_all_anew();
	flushinp();
}

static void on_signal(struct monitor *monitor, uint32_t number) {
	switch (number) {
	case SIGWINCH:
		take_size();
		break;
	case SIGTSTP:
		monitor->model.suspend = true;
		break;
	case SIGCONT: /* after a SIGSTOP, which nobody hears of: the shell has had the terminal */
		reset_prog_mode();
		take_size();
		draw_all_anew();
		break;
	default:
		monitor->ended_by = (int)number;
	}
}

static void read_signals(struct monitor *monitor) {
	struct signalfd_siginfo info;
	while (read(monitor->signal_fd, &info, sizeof info) == sizeof info) on_signal(monitor, info.ssi_signo);
}

/* The terminal */

/* A locale that isn't UTF-8's could draw no name as it is. */
static void choose_letters(void) {
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
}

/* Never from within curses, which allocates for itself. */
static void leave_screen(void *argument) {
	(void)argument;
	endwin();
}

static int open_screen(struct monitor *monitor, struct error *error) {
	const char *type = getenv("TERM"), *plain = getenv("NO_COLOR");
	choose_letters();
	monitor->screen = newterm(NULL, stdout, stdin);
	if (!monitor->screen)
		return error_set(error, ENOTTY, "nothing is known of terminals of type '%s': set TERM to what yours is",
				 type ? type : "");
	mem_before_end(leave_screen, NULL);
	/* curses' own handlers; signals come through the signalfd. */
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) signal(signals[i], SIG_DFL);
	set_escdelay(ESCAPE_DELAY_MS);
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	curs_set(0);
	view_colours(!plain || !*plain);
	return 0;
}

static void close_screen(struct monitor *monitor) {
	if (!monitor->screen) return;
	mem_before_end(NULL, NULL);
	endwin();
	delscreen(monitor->screen);
}

static void read_keys(struct monitor *monitor) {
	struct monitor_model *model = &monitor->model;
	for (int i = 0; i < KEYS_A_TURN && !model->quit && !model->suspend; i++) {
		int key = getch();
		if (key == ERR) break;
		if (key != KEY_RESIZE) keys_press(model, key);
		if (model->flush) flushinp();
		model->flush = false;
	}
}

/* The loop */

static void read_clocks(struct monitor_model *model) {
	struct moment now;
	clock_read(clock_system(), &now);
	model->wall_ms = now.wall_ms;
	model->boot_ms = clock_ms(CLOCK_BOOTTIME);
}

static void draw(struct monitor *monitor) {
	struct monitor_model *model = &monitor->model;
	if (model->flush) flushinp();
	if (model->redraw) clearok(curscr, TRUE);
	if (model->bell) beep();
	model->flush = model->redraw = model->bell = false;
	view_draw(stdscr, model);
	refresh();
}

static int sooner(int a, int b) {
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int wait_and_read(struct monitor *monitor, struct error *error) {
	struct pollfd fds[FD_COUNT] = {[FD_KEYS] = {.fd = STDIN_FILENO, .events = POLLIN},
				       [FD_SIGNALS] = {.fd = monitor->signal_fd, .events = POLLIN}};
	int timeout_ms = link_turn(monitor->link, &monitor->model);
	draw(monitor);
	link_poll(monitor->link, fds);
	if (poll(fds, FD_COUNT, sooner(timeout_ms, model_timeout(&monitor->model))) < 0 && errno != EINTR)
		return error_errno(error, "waiting for keys");
	read_clocks(&monitor->model);
	read_signals(monitor);
	link_read(monitor->link, &monitor->model, fds);
	if (fds[FD_KEYS].revents) read_keys(monitor);
	if (fds[FD_KEYS].revents & (POLLHUP | POLLERR | POLLNVAL)) monitor->ended_by = SIGHUP;
	if (monitor->model.suspend) suspend(monitor);
	return 0;
}

static int loop(struct monitor *monitor, struct error *error) {
	int r = 0;
	read_clocks(&monitor->model);
	while (r == 0 && !monitor->model.quit && monitor->ended_by == 0) r = wait_and_read(monitor, error);
	if (r < 0) return r;
	return monitor->ended_by != 0 ? 128 + monitor->ended_by : 0;
}

int monitor_run(struct error *error) {
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(error, ENOTTY,
				 "it needs a terminal; 'sbx prompts --follow' and 'sbx history --follow' write lines");
	CLEANUP_FD int signal_fd = open_signals(error);
	if (signal_fd < 0) return signal_fd;
	CLEANUP_LINK struct monitor_link *link = link_new();
	struct monitor monitor = {.link = link, .signal_fd = signal_fd};
	model_init(&monitor.model);
	int r = open_screen(&monitor, error);
	if (r == 0) r = loop(&monitor, error);
	close_screen(&monitor);
	model_finish(&monitor.model);
	return r;
}
