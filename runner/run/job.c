#include "job.h"

#include <signal.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/memory.h"

enum { SIGNALS = 7 };

struct job {
	struct job_options options;
	struct event *signals[SIGNALS];
};

static void go_on(struct job *job);

static void send_order(const struct job *job, enum order_kind kind, int value) {
	if (launch_order(job->options.launch, kind, value) < 0) job->options.not_taken(job->options.context);
}

/* The whole pipeline of our shell, as the terminal would. False: we haven't stopped, for our group is orphaned
 * (setpgid(2)). */
static bool stop_group(int number) {
	struct sigaction standard = {.sa_handler = SIG_DFL}, old;
	sigset_t continued, before, pending;
	sigemptyset(&continued);
	sigaddset(&continued, SIGCONT); /* it is pending when we have been stopped */
	sigprocmask(SIG_BLOCK, &continued, &before);
	sigaction(number, &standard, &old);
	kill(0, number);
	sigaction(number, &old, NULL);
	sigpending(&pending);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return sigismember(&pending, SIGCONT) == 1;
}

/* Stop as it has stopped, in the eyes of our own shell. SIGCONT (on_continue) goes on from here. */
void job_stopped(struct job *job, int number) {
	struct terminal *terminal = job->options.terminal;
	bool reads = number == SIGTTIN || number == SIGTTOU;
	if (reads && terminal && (terminal_is_foreground(terminal) || job->options.asks(job->options.context))) {
		terminal_take(terminal); /* after the question, where one stands */
		send_order(job, ORDER_CONTINUE, 1);
		return;
	}
	job->options.stopping(job->options.context);
	if (terminal) terminal_release(terminal);
	if (number == SIGSTOP)
		raise(SIGSTOP);
	else if (!stop_group(number) && number == SIGTSTP)
		go_on(job); /* nobody could continue the tool */
}

static void go_on(struct job *job) {
	const struct job_options *options = &job->options;
	struct terminal *terminal = options->terminal;
	const bool ours = terminal && (terminal_is_foreground(terminal) || options->asks(options->context));
	const bool takes = ours && options->is_terminal[0] && options->is_terminal[1]; /* else when it reads: SIGTTIN */
	if (takes) terminal_take(terminal);
	send_order(job, ORDER_CONTINUE, takes);
	options->going_on(options->context);
}

void job_suspend(struct job *job) {
	job_stopped(job, SIGTSTP);
}

static void on_signal(evutil_socket_t number, short what, void *argument) {
	const struct job *job = argument;
	(void)what;
	send_order(job, ORDER_SIGNAL, number);
}

static void on_stop(evutil_socket_t number, short what, void *argument) {
	struct job *job = argument;
	if (job->options.waits(job->options.context))
		job_suspend(job);
	else
		on_signal(number, what, job);
}

static void on_continue(evutil_socket_t number, short what, void *argument) {
	(void)number, (void)what;
	go_on(argument);
}

static void on_resize(evutil_socket_t number, short what, void *argument) {
	const struct job *job = argument;
	(void)number, (void)what;
	if (job->options.terminal) terminal_resize(job->options.terminal);
}

static const struct {
	int number;
	event_callback_fn handler;
} signal_table[SIGNALS] = {
	{SIGINT, on_signal},    {SIGTERM, on_signal},  {SIGQUIT, on_signal}, {SIGTSTP, on_stop},
	{SIGCONT, on_continue}, {SIGWINCH, on_resize}, {SIGUSR1, on_signal},
};

static bool is_ignored(int number) {
	struct sigaction action;
	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct job *job_new(const struct job_options *options) {
	struct job *job = mem_new(struct job);
	job->options = *options;
	for (size_t i = 0; i < SIGNALS; i++) {
		const event_callback_fn handler = signal_table[i].handler;
		if ((handler == on_signal || handler == on_stop) && is_ignored(signal_table[i].number)) continue;
		job->signals[i] = evsignal_new(options->base, signal_table[i].number, handler, job);
		if (signal_table[i].number == SIGCONT)
			event_priority_set(job->signals[i], LOOP_FIRST); /* asker_continued */
		event_add(job->signals[i], NULL);
	}
	return job;
}

void job_free(struct job *job) {
	if (!job) return;
	for (size_t i = 0; i < SIGNALS; i++)
		if (job->signals[i]) event_free(job->signals[i]);
	free(job);
}
