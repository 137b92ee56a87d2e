/*
 * Theory of operation. One event loop, one sandbox. bwrap and the portal are started first of all, so that
 * they work while the broker is asked and the plan is made; sbx-init holds the tool back until the portal has put in
 * what the plan says, and the proxy's sockets, and we have our ends of its terminal and filter. From GO on the loop
 * serves: sbx-init's reports, the broker's pushes, the gate, the terminal, torn masks, signals. When the tool has ended
 * everything is taken down in the reverse order.
 */
#include "runner/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/text.h"
#include "calls/descriptors.h"
#include "calls/regular.h"
#include "calls/used_up.h"
#include "hold/doorbells.h"
#include "last_words.h"
#include "run_private.h"
#include "runner/native_needs.h"
#include "sandbox/bwrap.h"
#include "sandbox/filter.h"
#include "wants.h"

enum {
	RUN_GRACE_MS = 5000, /* between asking the tool to end and ending it */
	RUN_HANGUP_MS = 800, /* the same when the terminal has hung up: all ends within a second */
	RUN_OPEN_TRIES = 3,  /* brokers that may go while the user is asked */
};

static void end_with(struct run *run, int status) {
	if (!run->ended) run->status = status;
	run->ended = true;
	event_base_loopbreak(run->base);
}

/* The broker */

static void on_view(void *context, struct view *view) {
	struct run *run = context;
	network_view(run->network, view);
	keeper_view(run->keeper, view);
}

static void on_ended(void *context, const struct session_ended *ended) {
	struct run *run = context;
	network_ended(run->network, ended);
	for (int i = 0; i < PERMISSION_KIND_COUNT; i++) denied_release(&run->denied[i], ended->grants, ended->count);
	endings_add(run->endings, ended);
}

static void on_sleep(void *context, bool sleeping, int64_t settle) {
	struct run *run = context;
	if (!sleeping) return;
	network_sleep(run->network);
	keeper_sleep(run->keeper, settle);
}

static void on_publishing(void *context, int64_t number, const struct publication *wanted, int64_t grant) {
	struct run *run = context;
	servers_publish(run->servers, number, wanted, grant);
}

void run_on_terminate(void *context) {
	struct run *run = context;
	run->killed = true;
	log_notice("this sandbox was ended by sbx kill");
	end_with(context, 128 + SIGKILL);
}

static void on_prompt(void *context, const json_t *prompt) {
	struct run *run = context;
	asker_add(run->asker, prompt);
}

static void on_prompt_gone(void *context, const json_t *gone) {
	struct run *run = context;
	asker_gone(run->asker, gone);
}

void run_on_hold(void *context, int64_t number) {
	const struct run *run = context;
	pause_set(run->pause, number);
}

static void on_broker_gone(void *context) {
	struct run *run = context;
	asker_forget(run->asker);
	endings_flush(run->endings);
}

/* The network */

static void make_network(struct run *run) {
	const struct network_options options = {.base = run->base,
						.scene = &run->scene,
						.session = run->session,
						.denied = run->denied,
						.servers = run->servers,
						.portal = keeper_portal(run->keeper)};
	run->network = network_new(&options);
}

static void open_doors(void *context) {
	struct run *run = context;
	const struct ahead_options ahead = {.base = run->base,
					    .session = run->session,
					    .denied = run->denied,
					    .gate = network_gate(run->network),
					    .init = run->init,
					    .has_network = run->scene.network != VIEW_NETWORK_NONE};
	network_open(run->network, run->init);
	run->ahead = ahead_new(&ahead);
	ahead_open(run->ahead, *keeper_portal(run->keeper));
}

/* The tool */

static void on_keeper_failed(void *context) {
	end_with(context, RUN_EXIT_FAILED);
}

/* An order that isn't taken would be one that the user believes to have given. */
static void on_not_taken(void *context) {
	const struct run *run = context;
	if (run->ended) return;
	log_error("the sandbox takes no orders any more: it is ended");
	end_with(context, 128 + SIGKILL);
}

static void send_order(struct run *run, enum order_kind kind, int value) {
	if (launch_order(run->launch, kind, value) < 0) on_not_taken(run);
}

/* sbx-init has brought all that it was told to, or nothing runs: trapped calls wait until somebody looks. */
static int take_over(struct run *run, const struct report *report, struct error *error) {
	CLEANUP_FD int terminal = report->terminal, listener = report->listener;
	const bool traps = keeper_traps(run->keeper) != 0;
	if (run->ready || (terminal >= 0) != (run->outlets.terminal != NULL) || (listener >= 0) != traps)
		return error_set(error, EPROTO, "sbx-init is not ready as it was told to be");
	run->ready = true;
	if (run->outlets.terminal) terminal_attach(run->outlets.terminal, fd_steal(&terminal));
	return traps ? keeper_listen(run->keeper, fd_steal(&listener), run->network, error) : 0;
}

static void on_ready(struct run *run, const struct report *report) {
	struct error error = ERROR_NONE;
	if (take_over(run, report, &error) == 0) return;
	log_error("%s", error.message);
	end_with(run, RUN_EXIT_FAILED);
}

static void on_exited(struct run *run, int wait_status) {
	int status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	end_with(run, run->timed_out ? RUN_EXIT_TIMEOUT : status);
}

static void on_failed(struct run *run, const struct report *report) {
	const char *name = run->scene.options->command[0];
	CLEANUP_FREE char *shown = text_visible(name), *text = text_visible(report->text);
	if (report->kind == REPORT_FAILED) {
		const char *complaint = strerror(report->value), *used_up = used_up_sentence(complaint);
		log_error("starting %s: %s: %s", shown, text, used_up ? used_up : complaint);
		end_with(run, RUN_EXIT_FAILED);
	} else if (report->value == ENOENT) {
		log_error("%s: what it needs to run (its #! interpreter or loader) is not visible in the sandbox",
			  shown);
		end_with(run, RUN_EXIT_NOT_FOUND);
	} else {
		log_error("%s: %s", shown, strerror(report->value));
		end_with(run, RUN_EXIT_NOT_EXECUTABLE);
	}
}

static void on_report(evutil_socket_t fd, short what, void *argument) {
	struct run *run = argument;
	(void)fd, (void)what;
	while (!run->ended) {
		struct report report;
		struct error error = ERROR_NONE;
		int r = launch_report(run->launch, &report, &error);
		if (r == 0) return;
		if (error.code != 0) {
			log_error("%s", error.message);
			end_with(run, RUN_EXIT_FAILED);
			return;
		}
		if (r < 0) {
			if (!run->timed_out) log_error("the sandbox was killed");
			end_with(run, run->timed_out ? RUN_EXIT_TIMEOUT : 128 + SIGKILL);
			return;
		}
		switch (report.kind) {
		case REPORT_HELLO:
			break;
		case REPORT_READY:
			on_ready(run, &report);
			break;
		case REPORT_STOPPED:
			if (!run->hung_up) job_stopped(run->job, report.value); /* there is no shell to stop for */
			break;
		case REPORT_EXITED:
			on_exited(run, report.value);
			break;
		case REPORT_FAILED:
		case REPORT_NOT_STARTED:
			on_failed(run, &report);
			break;
		}
	}
}

/* Time */

static void on_grace_end(evutil_socket_t fd, short what, void *argument) {
	struct run *run = argument;
	(void)fd, (void)what;
	end_with(run, run->timed_out ? RUN_EXIT_TIMEOUT : 128 + SIGHUP);
}

/* The tool is asked to end by that signal, even if it is stopped, and is ended after the grace. */
static void ask_to_end(struct run *run, int signal, int64_t grace_ms) {
	const struct timeval grace = clock_timeval(grace_ms);
	send_order(run, ORDER_SIGNAL, signal);
	send_order(run, ORDER_SIGNAL, SIGCONT);
	event_add(run->grace, &grace);
}

static void on_timeout(evutil_socket_t fd, short what, void *argument) {
	struct run *run = argument;
	(void)fd, (void)what;
	run->timed_out = true;
	CLEANUP_FREE char *shown = text_visible(run->scene.options->command[0]);
	log_notice("%s took longer than --timeout: it is ended", shown);
	ask_to_end(run, SIGTERM, RUN_GRACE_MS);
}

void run_on_hangup(void *context, bool gone) {
	struct run *run = context;
	run->hung_up |= gone;
	if (run->ended) return;
	if (gone)
		ask_to_end(run, SIGHUP, RUN_HANGUP_MS);
	else
		send_order(run, ORDER_SIGNAL, SIGHUP);
}

static bool on_waits(void *context) {
	const struct run *run = context;
	return run->ended || asker_waits(run->asker);
}

static bool on_asks(void *context) {
	const struct run *run = context;
	return asker_is_asking(run->asker);
}

static void on_stopping(void *context) {
	const struct run *run = context;
	asker_put_off(run->asker);
}

static void on_going_on(void *context) {
	const struct run *run = context;
	asker_continued(run->asker);
}

static void watch(struct run *run) {
	run->grace = evtimer_new(run->base, on_grace_end, run);
	const struct job_options job = {.base = run->base,
					.launch = run->launch,
					.terminal = run->outlets.terminal,
					.is_terminal = run->is_terminal,
					.waits = on_waits,
					.asks = on_asks,
					.stopping = on_stopping,
					.going_on = on_going_on,
					.not_taken = on_not_taken,
					.context = run};
	run->job = job_new(&job);
	hangup_watch(run->hangup, run_on_hangup, run);
	int64_t timeout_ms = run->scene.options->timeout_ms;
	if (timeout_ms > 0) {
		const struct timeval delay = clock_timeval(timeout_ms);
		run->timeout = evtimer_new(run->base, on_timeout, run);
		evtimer_add(run->timeout, &delay);
	}
}

/* Start */

static void make_limits(struct run *run) {
	CLEANUP_FREE char *own = NULL;
	if (regular_read("/proc/self/cgroup", 64 * 1024, &own, NULL, NULL) < 0) own = string_copy("");
	limits_make(&run->scene.view->limits, "/sys/fs/cgroup", own, &run->limits);
}

static int prepare_tool(struct run *run, struct error *error) {
	const struct scene *scene = &run->scene;
	const unsigned wanted = keeper_traps(run->keeper);
	const struct filter *filter = &filters[wanted];
	struct order order = {.kind = ORDER_PREPARE};
	memcpy(order.terminal, run->is_terminal, sizeof order.terminal);
	if (run->outlets.terminal) {
		order.size = terminal_size(run->outlets.terminal);
		order.modes = terminal_modes(run->outlets.terminal);
		/* in a pipeline somebody else may be reading the terminal: wait until the tool wants it (SIGTTIN) */
		order.background =
			!terminal_is_foreground(run->outlets.terminal) || !run->is_terminal[0] || !run->is_terminal[1];
		run->background = order.background;
	}
	struct launch_orders orders = {.program = scene->command.path,
				       .directory = scene->directory,
				       .environment = scene->environment,
				       .filter = filter->steps,
				       .filter_count = filter->count,
				       .listener = wanted != 0};
	CLEANUP_FREE struct sock_filter *without_aio = NULL;
	if (!scene->view->limits.kernel_aio) without_aio = filter_refuse_aio(filter, &orders.filter_count);
	if (without_aio) orders.filter = without_aio;
	limits_for_orders(&run->limits, &scene->view->limits, &orders);
	for (char *const *word = scene->options->command; *word; word++) strings_add(&orders.arguments, *word);
	int r = launch_prepare(run->launch, &order, &orders, error);
	strings_finish(&orders.arguments);
	return r;
}

/* Or it has failed, and said why: then it is ended. */
static int await_ready(struct run *run, struct error *error) {
	run->reports = event_new(run->base, launch_fd(run->launch), EV_READ | EV_PERSIST, on_report, run);
	event_add(run->reports, NULL);
	while (!run->ready && !run->ended)
		if (event_base_loop(run->base, EVLOOP_ONCE) < 0) return error_set(error, EIO, "the event loop failed");
	return 0;
}

static int start(struct run *run, struct error *error) {
	make_limits(run);
	const struct launch_options options = {.root = bwrap_root_of(&run->scene.plan),
					       .init_path = run->scene.options->init_path,
					       .network_host = run->scene.network == VIEW_NETWORK_HOST,
					       .cgroup = run->limits.procs,
					       .stdio = {run->stdio[0], run->stdio[1], run->stdio[2]}};
	int r = launch_settle(run->launch, &options, error);
	if (r < 0) return r;
	findings_begin(&run->since);
	descriptors_raise(); /* the sandbox's first process has the limit that we were started with */
	make_network(run);
	r = launch_hello(run->launch, &run->init, error);
	if (r == 0) r = keeper_build(run->keeper, run->session, run->init, open_doors, error);
	if (r == 0 && !run->outlets.terminal)
		r = prepare_tool(run, error); /* a pty is made in /dev, which isn't there yet */
	if (r == 0) r = keeper_await(run->keeper, error);
	if (r == 0) r = kept_begin(&run->kept, &run->scene, run->init, error);
	if (r == 0 && run->outlets.terminal) r = prepare_tool(run, error);
	if (r == 0) r = network_begin(run->network, error);
	if (r == 0) r = ahead_begin(run->ahead, keeper_live(run->keeper), error);
	if (r == 0) r = await_ready(run, error);
	if (r == 0 && !run->ended) r = session_begin(run->session, run->init, error);
	if (r < 0 || run->ended) return r;
	watch(run);
	output_begin(run->outlets.output);
	if (run->outlets.terminal && !run->background) terminal_take(run->outlets.terminal);
	send_order(run, ORDER_GO, 0);
	return 0;
}

static void on_user_suspend(void *context) {
	const struct run *run = context;
	job_suspend(run->job);
}

static void serve_broker(struct run *run) {
	const struct session_events events = {.context = run,
					      .view = on_view,
					      .ended = on_ended,
					      .sleep = on_sleep,
					      .publishing = on_publishing,
					      .terminate = run_on_terminate,
					      .prompt = on_prompt,
					      .prompt_gone = on_prompt_gone,
					      .hold = run_on_hold,
					      .broker_gone = on_broker_gone};
	const struct asker_options asker = {.base = run->base,
					    .user = run->scene.options->terminal,
					    .outlets = &run->outlets,
					    .session = run->session,
					    .suspend = on_user_suspend,
					    .context = run};
	const struct endings_options endings = {.base = run->base, .network = run->network, .keeper = run->keeper};
	run->asker = asker_new(&asker);
	const struct pause_options pause = {
		.base = run->base, .session = run->session, .outlets = &run->outlets, .asker = run->asker};
	run->pause = pause_new(&pause);
	run->endings = endings_new(&endings);
	session_serve(run->session, run->base, &events);
}

/* bwrap works while the broker is asked and the plan is made; what it makes is nearly always the same. Forking is
 * cheapest now, and nothing may have started a thread. */
static int start_early(struct run *run, const struct run_options *options, struct error *error) {
	const struct launch_options usual = {
		.init_path = options->init_path, .cgroup = -1, .stdio = {run->stdio[0], run->stdio[1], run->stdio[2]}};
	const struct keeper_options keeper = {.base = run->base,
					      .scene = &run->scene,
					      .denied = run->denied,
					      .failed = on_keeper_failed,
					      .context = run};
	int r = launch_start(&usual, &run->launch, error);
	return r < 0 ? r : keeper_new(&keeper, &run->keeper, error);
}

/* Kinds of files that a standard descriptor must not be, since the tool would get out by them. Folders are of the
 * host's mounts: below one the tool would have all that lies there, and above it (attack F11). A datagram socket leads
 * to any address (sendto(2), attack R11), one that isn't connected is the tool's to connect, and who listens takes the
 * host's connections. */
static const char *fault_of_descriptor(int fd) {
	int type = 0, listens = 0;
	socklen_t size = sizeof type, listens_size = sizeof listens, peer_size = sizeof(struct sockaddr_storage);
	struct sockaddr_storage peer;
	struct stat status;
	const int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &status) < 0) return "not open";
	if (S_ISDIR(status.st_mode) || (flags & O_PATH)) return "a folder or a bare name";
	if ((status.st_mode & S_IFMT) == 0) return "an object of the kernel's (epoll, a pidfd, a timer or the like)";
	if (!S_ISSOCK(status.st_mode)) return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || (type != SOCK_STREAM && type != SOCK_SEQPACKET))
		return "a datagram socket";
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) < 0 || listens)
		return "a socket that listens";
	return getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0 ? "a socket that isn't connected" : NULL;
}

static int check_standard_descriptors(struct error *error) {
	for (int i = 0; i < 3; i++) {
		const char *fault = fault_of_descriptor(i);
		if (fault)
			return error_set(error, EBADFD,
					 "standard descriptor %d is %s, which would let the tool out: redirect it "
					 "from or to a file or a pipe",
					 i, fault);
	}
	return 0;
}

/* Limits that bwrap and the portal need at least, where they would otherwise fail with a riddle. */
static int check_limits(struct error *error) {
	static const struct {
		int resource;
		rlim_t least;
		const char *what;
	} needs[] = {{RLIMIT_NOFILE, 128, "open files (ulimit -n)"},
		     {RLIMIT_FSIZE, 4096 * 1024, "bytes in a file (ulimit -f)"}};
	struct rlimit limit;
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++)
		if (getrlimit((__rlimit_resource_t)needs[i].resource, &limit) == 0 && limit.rlim_cur < needs[i].least)
			return error_set(
				error, ERANGE, "the limit of %s is %llu, and a sandbox needs %llu to be made: raise it",
				needs[i].what, (unsigned long long)limit.rlim_cur, (unsigned long long)needs[i].least);
	return 0;
}

static int check_user(struct error *error) {
	if (geteuid() != 0) return 0;
	return error_set(error, EPERM, "root can't be sandboxed: run it as an ordinary user, or with --as-user NAME");
}

static int check_machine(struct error *error) {
	const char *lacks = sandbox_lacks();
	if (!lacks) return 0;
	return error_set(error, ENOSYS,
			 "this system keeps sbx's processes from sharing what they have open (%s): "
			 "`sbx doctor` says what to do",
			 lacks);
}

static int open_once(struct run *run, const struct run_options *options, struct error *error) {
	struct session_options session = {.run = options,
					  .project = &run->scene.project,
					  .executable = run->scene.command.real,
					  .directory = run->scene.directory,
					  .agent = run->outlets.terminal && options->terminal};
	last_words_variable_names(&session.environment);
	return session_open(&session, &run->session, &run->scene.view, error);
}

/* With what the user allows before the tool starts. A broker that goes meanwhile took the question with it: the next
 * one asks it again. */
static int open_session(struct run *run, const struct run_options *options, int *ret_status, struct error *error) {
	for (int i = 1;; i++) {
		int r = open_once(run, options, error);
		if (r < 0 || options->print_plan) return r;
		const struct wants_options wants = {
			.base = run->base,
			.hangup = run->hangup,
			.session = run->session,
			.run = options,
			.outlets = &run->outlets,
			.denied = run->denied,
		};
		r = wants_ask(&wants, &run->scene.view, error);
		run->hung_up = r == -EPIPE;
		if (r == -ECANCELED) *ret_status = 128 + SIGKILL;
		if (r == -EPIPE) *ret_status = 128 + SIGHUP;
		if (r != -ECONNRESET || i == RUN_OPEN_TRIES) return r;
		session_free(STEAL(run->session));
		view_free(STEAL(run->scene.view));
		*error = ERROR_NONE;
	}
}

/* What the runner says can be seen over a question where one of the other outlets leads. */
static int open_outlets(struct run *run, struct error *error) {
	struct outlets *outlets = &run->outlets;
	int r = terminal_open(run->base, run->is_terminal, &outlets->terminal, error);
	return r < 0 || (!outlets->terminal && !outlets->output) ? r : own_lines_new(&outlets->own_lines, error);
}

static int prepare(struct run *run, const struct run_options *options, int *ret_status, struct error *error) {
	int r = check_user(error);
	if (r == 0) r = check_machine(error);
	if (r < 0) return r;
	run->base = loop_new();
	run->hangup = hangup_new(run->base);
	if (!options->print_plan) r = check_standard_descriptors(error);
	if (!options->print_plan && r == 0) r = check_limits(error);
	if (!options->print_plan && r == 0) r = output_new(run->base, run->stdio, &run->outlets.output, error);
	if (!options->print_plan && r == 0) r = start_early(run, options, error);
	run->servers = servers_new(run->base);
	if (!options->print_plan && r == 0)
		r = servers_reserve(run->servers, options->publications, options->publication_count, error);
	if (r == 0) r = scene_begin(&run->scene, options, ret_status, error);
	if (!options->print_plan && r == 0) r = open_outlets(run, error);
	if (r < 0) return r;
	r = open_session(run, options, ret_status, error);
	if (r < 0) return r;
	if (options->ret_session) *options->ret_session = session_id(run->session);
	doorbells_choose(&run->scene);
	return scene_complete(&run->scene, run->session, ret_status, error);
}

static int run_all(struct run *run, const struct run_options *options, int *ret_status, struct error *error) {
	int r = prepare(run, options, ret_status, error);
	if (r < 0) return r;
	if (options->print_plan) {
		CLEANUP_FREE char *text = scene_text(&run->scene);
		fputs(text, stdout);
		return 0;
	}
	r = start(run, error);
	if (r < 0) return r;
	serve_broker(run);
	if (!run->ended) event_base_dispatch(run->base);
	run_end(run, ret_status);
	return 0;
}

int run_sandbox(const struct run_options *options, struct error *error) {
	struct run run = {
		.scene = {.residence = -1}, .stdio = {0, 1, 2}, .limits = {.procs = -1}, .kept = {.home = -1}};
	int status = 0;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	sigaction(SIGPIPE, &ignore, &old);
	int r = run_all(&run, options, &status, error);
	run_take_down(&run);
	if (run.session) session_close(run.session, r < 0 ? (status ? status : RUN_EXIT_FAILED) : status, run.hung_up);
	run_finish(&run);
	sigaction(SIGPIPE, &old, NULL);
	if (r < 0 && status != 0) { /* 126 or 127: the command's fault, said here */
		log_error("%s", error->message);
		return status;
	}
	return r < 0 ? r : status;
}
