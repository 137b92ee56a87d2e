/* Who else may write to a terminal. */
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "terminal/bystanders.h"

static int terminal;
static pid_t run; /* a run that does nothing, started by us as by a shell */

enum what { KEEPS_TERMINAL, CLOSES_TERMINAL, LEAVES_SESSION, FEEDS_US, FEEDS_AND_SHOWS };

/* Back when it is what it is to be. */
static pid_t start(enum what what) {
	int ready[2], input[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(input), 0);
	const pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		const int null = open("/dev/null", O_RDWR);
		for (int i = 0; i < 3; i++) dup2(null, i);
		if (what == CLOSES_TERMINAL) close(terminal);
		if (what == LEAVES_SESSION) setsid();
		if (what == FEEDS_US || what == FEEDS_AND_SHOWS) dup2(input[1], 1);
		if (what == FEEDS_US) {
			dup2(terminal, 0);
			dup2(terminal, 2);
			close(terminal);
		}
		if (write(ready[1], "", 1) < 1) _exit(1);
		for (;;) pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	if (what == FEEDS_US || what == FEEDS_AND_SHOWS) dup2(input[0], 0);
	close(input[0]);
	close(input[1]);
	return child;
}

static void end(pid_t child) {
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static bool others(const pid_t *held, size_t count) {
	return bystanders_are_there(terminal, run, held, count);
}

static void the_run_and_who_started_it_do_not_count(void **state) {
	(void)state;
	assert_false(others(NULL, 0));
}

static void attack_r_19_who_has_the_terminal_open_counts(void **state) {
	(void)state;
	const pid_t other = start(KEEPS_TERMINAL);
	assert_true(others(NULL, 0));
	assert_false(others(&other, 1)); /* a run that holds */
	kill(other, SIGSTOP);
	assert_int_equal(waitpid(other, NULL, WUNTRACED), other);
	assert_false(others(NULL, 0));
	end(other);
}

static void who_has_it_not_or_is_of_another_session_does_not(void **state) {
	(void)state;
	const pid_t closed = start(CLOSES_TERMINAL), left = start(LEAVES_SESSION);
	assert_false(others(NULL, 0));
	end(closed);
	end(left);
}

static void who_writes_our_input_does_not(void **state) {
	(void)state;
	const pid_t feeder = start(FEEDS_US);
	assert_false(others(NULL, 0));
	end(feeder);
}

/* tee(1) with the terminal as its file. */
static void attack_r_19_who_writes_our_input_and_opened_the_terminal_does(void **state) {
	(void)state;
	const pid_t feeder = start(FEEDS_AND_SHOWS);
	assert_true(others(NULL, 0));
	end(feeder);
}

static void take_terminal(void) {
	int master;
	setsid();
	if (openpty(&master, &terminal, NULL, NULL, NULL) < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0) _exit(1);
	fcntl(master, F_SETFD, FD_CLOEXEC);
	run = start(KEEPS_TERMINAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_run_and_who_started_it_do_not_count),
		cmocka_unit_test(attack_r_19_who_has_the_terminal_open_counts),
		cmocka_unit_test(who_writes_our_input_does_not),
		cmocka_unit_test(attack_r_19_who_writes_our_input_and_opened_the_terminal_does),
		cmocka_unit_test(who_has_it_not_or_is_of_another_session_does_not),
	};
	int status = 1;
	const pid_t child = fork();
	if (child == 0) {
		take_terminal();
		_exit(cmocka_run_group_tests(tests, NULL, NULL));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
