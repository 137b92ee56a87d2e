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

enum { EARLY_MS = 3000 }; /* who ends with an error by then has shown nothing */

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

struct review {
	struct event_base *base;
	void (*failed)(void *context);
	void *context;
	pid_t child; /* the window's process, or of who opens it */
	int process; /* the same as a pidfd (pidfd_open(2)); -1: none */
	struct event *ended;
	int64_t opened_ms;
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

static void forget(struct review *review) {
	if (review->ended) event_free(review->ended);
	review->ended = NULL;
	fd_close(review->process);
	review->process = -1;
}

static void on_ended(evutil_socket_t process, short what, void *argument) {
	struct review *review = argument;
	int status = 0;
	(void)process;
	(void)what;
	const bool well = waitpid(review->child, &status, 0) > 0 && status == 0;
	const bool early = clock_ms(CLOCK_MONOTONIC) - review->opened_ms < EARLY_MS;
	forget(review);
	if (early && !well) review->failed(review->context);
}

void review_open(struct review *review) {
	CLEANUP_FREE char *sbx = NULL;
	CLEANUP_FREE char *monitor = NULL;
	if (review->process >= 0) return;
	const bool there = program_find("sbx", &sbx, NULL) == 0 && program_find("sbx-monitor", &monitor, NULL) == 0;
	review->child = there ? fork() : -1;
	if (review->child == 0) run_terminal(sbx);
	review->process = review->child > 0 ? (int)syscall(SYS_pidfd_open, review->child, 0U) : -1;
	if (review->process < 0) {
		review->failed(review->context);
		return;
	}
	review->opened_ms = clock_ms(CLOCK_MONOTONIC);
	review->ended = mem_expect(event_new(review->base, review->process, EV_READ, on_ended, review));
	if (event_add(review->ended, NULL) < 0) mem_exhausted();
}

struct review *review_new(struct event_base *base, void (*failed)(void *context), void *context) {
	struct review *review = mem_new(struct review);
	*review = (struct review){.base = base, .failed = failed, .context = context, .process = -1};
	return review;
}

void review_free(struct review *review) {
	forget(review);
	free(review);
}
