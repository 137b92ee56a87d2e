/*
 * Theory of operation
 *
 *     tool ──▶ pipe of ours ──▶ the descriptor that the run was given ──▶ tee, less, a shell …
 *
 * A question is drawn on the terminal, and whoever reads the tool's output may write it to the same terminal, over the
 * question. So the tool has a pipe of ours instead, whose content is passed on, but for the time of a question. The
 * tool's processes go on; who writes more than the pipe holds waits in write(2).
 *
 * The description that others share stays as it is: a pipe is opened anew, a socket is asked not to wait. Of a pipe
 * that can't be (another user's) poll(2) says that PIPE_BUF bytes have room (pipe_full in fs/pipe.c), so as many are
 * written. Bytes are copied and not spliced: splice(2) takes a place of the pipe for each piece, however small, and who
 * waits for our end before they read would wait for ever for some lines. Two descriptors of one file (`2>&1 |`) have
 * one pipe, which keeps their order.
 *
 * A pipe whose readers have ended says POLLERR to who would write (pipe_poll in fs/pipe.c), also to one who waits for
 * input there, which never comes: that is how we learn of it while the tool is silent. Then our end is closed, and the
 * tool's next write(2) meets the same error as without us.
 *
 * Left as they are: a terminal (terminal.h), a file, a device, datagrams of SOCK_SEQPACKET, and a socket that is
 * standard input as well, which the tool reads from and shuts down (inetd).
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"

enum { OUTPUTS = 2, OUTPUT_BUFFER = 64 * 1024, OUTPUT_PIPE = 256 * 1024, OUTPUT_TURNS = 16 };

struct outlet {
	int in, tools; /* our pipe: -1 when it has ended; until output_begin */
	int out;       /* -1: there is no outlet */
	bool socket;
	bool shared; /* with others who may have it block */
	struct event *readable, *writable, *reader;
	size_t start, end; /* of the buffer */
	char buffer[OUTPUT_BUFFER];
};

struct output {
	unsigned held; /* reasons */
	struct outlet outlets[OUTPUTS];
};

/* Passing on */

static bool has_more(const struct outlet *outlet) {
	return outlet->start < outlet->end;
}

static bool has_room(const struct outlet *outlet) {
	struct pollfd polled = {.fd = outlet->out, .events = POLLOUT};
	return poll(&polled, 1, 0) > 0;
}

static ssize_t put(const struct outlet *outlet, const char *bytes, size_t size) {
	if (outlet->socket) return send(outlet->out, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (!outlet->shared) return write(outlet->out, bytes, size);
	if (has_room(outlet)) return write(outlet->out, bytes, size < PIPE_BUF ? size : PIPE_BUF);
	errno = EAGAIN;
	return -1;
}

/* As write(2), but for 0: there is nothing any more. */
static ssize_t pass(struct outlet *outlet) {
	if (!has_more(outlet)) {
		const ssize_t got = read(outlet->in, outlet->buffer, sizeof outlet->buffer);
		if (got <= 0) return got;
		outlet->start = 0;
		outlet->end = (size_t)got;
	}
	const ssize_t passed = put(outlet, outlet->buffer + outlet->start, outlet->end - outlet->start);
	if (passed > 0) outlet->start += (size_t)passed;
	return passed;
}

/* Nobody writes any more, or nobody reads. */
static bool is_over(ssize_t passed) {
	return passed == 0 || (passed < 0 && errno != EAGAIN && errno != EINTR);
}

static void free_event(struct event **event) {
	if (*event) event_free(*event);
	*event = NULL;
}

static void end(struct outlet *outlet) {
	free_event(&outlet->readable);
	free_event(&outlet->writable);
	free_event(&outlet->reader);
	fd_close_p(&outlet->in);
	fd_close_p(&outlet->tools);
	outlet->start = outlet->end = 0;
}

/* Waiting for the one or the other, in epoll(7) only when that is another than before. */
static void await(struct event *event, bool wanted) {
	if (event_pending(event, EV_READ | EV_WRITE, NULL) == wanted) return;
	if (wanted)
		event_add(event, NULL);
	else
		event_del(event);
}

static void arm(struct outlet *outlet, bool held) {
	if (outlet->in < 0) return;
	await(outlet->readable, !held && !has_more(outlet));
	await(outlet->writable, !held && has_more(outlet));
}

/* Some at a time, so that the loop serves others, too. */
static void on_ready(evutil_socket_t fd, short what, void *argument) {
	struct outlet *outlet = argument;
	ssize_t passed = 1;
	(void)fd, (void)what;
	for (int i = 0; i < OUTPUT_TURNS && passed > 0; i++) passed = pass(outlet);
	if (is_over(passed)) end(outlet);
	arm(outlet, false);
}

static bool reader_has_ended(const struct outlet *outlet) {
	struct pollfd polled = {.fd = outlet->out};
	return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLERR | POLLHUP));
}

static void on_reader(evutil_socket_t fd, short what, void *argument) {
	struct outlet *outlet = argument;
	(void)fd, (void)what;
	if (reader_has_ended(outlet)) end(outlet);
}

/* Beginning */

static bool is_same(const struct stat *a, const struct stat *b) {
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_stream(int fd) {
	int type = 0;
	socklen_t size = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

static bool leads_elsewhere(int fd, const struct stat *status) {
	return (S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode)) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

static bool passes_on(int fd, const struct stat *status, const struct stat *input) {
	return leads_elsewhere(fd, status) && (S_ISFIFO(status->st_mode) || (is_stream(fd) && !is_same(status, input)));
}

static bool has_terminal(void) {
	CLEANUP_FD int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return terminal >= 0;
}

static int open_outlet(struct event_base *base, int given, struct outlet *outlet, struct error *error) {
	CLEANUP_FREE char *path = string_format("/proc/self/fd/%d", given);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) return error_errno(error, "making a pipe");
	outlet->in = ends[0];
	outlet->tools = ends[1];
	outlet->socket = fcntl(given, F_GETPIPE_SZ) < 0;
	outlet->out = outlet->socket ? -1 : open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	outlet->shared = outlet->out < 0;
	if (outlet->shared) outlet->out = fcntl(given, F_DUPFD_CLOEXEC, 0);
	if (outlet->out < 0) return error_errno(error, "a standard output");
	outlet->readable = mem_expect(event_new(base, outlet->in, EV_READ | EV_PERSIST, on_ready, outlet));
	outlet->writable = mem_expect(event_new(base, outlet->out, EV_WRITE | EV_PERSIST, on_ready, outlet));
	if (!outlet->socket && (fcntl(given, F_GETFL) & O_ACCMODE) == O_WRONLY)
		outlet->reader = mem_expect(event_new(base, outlet->out, EV_READ | EV_PERSIST, on_reader, outlet));
	fcntl(outlet->in, F_SETPIPE_SZ, OUTPUT_PIPE); /* less is as good, but slower */
	return fd_nonblocking(outlet->in, true, error);
}

int output_new(struct event_base *base, int stdio[3], struct output **ret_output, struct error *error) {
	struct stat status[3] = {0};
	bool elsewhere = false;
	for (int i = 0; i < 3; i++) elsewhere |= fstat(i, &status[i]) == 0 && leads_elsewhere(i, &status[i]);
	if (!elsewhere || !has_terminal()) return 0;
	struct output *output = mem_new(struct output);
	const bool passed[] = {false, passes_on(1, &status[1], &status[0]), passes_on(2, &status[2], &status[0])};
	const bool shared = passed[1] && passed[2] && is_same(&status[1], &status[2]);
	int r = 0;
	for (int i = 0; i < OUTPUTS; i++) {
		struct outlet *outlet = &output->outlets[i];
		outlet->in = outlet->tools = outlet->out = -1;
		if (r == 0 && passed[i + 1] && !(i == 1 && shared)) r = open_outlet(base, i + 1, outlet, error);
		if (r == 0 && outlet->in >= 0) stdio[i + 1] = outlet->tools;
	}
	if (shared) stdio[2] = stdio[1];
	*ret_output = output;
	return r;
}

void output_begin(struct output *output) {
	for (size_t i = 0; output && i < OUTPUTS; i++) {
		struct outlet *outlet = &output->outlets[i];
		fd_close_p(&outlet->tools);
		if (outlet->reader) event_add(outlet->reader, NULL);
		arm(outlet, output->held != 0);
	}
}

/* Around a question */

void output_hold(struct output *output, enum output_reason why, bool held) {
	if (!output) return;
	output->held = held ? output->held | why : output->held & ~(unsigned)why;
	for (size_t i = 0; i < OUTPUTS; i++) arm(&output->outlets[i], output->held != 0);
}

bool output_is_read(const struct output *output) {
	for (size_t i = 0; output && i < OUTPUTS; i++) {
		const struct outlet *outlet = &output->outlets[i];
		int left = 0;
		if (outlet->out < 0) continue;
		if (ioctl(outlet->out, outlet->socket ? SIOCOUTQ : FIONREAD, &left) < 0) return false;
		if (left > 0 && !reader_has_ended(outlet)) return false;
	}
	return true;
}

void output_leave(struct output *output) {
	for (size_t i = 0; output && i < OUTPUTS; i++) {
		fd_close_p(&output->outlets[i].in);
		fd_close_p(&output->outlets[i].tools);
	}
}

/* The end */

static bool is_empty(const struct outlet *outlet) {
	int left = 0;
	return !has_more(outlet) && ioctl(outlet->in, FIONREAD, &left) == 0 && left == 0;
}

bool output_has_more(const struct output *output) {
	for (size_t i = 0; output && i < OUTPUTS; i++)
		if (output->outlets[i].in >= 0 && !is_empty(&output->outlets[i])) return true;
	return !output_is_read(output);
}

static void drain(struct outlet *outlet, int ms) {
	struct pollfd room = {.fd = outlet->out, .events = POLLOUT};
	while (outlet->in >= 0 && !is_empty(outlet)) {
		const ssize_t passed = pass(outlet);
		if (is_over(passed)) return;
		if (passed < 0 && poll(&room, 1, ms) == 0) return;
	}
}

void output_drain(struct output *output, bool patiently) {
	for (size_t i = 0; output && i < OUTPUTS; i++) drain(&output->outlets[i], patiently ? -1 : 0);
}

void output_free(struct output *output) {
	for (size_t i = 0; output && i < OUTPUTS; i++) {
		end(&output->outlets[i]);
		fd_close(output->outlets[i].out);
	}
	free(output);
}
