#include "review.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "ui/broker.h"

enum {
	EARLY_MS = 3000, /* who ends with an error by then has shown nothing */
	WINDOWS = 4,     /* at once: their processes may live as long as the user likes */
};

/* In the order in which they are tried, and what stands before a command: Debian's policy 11.8.3 for
 * x-terminal-emulator, each one's own manual for the others. */
static const struct terminal {
	const char *name, *option;
} terminals[] = {
	{"xdg-terminal-exec", NULL},
	{"x-terminal-emulator", "-e"},
	{"gnome-terminal", "--"},
	{"kgx", "--"},
	{"ptyxis", "--"},
	{"konsole", "-e"},
	{"xfce4-terminal", "-x"},
	{"mate-terminal", "-x"},
	{"foot", NULL},
	{"alacritty", "-e"},
	{"kitty", NULL},
	{"xterm", "-e"},
};

struct window {
	struct review *review;
	pid_t child; /* its process, or of who opens it */
	int process; /* the same as a pidfd (pidfd_open(2)); -1: there is none */
	struct event *ended;
	int64_t opened_ms;
};

struct review {
	struct event_base *base;
	void (*failed)(void *context);
	void *context;
	struct window windows[WINDOWS];
};

const char *review_command(void) {
	CLEANUP_FREE char *path = NULL;
	return program_find("sbx-monitor", &path, NULL) == 0 ? "sbx monitor" : "sbx prompts";
}

/* $TERMINAL: one that isn't in the table takes -e as most do. */
static struct terminal chosen(void) {
	const char *name = getenv("TERMINAL");
	struct terminal terminal = {name && *name ? name : NULL, "-e"};
	for (size_t i = 0; terminal.name && i < ARRAY_LENGTH(terminals); i++)
		if (strcmp(terminals[i].name, path_name(terminal.name)) == 0) terminal.option = terminals[i].option;
	return terminal;
}

/* Comes back where it can't be started. */
static void become(const struct terminal *terminal, char *sbx) {
	char *argv[5] = {(char *)terminal->name};
	size_t count = 1;
	if (terminal->option) argv[count++] = (char *)terminal->option;
	argv[count++] = sbx;
	argv[count] = (char *)"monitor";
	execvp(terminal->name, argv);
}

_Noreturn static void run_terminal(char *sbx) {
	static const int restored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
	sigset_t none;
	for (size_t i = 0; i < ARRAY_LENGTH(restored); i++) signal(restored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0 || close_range(STDERR_FILENO + 1, UINT_MAX, 0) < 0) _exit(125);
	const struct terminal own = chosen();
	if (own.name) become(&own, sbx);
	for (size_t i = 0; i < ARRAY_LENGTH(terminals); i++) become(&terminals[i], sbx);
	_exit(127);
}

static void forget(struct window *window) {
	if (window->ended) event_free(window->ended);
	window->ended = NULL;
	fd_close(window->process);
	window->process = -1;
}

static void on_ended(evutil_socket_t process, short what, void *argument) {
	struct window *window = argument;
	const struct review *review = window->review;
	int status = 0;
	(void)process;
	(void)what;
	const bool well = waitpid(window->child, &status, 0) > 0 && status == 0;
	const bool early = clock_ms(CLOCK_MONOTONIC) - window->opened_ms < EARLY_MS;
	forget(window);
	if (early && !well) review->failed(review->context);
}

static bool window_open(struct window *window) {
	CLEANUP_FREE char *sbx = NULL;
	CLEANUP_FREE char *monitor = NULL;
	const bool there = program_find("sbx", &sbx, NULL) == 0 && program_find("sbx-monitor", &monitor, NULL) == 0;
	window->child = there ? fork() : -1;
	if (window->child == 0) run_terminal(sbx);
	window->process = window->child > 0 ? (int)syscall(SYS_pidfd_open, window->child, 0U) : -1;
	if (window->process < 0) return false;
	window->opened_ms = clock_ms(CLOCK_MONOTONIC);
	window->ended = mem_expect(event_new(window->review->base, window->process, EV_READ, on_ended, window));
	if (event_add(window->ended, NULL) < 0) mem_exhausted();
	return true;
}

/* Whether an earlier one still shows anything isn't known: a terminal's process may serve other windows. */
void review_open(struct review *review) {
	size_t i = 0;
	while (i < WINDOWS && review->windows[i].process >= 0) i++;
	if (i == WINDOWS || !window_open(&review->windows[i])) review->failed(review->context);
}

struct review *review_new(struct event_base *base, void (*failed)(void *context), void *context) {
	struct review *review = mem_new(struct review);
	*review = (struct review){.base = base, .failed = failed, .context = context};
	for (size_t i = 0; i < WINDOWS; i++) review->windows[i] = (struct window){.review = review, .process = -1};
	return review;
}

void review_free(struct review *review) {
	for (size_t i = 0; i < WINDOWS; i++) forget(&review->windows[i]);
	free(review);
}
