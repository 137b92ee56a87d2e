#include "launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "calls/used_up.h"
#include "runner/bubblewrap.h"

static_assert((int)ORDERS_FD == (int)BWRAP_FD_ORDERS && (int)ORDERS_STDIO == (int)BWRAP_FD_STDIO,
	      "sbx-init finds what is passed through to it");

enum {
	LAUNCH_HELLO_MS = 30 * 1000, /* a machine that pages, not a measure of speed */
	LAUNCH_END_MS = 2000,        /* then bwrap, and with it sbx-init, is killed */
	LAUNCH_COMPLAINT_MAX = 500,
	LAUNCH_FD_ABOVE = 64, /* where descriptors are parked while the low numbers are laid out */
};

/* Where an AppArmor profile for it would be bound to; never the PATH, which may hold a project's folder. */
static const char *const programs[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap",
				       "/run/current-system/sw/bin/bwrap"};

struct launch {
	struct launch_options options;
	struct strings argv;
	pid_t bwrap;
	int orders;              /* our end */
	int complaints;          /* bwrap's stderr */
	int bwrap_end, init_end; /* pidfds */
	bool disable_userns;
};

const char *bubblewrap_path(void) {
	for (size_t i = 0; i < ARRAY_LENGTH(programs); i++)
		if (access(programs[i], X_OK) == 0) return programs[i];
	return NULL;
}

static void give_up(const char *what) {
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(125);
}

static int park(int fd) {
	int parked = fcntl(fd, F_DUPFD_CLOEXEC, LAUNCH_FD_ABOVE);
	if (parked < 0) give_up("descriptors");
	return parked;
}

static void enter_cgroup(int cgroup) {
	if (cgroup >= 0 && write(cgroup, "0", 1) != 1) give_up("entering the control group");
}

/* In the child: lay out the descriptors bwrap.h promises, and become bwrap. */
static _Noreturn void become_bwrap(const struct launch *launch, int orders, int complaints) {
	static char *const no_environment[] = {NULL};
	sigset_t none;
	int stdio[3];
	sigemptyset(&none);
	for (int i = 0; i < 3; i++) stdio[i] = fcntl(launch->options.stdio[i], F_DUPFD_CLOEXEC, LAUNCH_FD_ABOVE);
	if (setsid() < 0 || dup2(complaints, STDERR_FILENO) < 0) _exit(125);
	enter_cgroup(launch->options.cgroup);
	const int null = park(open("/dev/null", O_RDWR | O_CLOEXEC));
	const int init = open(launch->options.init_path, O_RDONLY | O_CLOEXEC);
	if (init < 0) give_up(launch->options.init_path);
	const int parked_init = park(init), parked_orders = park(orders);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(parked_orders, BWRAP_FD_ORDERS) < 0 ||
	    dup2(parked_init, BWRAP_FD_INIT) < 0)
		give_up("descriptors");
	for (int i = 0; i < 3; i++)
		if (dup2(stdio[i] < 0 ? null : stdio[i], BWRAP_FD_STDIO + i) < 0) give_up("standard descriptors");
	if (syscall(SYS_close_range, (unsigned)BWRAP_FD_COUNT, ~0U, 0U) < 0) give_up("close_range");
	for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(launch->argv.items[0], launch->argv.items, no_environment);
	give_up(launch->argv.items[0]);
	_exit(125);
}

static int open_end(pid_t pid) {
	return (int)syscall(SYS_pidfd_open, pid, 0U);
}

static int spawn(struct launch *launch, struct error *error) {
	int pair[2], complaints[2];
	strings_finish(&launch->argv);
	const struct bwrap_options options = {.program = bubblewrap_path(),
					      .root = launch->options.root,
					      .network_host = launch->options.network_host,
					      .disable_userns = launch->disable_userns};
	if (!options.program) return error_set(error, ENOENT, "bubblewrap is not installed (no /usr/bin/bwrap)");
	bwrap_arguments(&options, &launch->argv);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(error, "making a socket pair");
	const int on = 1; /* the kernel then says who sends: sbx-init's process id as seen from here */
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 || pipe2(complaints, O_CLOEXEC) < 0) {
		int r = error_errno(error, "making a socket");
		fd_close(pair[0]);
		fd_close(pair[1]);
		return r;
	}
	launch->orders = pair[0];
	launch->complaints = complaints[0];
	launch->bwrap = fork();
	if (launch->bwrap == 0) become_bwrap(launch, pair[1], complaints[1]);
	fd_close(pair[1]);
	fd_close(complaints[1]);
	if (launch->bwrap < 0) return used_up_errno(error, "starting bwrap");
	launch->bwrap_end = open_end(launch->bwrap);
	return launch->bwrap_end < 0 ? error_errno(error, "watching bwrap") : 0;
}

static bool has_ended(int pidfd) {
	struct pollfd polled = {.fd = pidfd, .events = POLLIN};
	int ready;
	do ready = poll(&polled, 1, LAUNCH_END_MS);
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

void launch_end(struct launch *launch) {
	if (!launch) return;
	/* sbx-init ends with this, and nobody outlives it (pid_namespaces(7)); only one that never came up needs more
	 */
	fd_close_p(&launch->orders);
	fd_close_p(&launch->complaints);
	const int end = launch->init_end >= 0 ? launch->init_end : launch->bwrap_end;
	if (end >= 0 && !has_ended(end)) kill(launch->bwrap, SIGKILL);
}

static void reap(struct launch *launch) {
	launch_end(launch);
	if (launch->bwrap <= 0) return;
	if (!has_ended(launch->bwrap_end)) kill(launch->bwrap, SIGKILL);
	while (waitpid(launch->bwrap, NULL, 0) < 0 && errno == EINTR) {
	}
	launch->bwrap = 0;
	fd_close_p(&launch->bwrap_end);
	fd_close_p(&launch->init_end);
}

int launch_start(const struct launch_options *options, struct launch **ret_launch, struct error *error) {
	CLEANUP_LAUNCH struct launch *launch = mem_new(struct launch);
	*launch = (struct launch){.options = *options,
				  .orders = -1,
				  .complaints = -1,
				  .bwrap_end = -1,
				  .init_end = -1,
				  .disable_userns = true};
	int r = spawn(launch, error);
	if (r < 0) return r;
	*ret_launch = STEAL(launch);
	return 0;
}

int launch_settle(struct launch *launch, const struct launch_options *options, struct error *error) {
	const struct launch_options had = launch->options;
	launch->options = *options;
	if (had.root == options->root && had.network_host == options->network_host && had.cgroup == options->cgroup)
		return 0;
	reap(launch);
	return spawn(launch, error);
}

/* What bwrap wrote before it ended, as one line. */
static char *read_complaint(int fd) {
	char text[LAUNCH_COMPLAINT_MAX + 1];
	size_t size = 0;
	for (ssize_t got;
	     size < LAUNCH_COMPLAINT_MAX && (got = read(fd, text + size, LAUNCH_COMPLAINT_MAX - size)) > 0;)
		size += (size_t)got;
	while (size > 0 && text[size - 1] == '\n') size--;
	text[size] = '\0';
	return text_visible(text);
}

static int receive_hello(struct launch *launch, pid_t *ret_init, struct error *error) {
	struct report report;
	pid_t sender;
	int flags;
	const ssize_t size = fd_receive_from(launch->orders, &report, sizeof report, &sender, &flags);
	if (size != sizeof report || sender <= 0 || report.kind != REPORT_HELLO)
		return error_set(error, EPIPE, "the sandbox did not start");
	const int off = 0;
	setsockopt(launch->orders, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
	launch->init_end = open_end(sender);
	if (launch->init_end < 0) return error_errno(error, "watching the sandbox");
	*ret_init = sender;
	return 0;
}

static int explain(struct launch *launch, const char *complaint, struct error *error) {
	static const char *const no_userns[] = {"No permissions to create new namespace",
						"Creating new namespace failed", "setting up uid map",
						"loopback: Failed RTM_NEWADDR"};
	const char *used_up = used_up_sentence(complaint);
	if (used_up) return error_set(error, EAGAIN, "making the sandbox: %s (%s)", used_up, complaint);
	for (size_t i = 0; i < ARRAY_LENGTH(no_userns); i++) {
		if (strstr(complaint, no_userns[i]))
			return error_set(
				error, EPERM,
				"this system keeps bubblewrap from making a sandbox (%s): `sbx doctor` says what to do",
				complaint);
	}
	(void)launch;
	return error_set(error, EPROTO, "making the sandbox: %s",
			 complaint[0] ? complaint : "bwrap ended without a word");
}

int launch_hello(struct launch *launch, pid_t *ret_init, struct error *error) {
	for (;;) {
		struct pollfd polled = {.fd = launch->orders, .events = POLLIN};
		int ready = poll(&polled, 1, LAUNCH_HELLO_MS);
		if (ready < 0 && errno == EINTR) continue;
		if (ready == 0)
			return error_set(error, ETIMEDOUT, "the sandbox did not start in %d s", LAUNCH_HELLO_MS / 1000);
		if (receive_hello(launch, ret_init, NULL) == 0) return 0;
		CLEANUP_FREE char *complaint = read_complaint(launch->complaints);
		/* before 0.8, or where the kernel has none left to give: the filter refuses new ones anyway */
		if (!launch->disable_userns || !strstr(complaint, "userns")) return explain(launch, complaint, error);
		reap(launch);
		launch->disable_userns = false;
		int r = spawn(launch, error);
		if (r < 0) return r;
	}
}

int launch_prepare(struct launch *launch, const struct order *order, const struct launch_orders *orders,
		   struct error *error) {
	const struct timeval limit = {.tv_sec = LAUNCH_HELLO_MS / 1000};
	setsockopt(launch->orders, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	int r = orders_send(launch->orders, order, orders, error);
	return r < 0 ? error_prefix(error, "starting the command") : fd_nonblocking(launch->orders, true, error);
}

int launch_order(struct launch *launch, enum order_kind kind, int value) {
	const struct order order = {.kind = kind, .value = value};
	int r = fd_send(launch->orders, &order, sizeof order, NULL);
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

/* One descriptor that a report names, in its place. */
static int take(const struct launch *launch, int *fd, const char *what, struct error *error) {
	if (*fd < 0) return 0;
	*fd = fd_take(launch->init_end, *fd, error);
	return *fd < 0 ? error_prefix(error, "%s", what) : 0;
}

static int take_all(const struct launch *launch, struct report *report, struct error *error) {
	int r = take(launch, &report->terminal, "the tool's terminal", error);
	if (r == 0) r = take(launch, &report->listener, "the tool's system calls", error);
	if (r < 0) fd_close_p(&report->terminal);
	return r;
}

int launch_report(struct launch *launch, struct report *ret_report, struct error *error) {
	ssize_t size = fd_receive(launch->orders, ret_report, sizeof *ret_report, NULL);
	/* sbx-init has ended without reading an order: said before what it sent (unix_release_sock in the kernel) */
	if (size == -ECONNRESET) size = fd_receive(launch->orders, ret_report, sizeof *ret_report, NULL);
	if (size == -EAGAIN) return 0;
	if (size != sizeof *ret_report) return -ECONNRESET;
	ret_report->text[sizeof ret_report->text - 1] = '\0';
	if (ret_report->kind != REPORT_READY) return 1;
	int r = take_all(launch, ret_report, error);
	return r < 0 ? r : 1;
}

int launch_fd(const struct launch *launch) {
	return launch->orders;
}

void launch_free(struct launch *launch) {
	if (!launch) return;
	reap(launch);
	strings_finish(&launch->argv);
	free(launch);
}
