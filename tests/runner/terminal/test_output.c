/* What the tool writes to a pipe or socket that isn't ours: passed on, held, ended with its reader, and whole. */
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "terminal/output.h"

enum { PATIENCE_MS = 20 * 1000, QUIET_MS = 100, MUCH = 1024 * 1024 };

/* A runner without a sandbox, in a process and a session of its own, does what it is told by a byte of a pipe. */
struct runner {
	pid_t pid;
	int orders, replies;
	int reader; /* of its standard output */
};

/* In the runner: the tool is a process that does what `tool` says, as 0, 1 and 2. */
static pid_t start_tool(const int stdio[3], void (*tool)(void)) {
	const pid_t pid = fork();
	if (pid != 0) return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	const int parked[] = {fcntl(stdio[1], F_DUPFD, 64), fcntl(stdio[2], F_DUPFD, 64)};
	dup2(parked[0], 1);
	dup2(parked[1], 2);
	syscall(SYS_close_range, 3U, ~0U, 0U);
	tool();
	_exit(0);
}

struct playing {
	struct event_base *base;
	struct output *output;
	pid_t tool;
	bool awaited;
	struct event *child;
	int orders, replies;
};

/* Meanwhile the loop goes on. */
static void on_child(evutil_socket_t fd, short what, void *argument) {
	const struct playing *playing = argument;
	int status = 0;
	(void)fd, (void)what;
	if (!playing->awaited || waitpid(playing->tool, &status, WNOHANG) != playing->tool) return;
	const char reply = (char)(WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status));
	if (write(playing->replies, &reply, 1) < 1) _exit(1);
}

static void on_order(evutil_socket_t fd, short what, void *argument) {
	struct playing *playing = argument;
	char order = 'q', reply = 0;
	(void)what;
	if (read(fd, &order, 1) < 1 || order == 'q') _exit(0);
	if (order == 'h' || order == 'g') output_hold(playing->output, OUTPUT_OWN_QUESTION, order == 'h');
	if (order == 'r') reply = output_is_read(playing->output);
	if (order == 'm') reply = output_has_more(playing->output);
	if (order == 'w') {
		playing->awaited = true;
		event_active(playing->child, EV_SIGNAL, 1);
		return;
	}
	if (order == 'd') output_drain(playing->output, true);
	if (write(playing->replies, &reply, 1) < 1) _exit(1);
}

static _Noreturn void play(int orders, int replies, void (*tool)(void)) {
	struct playing playing = {.base = loop_new(), .orders = orders, .replies = replies};
	int stdio[] = {0, 1, 2};
	struct error error = ERROR_NONE;
	signal(SIGPIPE, SIG_IGN);
	if (output_new(playing.base, stdio, &playing.output, &error) < 0) _exit(2);
	const char relayed = (char)((stdio[1] != 1) + 2 * (stdio[2] != 2));
	playing.child = evsignal_new(playing.base, SIGCHLD, on_child, &playing);
	event_add(playing.child, NULL);
	playing.tool = start_tool(stdio, tool);
	output_begin(playing.output);
	struct event *event = event_new(playing.base, orders, EV_READ | EV_PERSIST, on_order, &playing);
	event_add(event, NULL);
	if (write(replies, &relayed, 1) < 1) _exit(1);
	event_base_dispatch(playing.base);
	_exit(0);
}

/* With these as 1 and 2, and a controlling terminal unless `detached`. */
static char begin_with(struct runner *runner, int out, int err, bool detached, void (*tool)(void)) {
	int orders[2], replies[2], master, slave;
	char relayed = -1;
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(replies), 0);
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	runner->pid = fork();
	assert_true(runner->pid >= 0);
	if (runner->pid == 0) {
		const int null = open("/dev/null", O_RDWR);
		setsid();
		if (!detached) ioctl(slave, TIOCSCTTY, 0);
		const int parked[] = {fcntl(out, F_DUPFD, 64), fcntl(err, F_DUPFD, 64), fcntl(orders[0], F_DUPFD, 64),
				      fcntl(replies[1], F_DUPFD, 64), fcntl(slave, F_DUPFD, 64)};
		dup2(null, 0);
		dup2(parked[0], 1);
		dup2(parked[1], 2);
		syscall(SYS_close_range, 3U, 63U, 0U);
		close(parked[0]);
		close(parked[1]);
		play(parked[2], parked[3], tool);
	}
	close(orders[0]);
	close(replies[1]);
	close(slave);
	close(out);
	if (err != out) close(err);
	runner->orders = orders[1];
	runner->replies = replies[0];
	assert_int_equal(read(runner->replies, &relayed, 1), 1);
	return relayed;
}

static void begin(struct runner *runner, void (*tool)(void)) {
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	runner->reader = ends[0];
	assert_int_equal(begin_with(runner, ends[1], ends[1], false, tool), 3);
}

static void tell(const struct runner *runner, char what) {
	assert_int_equal(write(runner->orders, &what, 1), 1);
}

static char hear(const struct runner *runner) {
	char reply = -1;
	assert_int_equal(read(runner->replies, &reply, 1), 1);
	return reply;
}

static char order(const struct runner *runner, char what) {
	tell(runner, what);
	return hear(runner);
}

static void finish(struct runner *runner) {
	assert_int_equal(write(runner->orders, "q", 1), 1);
	assert_int_equal(waitpid(runner->pid, NULL, 0), runner->pid);
	close(runner->orders);
	close(runner->replies);
	fd_close(runner->reader);
}

static bool readable(int fd, int ms) {
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	return poll(&polled, 1, ms) == 1;
}

static void expect(int fd, const char *text) {
	CLEANUP_STRING struct string got = {0};
	while (got.size < strlen(text)) {
		char block[64];
		assert_true(readable(fd, PATIENCE_MS));
		const ssize_t size = read(
			fd, block, strlen(text) - got.size < sizeof block ? strlen(text) - got.size : sizeof block);
		assert_true(size > 0);
		string_append_bytes(&got, block, (size_t)size);
	}
	assert_string_equal(got.data, text);
}

/* Tools */

static void say(int fd, const char *text) {
	if (write(fd, text, strlen(text)) < 0) _exit(3);
}

static void speak_on_both(void) {
	say(1, "one ");
	say(2, "two ");
	say(1, "three.");
	pause();
}

/* Numbered, so that what is lost, doubled or out of order is seen. */
static void speak_much(void) {
	for (uint32_t i = 0; i < MUCH / sizeof i; i++)
		if (write(1, &i, sizeof i) != sizeof i) _exit(3);
}

static void wait_and_speak(void) {
	say(1, "x");
	for (;;) say(1, "again");
}

static void be_silent(void) {
	struct pollfd polled = {.fd = 1};
	say(1, "x");
	poll(&polled, 1, -1); /* POLLERR: nobody reads */
	say(1, "x");
}

static void speak_slowly(void) {
	for (int i = 0; i < 500; i++) {
		say(1, "a line\n");
		usleep(200);
	}
}

static uint32_t numbers_in(int fd, uint32_t from, uint32_t to) {
	static char bytes[64 * 1024];
	size_t kept = 0;
	while (from < to) {
		assert_true(readable(fd, PATIENCE_MS));
		const ssize_t size = read(fd, bytes + kept, sizeof bytes - kept);
		assert_true(size > 0);
		const size_t all = kept + (size_t)size;
		for (kept = 0; kept + 4 <= all; kept += 4, from++) {
			uint32_t number;
			memcpy(&number, bytes + kept, 4);
			assert_int_equal(number, from);
		}
		memmove(bytes, bytes + kept, all - kept);
		kept = all - kept;
	}
	return from;
}

/* Tests */

static void test_both_are_one_pipe_where_they_were(void **state) {
	struct runner runner;
	(void)state;
	begin(&runner, speak_on_both);
	expect(runner.reader, "one two three.");
	finish(&runner);
}

static void test_what_is_not_read_by_others_is_left_alone(void **state) {
	struct runner runner = {.reader = -1};
	int ends[2];
	(void)state;
	const int null = open("/dev/null", O_WRONLY);
	assert_int_equal(begin_with(&runner, null, null, false, be_silent), 0);
	finish(&runner);
	assert_int_equal(pipe(ends), 0);
	runner.reader = ends[0];
	assert_int_equal(begin_with(&runner, ends[1], ends[1], true, be_silent), 0); /* nobody can be asked */
	finish(&runner);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	runner.reader = ends[0];
	assert_int_equal(begin_with(&runner, ends[1], ends[1], false, be_silent), 0);
	finish(&runner);
}

/* Whose numbers up to `got` were read: reads those that were handed on before, and returns the last of them. */
static uint32_t hold_after(const struct runner *runner, uint32_t got) {
	int left = 0;
	order(runner, 'h');
	assert_int_equal(ioctl(runner->reader, FIONREAD, &left), 0);
	const uint32_t before = left > 0 ? numbers_in(runner->reader, got, got + (uint32_t)left / 4) : got;
	assert_int_equal(order(runner, 'r'), 1);
	return before;
}

static void attack_r_19_nothing_comes_while_held_and_all_afterwards(void **state) {
	struct runner runner;
	(void)state;
	begin(&runner, speak_much);
	const uint32_t before = hold_after(&runner, numbers_in(runner.reader, 0, 1000));
	assert_false(readable(runner.reader, QUIET_MS));
	order(&runner, 'g');
	numbers_in(runner.reader, before, MUCH / 4);
	assert_int_equal(order(&runner, 'w'), 0);
	finish(&runner);
}

static void test_what_is_not_read_yet_is_told(void **state) {
	struct runner runner;
	(void)state;
	begin(&runner, speak_on_both);
	assert_true(readable(runner.reader, PATIENCE_MS));
	assert_int_equal(order(&runner, 'r'), 0);
	assert_int_equal(order(&runner, 'm'), 1);
	expect(runner.reader, "one two three.");
	assert_int_equal(order(&runner, 'r'), 1);
	assert_int_equal(order(&runner, 'm'), 0);
	finish(&runner);
}

/* The tool fills its pipe when it has the processor. */
static bool has_more_soon(const struct runner *runner) {
	bool more = order(runner, 'm') == 1;
	for (int waited = 0; !more && waited < PATIENCE_MS; waited += 10) {
		usleep(10 * 1000);
		more = order(runner, 'm') == 1;
	}
	return more;
}

static void attack_r_19_what_is_held_is_told(void **state) {
	struct runner runner;
	(void)state;
	begin(&runner, speak_much);
	hold_after(&runner, numbers_in(runner.reader, 0, 1000));
	assert_true(has_more_soon(&runner));
	finish(&runner);
}

static void test_the_reader_ends_and_so_does_the_writer(void **state) {
	static void (*const tools[])(void) = {wait_and_speak, be_silent};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
		for (int held = 0; held < 2; held++) {
			struct runner runner;
			begin(&runner, tools[i]);
			expect(runner.reader, "x");
			if (held) order(&runner, 'h');
			fd_close_p(&runner.reader);
			assert_int_equal(order(&runner, 'w'), SIGPIPE);
			finish(&runner);
		}
	}
}

static void test_the_shared_description_keeps_its_flags(void **state) {
	struct runner runner;
	int ends[2];
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const int ours = fcntl(ends[1], F_DUPFD_CLOEXEC, 64);
	runner.reader = ends[0];
	begin_with(&runner, ends[1], ends[1], false, speak_on_both);
	expect(runner.reader, "one two three.");
	assert_int_equal(fcntl(ours, F_GETFL) & O_NONBLOCK, 0);
	finish(&runner);
	close(ours);
}

static void test_a_socket_gets_all(void **state) {
	struct runner runner;
	int ends[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	runner.reader = ends[0];
	assert_int_equal(begin_with(&runner, ends[1], ends[1], false, speak_much), 3);
	numbers_in(runner.reader, 0, 1000);
	order(&runner, 'h');
	order(&runner, 'g');
	finish(&runner);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	runner.reader = ends[0];
	begin_with(&runner, ends[1], ends[1], false, speak_much);
	numbers_in(runner.reader, 0, MUCH / 4);
	finish(&runner);
}

/* The tool's end is that of what it wrote, however slow who reads it is. */
static void test_what_is_left_is_handed_on_at_the_end(void **state) {
	struct runner runner;
	(void)state;
	begin(&runner, speak_much);
	const uint32_t got = numbers_in(runner.reader, 0, MUCH / 4 - 10 * 1000);
	assert_int_equal(order(&runner, 'w'), 0);
	tell(&runner, 'd');
	numbers_in(runner.reader, got, MUCH / 4);
	hear(&runner);
	assert_false(readable(runner.reader, 0));
	finish(&runner);
}

/* Of another user's, say: it is written to as it is, and never waited for. */
static void test_a_pipe_that_can_not_be_opened_anew_gets_all(void **state) {
	struct runner runner;
	int ends[2];
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fchmod(ends[1], 0), 0);
	runner.reader = ends[0];
	assert_int_equal(begin_with(&runner, ends[1], ends[1], false, speak_much), 3);
	assert_true(readable(runner.reader, PATIENCE_MS));
	order(&runner, 'h'); /* the loop goes on though nobody reads */
	order(&runner, 'g');
	numbers_in(runner.reader, 0, MUCH / 4);
	finish(&runner);
}

/* Who waits for the end of a command before they read has as much room as without us (pipe(7)). */
static void test_short_lines_need_no_reader(void **state) {
	struct runner runner;
	int left = 0;
	(void)state;
	begin(&runner, speak_slowly);
	assert_int_equal(order(&runner, 'w'), 0);
	order(&runner, 'd');
	assert_int_equal(ioctl(runner.reader, FIONREAD, &left), 0);
	assert_int_equal(left, 500 * 7);
	finish(&runner);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_are_one_pipe_where_they_were),
		cmocka_unit_test(test_what_is_not_read_by_others_is_left_alone),
		cmocka_unit_test(attack_r_19_nothing_comes_while_held_and_all_afterwards),
		cmocka_unit_test(test_what_is_not_read_yet_is_told),
		cmocka_unit_test(attack_r_19_what_is_held_is_told),
		cmocka_unit_test(test_the_reader_ends_and_so_does_the_writer),
		cmocka_unit_test(test_the_shared_description_keeps_its_flags),
		cmocka_unit_test(test_a_socket_gets_all),
		cmocka_unit_test(test_a_pipe_that_can_not_be_opened_anew_gets_all),
		cmocka_unit_test(test_short_lines_need_no_reader),
		cmocka_unit_test(test_what_is_left_is_handed_on_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
