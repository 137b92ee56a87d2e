/*
 * Theory of operation.
 *
 * One poll(2) over the socket and, for each run, a pidfd and the three pipes. A run ends in one of two ways. Its
 * program ends: what is left in the pipes is read (not waited for: somebody else may hold them open), and the report
 * goes out. Or it must end: its time is over, its output too long, sbxd has cancelled it; then the report goes out at
 * once, and its keeper (exec_keeper.h), whose number we have, gets SIGTERM. The keeper ends when nothing of the program
 * is left; a run where something won't die (it hangs in the kernel) keeps its slot until then.
 *
 * sbxd is what talks to clients, so it is what may be taken over; this process must not be the hole in its filter. So
 * an order is only a wish: which commands there are is read here, from the administrator's files (exec_lines.h).
 */
#include "executor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "exec_keeper.h"
#include "exec_lines.h"
#include "exec_wire.h"
#include "policy/exec_file.h"

enum {
	RUNS = 4 * LIMIT_EXEC_RUNNING, /* with room for those that don't die */
	READ_SIZE = 16 * 1024,
};

/* Growing with use; what is past `most` is not kept. */
struct buffer {
	struct string text;
	size_t most;
	bool over;
};

struct run {
	bool used;
	bool reported; /* only its keeper's end is awaited */
	uint64_t id;
	pid_t pid; /* of its keeper */
	int pidfd;
	int in, out, errors;
	char *input;
	size_t input_size, written;
	struct buffer output, said;
	int64_t deadline_ms;
};

struct executor {
	int socket;
	uid_t owner;
	struct exec_lines *lines;
	struct run runs[RUNS];
};

/* Reports */

static void report(const struct executor *executor, const struct exec_report *head, const char *output,
		   const char *errors) {
	struct iovec parts[] = {
		{(void *)head, sizeof *head}, {(void *)output, head->output_size}, {(void *)errors, head->errors_size}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LENGTH(parts)};
	ssize_t sent;
	do sent = sendmsg(executor->socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	/* Without sbxd there is nobody to work for; the socket's end is seen by the loop. */
}

static void report_refused(const struct executor *executor, uint64_t id, const char *why) {
	size_t size = strlen(why);
	const struct exec_report head = {.id = id,
					 .outcome = EXEC_REFUSED,
					 .errors_size =
						 (uint32_t)(size < LIMIT_EXEC_ERRORS ? size : LIMIT_EXEC_ERRORS)};
	report(executor, &head, NULL, why);
}

static void report_run(const struct executor *executor, const struct run *run, enum exec_outcome outcome, int number) {
	const struct exec_report head = {.id = run->id,
					 .outcome = outcome,
					 .number = number,
					 .output_size = (uint32_t)run->output.text.size,
					 .errors_size = (uint32_t)run->said.text.size};
	report(executor, &head, run->output.text.data, run->said.text.data);
}

/* Runs */

static void close_pipe(int *fd) {
	fd_close(*fd);
	*fd = -1;
}

static void run_release(struct run *run) {
	close_pipe(&run->in);
	close_pipe(&run->out);
	close_pipe(&run->errors);
	close_pipe(&run->pidfd);
	free(run->input);
	string_finish(&run->output.text);
	string_finish(&run->said.text);
	*run = (struct run){0};
}

static void run_reap(const struct run *run, siginfo_t *ret_how) {
	while (waitid(P_PID, (id_t)run->pid, ret_how, WEXITED) < 0 && errno == EINTR)
		;
}

static void run_cut(const struct executor *executor, struct run *run, enum exec_outcome outcome) {
	kill(run->pid, SIGTERM);
	report_run(executor, run, outcome, 0);
	run->reported = true;
	close_pipe(&run->in);
	close_pipe(&run->out);
	close_pipe(&run->errors);
}

/* False at the end of file. */
static bool buffer_read(struct buffer *buffer, int fd) {
	char bytes[READ_SIZE];
	for (;;) {
		ssize_t got = read(fd, bytes, sizeof bytes);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
		if (got == 0) return false;
		size_t room = buffer->most - buffer->text.size, size = (size_t)got;
		buffer->over |= size > room;
		string_append_bytes(&buffer->text, bytes, size < room ? size : room);
		/* Who writes without end mustn't keep us here. */
		if (buffer->over) return true;
	}
}

static void run_ended(const struct executor *executor, struct run *run) {
	siginfo_t how = {0};
	if (!run->reported) {
		if (run->out >= 0) buffer_read(&run->output, run->out);
		if (run->errors >= 0) buffer_read(&run->said, run->errors);
	}
	run_reap(run, &how);
	enum exec_outcome outcome = run->output.over            ? EXEC_TOO_LONG
				    : how.si_code == CLD_EXITED ? EXEC_ENDED
								: EXEC_KILLED;
	if (!run->reported) report_run(executor, run, outcome, outcome == EXEC_TOO_LONG ? 0 : how.si_status);
	run_release(run);
}

static void run_write(struct run *run) {
	ssize_t put = write(run->in, run->input + run->written, run->input_size - run->written);
	if (put > 0) run->written += (size_t)put;
	bool later = put < 0 && (errno == EAGAIN || errno == EINTR);
	/* Who decides without reading may. */
	if (!later && (put < 0 || run->written == run->input_size)) close_pipe(&run->in);
}

/* Starting */

/* ends[0..2] are the program's stdin, stdout, stderr; the others ours. Above 2, as 0 to 2 are /dev/null. */
static int make_pipes(int theirs[3], int ours[3], struct error *error) {
	for (int i = 0; i < 3; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0) return error_errno(error, "making a pipe");
		theirs[i] = ends[i == 0 ? 0 : 1];
		ours[i] = ends[i == 0 ? 1 : 0];
		int r = fd_nonblocking(ours[i], true, error);
		if (r < 0) return r;
	}
	return 0;
}

static int spawn(struct run *run, char *const *argv, struct error *error) {
	int theirs[3] = {-1, -1, -1}, ours[3] = {-1, -1, -1};
	int r = make_pipes(theirs, ours, error);
	pid_t self = getpid();
	if (r == 0) {
		run->pid = fork();
		if (run->pid == 0) exec_keeper_run(argv, theirs, self);
		if (run->pid < 0) r = error_errno(error, "starting a process");
	}
	for (int i = 0; i < 3; i++) fd_close(theirs[i]);
	run->in = ours[0];
	run->out = ours[1];
	run->errors = ours[2];
	if (r < 0) return r;
	run->pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0);
	if (run->pidfd >= 0) return 0;
	r = error_errno(error, "holding a process");
	siginfo_t how;
	kill(run->pid, SIGTERM);
	run_reap(run, &how);
	return r;
}

static struct run *find_run(struct executor *executor, bool used, uint64_t id) {
	for (size_t i = 0; i < RUNS; i++)
		if (executor->runs[i].used == used && (!used || executor->runs[i].id == id)) return &executor->runs[i];
	return NULL;
}

static void run_start(struct executor *executor, const struct exec_order *order, char *const *argv, const char *input) {
	struct error error = ERROR_NONE;
	struct run *run = find_run(executor, false, 0);
	if (!run) {
		report_refused(executor, order->id, "too many programs before it do not end");
		return;
	}
	int r = exec_lines_has(executor->lines, argv, order->timeout_ms)
			? exec_file_check(argv[0], executor->owner, &error)
			: error_set(&error, EPERM, "its line isn't in the stack on the disk");
	if (r == 0) {
		*run = (struct run){.used = true, .id = order->id, .pidfd = -1, .in = -1, .out = -1, .errors = -1};
		r = spawn(run, argv, &error);
		if (r < 0) run_release(run);
	}
	if (r < 0) {
		report_refused(executor, order->id, error.message);
		return;
	}
	run->input = mem_copy(input, order->input_size);
	run->input_size = order->input_size;
	run->output.most = LIMIT_EXEC_OUTPUT;
	run->said.most = LIMIT_EXEC_ERRORS;
	run->deadline_ms = clock_ms(CLOCK_MONOTONIC) + order->timeout_ms;
}

/* Orders */

static void obey(struct executor *executor, const char *bytes, size_t size) {
	struct exec_order order;
	if (size < sizeof order) return;
	memcpy(&order, bytes, sizeof order);
	const char *command = bytes + sizeof order;
	if (order.words == 0) {
		struct run *run = find_run(executor, true, order.id);
		if (run && !run->reported) run_cut(executor, run, EXEC_CANCELLED);
		return;
	}
	if (order.words > LIMIT_EXEC_WORDS || size != sizeof order + order.command_size + order.input_size) return;
	char *argv[LIMIT_EXEC_WORDS + 1] = {0};
	const char *end = command + order.command_size;
	for (uint32_t i = 0; i < order.words; i++) {
		const char *stop = memchr(command, '\0', (size_t)(end - command));
		if (!stop) return;
		argv[i] = (char *)command;
		command = stop + 1;
	}
	run_start(executor, &order, argv, end);
}

/* False when sbxd has gone. */
static bool take_order(struct executor *executor) {
	static char bytes[EXEC_ORDER_MAX];
	ssize_t got = recv(executor->socket, bytes, sizeof bytes, MSG_DONTWAIT);
	if (got < 0) return errno == EAGAIN || errno == EINTR;
	if (got > 0) obey(executor, bytes, (size_t)got);
	return got > 0;
}

/* The loop */

enum { POLLED_OF_RUN = 4 };

static void poll_run(const struct run *run, struct pollfd polled[POLLED_OF_RUN]) {
	/* poll(2) passes over what is negative. */
	polled[0] = (struct pollfd){.fd = run->used ? run->pidfd : -1, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = run->used ? run->in : -1, .events = POLLOUT};
	polled[2] = (struct pollfd){.fd = run->used ? run->out : -1, .events = POLLIN};
	polled[3] = (struct pollfd){.fd = run->used ? run->errors : -1, .events = POLLIN};
}

static void serve_run(const struct executor *executor, struct run *run, const struct pollfd polled[POLLED_OF_RUN]) {
	if (polled[1].revents) run_write(run);
	if (polled[2].revents && !buffer_read(&run->output, run->out)) close_pipe(&run->out);
	if (polled[3].revents && !buffer_read(&run->said, run->errors)) close_pipe(&run->errors);
	if (polled[0].revents)
		run_ended(executor, run);
	else if (run->output.over && !run->reported)
		run_cut(executor, run, EXEC_TOO_LONG);
	else if (!run->reported && clock_ms(CLOCK_MONOTONIC) >= run->deadline_ms)
		run_cut(executor, run, EXEC_TIMED_OUT);
}

static int wait_ms(const struct executor *executor) {
	int64_t next = INT64_MAX, now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = 0; i < RUNS; i++) {
		const struct run *run = &executor->runs[i];
		if (run->used && !run->reported && run->deadline_ms < next) next = run->deadline_ms;
	}
	if (next == INT64_MAX) return -1;
	return next <= now ? 0 : (int)(next - now);
}

static void loop(struct executor *executor) {
	struct pollfd polled[1 + POLLED_OF_RUN * RUNS];
	for (;;) {
		polled[0] = (struct pollfd){.fd = executor->socket, .events = POLLIN};
		for (size_t i = 0; i < RUNS; i++) poll_run(&executor->runs[i], &polled[1 + POLLED_OF_RUN * i]);
		if (poll(polled, ARRAY_LENGTH(polled), wait_ms(executor)) < 0 && errno != EINTR) return;
		for (size_t i = 0; i < RUNS; i++)
			if (executor->runs[i].used)
				serve_run(executor, &executor->runs[i], &polled[1 + POLLED_OF_RUN * i]);
		if (polled[0].revents && !take_order(executor)) return;
	}
}

/* The process */

static void leave_everything(int *socket) {
	prctl(PR_SET_NAME, "sbxd-exec", 0, 0, 0);
	setsid(); /* the terminal's signals are for sbxd */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	/* Its lock and its listening socket, if we kept them, would outlive sbxd. */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++) dup2(null, i);
	if (dup2(*socket, 3) < 0 || chdir("/") < 0) _exit(1);
	*socket = 3;
	fcntl(3, F_SETFD, FD_CLOEXEC);
	close_range(4, ~0U, 0);
}

_Noreturn static void executor_main(int socket, const char *folder, uid_t owner) {
	leave_everything(&socket);
	struct executor *executor = mem_new(struct executor);
	executor->socket = socket;
	executor->owner = owner;
	executor->lines = exec_lines_new(folder, owner);
	loop(executor);
	_exit(0); /* which the keepers are told of */
}

int executor_start(const char *folder, uid_t owner, int *ret_socket, struct error *error) {
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(error, "making a pair of sockets");
	pid_t pid = fork();
	if (pid < 0) {
		int r = error_errno(error, "starting the executor");
		fd_close(ends[0]);
		fd_close(ends[1]);
		return r;
	}
	if (pid == 0) {
		fd_close(ends[0]);
		executor_main(ends[1], folder, owner);
	}
	fd_close(ends[1]);
	*ret_socket = ends[0];
	return 0;
}
