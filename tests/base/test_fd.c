#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/cmocka.h"
#include "support/passing.h"

struct pair {
	int ends[2];
};

static int make_pair(void **state) {
	struct pair *pair = mem_new(struct pair);
	*state = pair;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair->ends);
}

static int drop_pair(void **state) {
	struct pair *pair = *state;
	fd_close(pair->ends[0]);
	fd_close(pair->ends[1]);
	free(pair);
	return 0;
}

/* The number that the next descriptor gets. */
static int next_number(void) {
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd_close(fd);
	return fd;
}

static void messages_travel_and_descriptors_do_not(void **state) {
	struct pair *pair = *state;
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC), next = next_number();
	char bytes[16];
	assert_int_equal(fd_send(pair->ends[0], "hi", 2, NULL), 0);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, NULL), 2);
	assert_int_equal(passing_send(pair->ends[0], "hi", 2, (int[]){null, null, null}, 3), 0);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, NULL), 2);
	assert_memory_equal(bytes, "hi", 2);
	assert_int_equal(next_number(), next);
	fd_close(null);
}

static void cut_messages_are_refused_whole(void **state) {
	struct pair *pair = *state;
	char bytes[4];
	struct error error = ERROR_NONE;
	assert_int_equal(fd_send(pair->ends[0], "too long", 8, NULL), 0);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, &error), -EMSGSIZE);
}

static void nothing_there_and_gone(void **state) {
	struct pair *pair = *state;
	char bytes[4];
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, NULL), -EAGAIN);
	fd_close_p(&pair->ends[0]);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, NULL), 0);
	assert_true(fd_send(pair->ends[1], "x", 1, NULL) < 0);
}

static void a_descriptor_is_taken_from_another_process(void **state) {
	struct pair *pair = *state;
	char byte;
	const pid_t pid = fork();
	if (pid == 0) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0 || fd_send(pair->ends[0], &ends[0], sizeof ends[0], NULL) < 0) _exit(1);
		_exit(write(ends[1], "x", 1) == 1 && pause() < 0);
	}
	int number;
	struct pollfd ready = {.fd = pair->ends[1], .events = POLLIN};
	assert_int_equal(poll(&ready, 1, -1), 1);
	assert_int_equal(fd_receive(pair->ends[1], &number, sizeof number, NULL), sizeof number);
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, pid, 0U);
	CLEANUP_FD int taken = fd_take(process, number, NULL);
	assert_true(taken >= 0);
	assert_true(fcntl(taken, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(taken, &byte, 1), 1);
	struct error error = ERROR_NONE;
	assert_int_equal(fd_take(process, 1000, &error), -EBADF);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(fd_take(process, number, &error) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_travel_and_descriptors_do_not, make_pair, drop_pair),
		cmocka_unit_test_setup_teardown(cut_messages_are_refused_whole, make_pair, drop_pair),
		cmocka_unit_test_setup_teardown(a_descriptor_is_taken_from_another_process, make_pair, drop_pair),
		cmocka_unit_test_setup_teardown(nothing_there_and_gone, make_pair, drop_pair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
