#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/cmocka.h"

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

static void descriptors_travel(void **state) {
	struct pair *pair = *state;
	int pipe_ends[2], received[FD_PASS_MAX];
	size_t count = 0;
	char bytes[16];
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(fd_send(pair->ends[0], "hi", 2, &pipe_ends[1], 1, NULL), 0);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, received, &count, NULL), 2);
	assert_int_equal(count, 1);
	assert_true(fcntl(received[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fd_write_all(received[0], "x", 1, NULL), 0);
	assert_int_equal(read(pipe_ends[0], bytes, 1), 1);
	fd_close(received[0]);
	fd_close(pipe_ends[0]);
	fd_close(pipe_ends[1]);
}

static void cut_messages_are_refused_whole(void **state) {
	struct pair *pair = *state;
	int received[FD_PASS_MAX], zero = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t count = 0;
	char bytes[4];
	struct error error = ERROR_NONE;
	assert_int_equal(fd_send(pair->ends[0], "too long", 8, &zero, 1, NULL), 0);
	int before = dup(zero);
	fd_close(before);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, received, &count, &error), -EMSGSIZE);
	assert_int_equal(count, 0);
	int after = dup(zero); /* the same number again: the passed descriptor was closed */
	assert_int_equal(after, before);
	fd_close(after);
	fd_close(zero);
}

static void nothing_there_and_gone(void **state) {
	struct pair *pair = *state;
	int received[FD_PASS_MAX];
	size_t count;
	char bytes[4];
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, received, &count, NULL), -EAGAIN);
	fd_close_p(&pair->ends[0]);
	assert_int_equal(fd_receive(pair->ends[1], bytes, sizeof bytes, received, &count, NULL), 0);
	assert_true(fd_send(pair->ends[1], "x", 1, NULL, 0, NULL) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descriptors_travel, make_pair, drop_pair),
		cmocka_unit_test_setup_teardown(cut_messages_are_refused_whole, make_pair, drop_pair),
		cmocka_unit_test_setup_teardown(nothing_there_and_gone, make_pair, drop_pair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
