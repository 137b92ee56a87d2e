/* Questions on one terminal, one after the other, while the other runs there hold. All peers but one are of this
 * process, which has a terminal of its own. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/limits.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

enum { QUIET_MS = 100 };

static struct peer *open_run(void) {
	struct peer *run = peer_connect(true);
	peer_open_session(run, NULL);
	json_decref(peer_push(run, "view"));
	return run;
}

static int64_t ask(struct peer *run) {
	return peer_send(run, "turn", json_pack("{s:b}", "wanted", 1));
}

static int64_t ask_for(struct peer *screen, bool elsewhere) {
	return peer_send(screen, "turn", json_pack("{s:b, s:b}", "wanted", 1, "elsewhere", elsewhere));
}

static void expect_busy(struct peer *peer, int64_t id) {
	json_t *reply = peer_reply(peer, id);
	assert_string_equal(text_of(reply, "code"), "EBUSY");
	json_decref(reply);
}

static void give(struct peer *run) {
	json_decref(peer_call(run, "turn", json_pack("{s:b}", "wanted", 0)));
}

static void expect_turn(struct peer *run, int64_t id, bool alone, size_t held) {
	json_t *reply = peer_reply(run, id), *pids = json_object_get(reply, "held");
	assert_string_equal(text_of(reply, "type"), "turn");
	assert_int_equal(json_is_true(json_object_get(reply, "alone")), alone);
	assert_int_equal(json_array_size(pids), held);
	if (held > 0) assert_int_equal(json_integer_value(json_array_get(pids, 0)), getpid());
	json_decref(reply);
}

static int64_t told(struct peer *run) {
	json_t *push = peer_push(run, "hold");
	const int64_t number = number_of(push, "number");
	json_decref(push);
	return number;
}

static void confirm(struct peer *run, int64_t number) {
	json_decref(peer_call(run, "held", json_pack("{s:I}", "number", (json_int_t)number)));
}

static void where_no_terminal_is_known_nobody_is_said_to_hold(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run(), *other = open_run();
	expect_turn(one, ask(one), false, 0);
	assert_true(peer_is_quiet(other, QUIET_MS));
	give(one);
}

/* From here on. */
static void take_terminal(void **state) {
	int master, slave;
	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(ioctl(slave, TIOCSCTTY, 0), 0);
}

static void attack_r_19_who_asks_waits_until_the_others_hold(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run(), *other = open_run();
	const int64_t id = ask(one);
	const int64_t number = told(other);
	assert_true(number > 0);
	confirm(other, number + 1); /* of none that it was told of */
	assert_true(peer_is_quiet(one, QUIET_MS));
	confirm(other, number);
	expect_turn(one, id, true, 1);
	give(one);
	assert_int_equal(told(other), 0);
}

static void attack_r_19_who_does_not_say_that_it_holds_is_not_alone(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run(), *other = open_run();
	const int64_t id = ask(one);
	assert_true(peer_is_quiet(one, LIMIT_HOLD_MS / 2));
	expect_turn(one, id, false, 0);
	assert_true(told(other) > 0);
}

static void attack_r_19_two_questions_come_one_after_the_other(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run(), *other = open_run();
	const int64_t first = ask(one);
	confirm(other, told(other));
	expect_turn(one, first, true, 1);
	const int64_t second = ask(other);
	assert_true(peer_is_quiet(other, QUIET_MS));
	give(one);
	assert_int_equal(told(other), 0);
	confirm(one, told(one));
	expect_turn(other, second, true, 1);
	give(other);
	assert_int_equal(told(one), 0);
}

static void a_run_that_ends_gives_its_turn_up_and_is_not_waited_for(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run(), *other = open_run();
	struct peer *third = open_run();
	const int64_t first = ask(third);
	confirm(one, told(one));
	confirm(other, told(other));
	expect_turn(third, first, true, 2);
	const int64_t second = ask(one);
	peer_free(third);
	assert_int_equal(told(one), 0);
	confirm(other, told(other));
	expect_turn(one, second, true, 1);
	give(one);
	const int64_t third_turn = ask(one);
	peer_free(other);
	other = NULL;
	expect_turn(one, third_turn, true, 0);
}

static void attack_r_19_a_run_that_comes_while_a_question_stands_holds_from_the_beginning(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run();
	expect_turn(one, ask(one), true, 0);
	CLEANUP_PEER struct peer *late = open_run();
	assert_true(told(late) > 0);
	give(one);
	assert_int_equal(told(late), 0);
}

static void attack_r_19_an_agent_without_a_session_has_its_turn_too(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *run = open_run();
	struct peer *check = peer_connect(true);
	const int64_t id = ask(check);
	confirm(run, told(run));
	expect_turn(check, id, true, 1);
	const int64_t next = ask(run);
	assert_true(peer_is_quiet(run, QUIET_MS));
	peer_free(check); /* its turn ends with it */
	assert_int_equal(told(run), 0);
	expect_turn(run, next, true, 0);
	give(run);
}

/* Another process, with its turn. */
static pid_t stopped_run(struct peer *other) {
	const pid_t child = fork();
	if (child == 0) {
		struct peer *run = open_run();
		json_decref(peer_reply(run, ask(run)));
		raise(SIGSTOP);
		_exit(0);
	}
	confirm(other, told(other));
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	return child;
}

static void a_run_that_is_stopped_loses_its_turn(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run();
	const pid_t stopped = stopped_run(one);
	const int64_t id = ask(one);
	assert_int_equal(told(one), 0);
	json_t *reply = peer_reply(one, id), *held = json_object_get(reply, "held");
	assert_true(json_is_true(json_object_get(reply, "alone")));
	assert_int_equal(json_integer_value(json_array_get(held, 0)), stopped);
	json_decref(reply);
	give(one);
	kill(stopped, SIGKILL);
	waitpid(stopped, NULL, 0);
}

static void one_turn_at_a_time(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run();
	expect_turn(one, ask(one), true, 0);
	expect_busy(one, ask(one));
	give(one);
	give(one);
}

/* A process in the background of a terminal of its own. */
struct background {
	pid_t leader;
	int numbers; /* of the questions that its run holds for, and says so */
};

static _Noreturn void hold_whatever_comes(int numbers) {
	struct peer *run = open_run();
	int64_t number = 0;
	for (;;) {
		if (write(numbers, &number, sizeof number) != sizeof number) _exit(1);
		number = told(run);
		confirm(run, number);
	}
}

static int64_t told_in_the_background(const struct background *background) {
	int64_t number = -1;
	assert_int_equal(read(background->numbers, &number, sizeof number), sizeof number);
	return number;
}

static struct background open_background(void) {
	int numbers[2];
	assert_int_equal(pipe(numbers), 0);
	const pid_t leader = fork();
	if (leader == 0) {
		setsid();
		take_terminal(NULL);
		const pid_t run = fork();
		if (run == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			setpgid(0, 0);
			hold_whatever_comes(numbers[1]);
		}
		waitpid(run, NULL, 0);
		_exit(0);
	}
	close(numbers[1]);
	const struct background background = {leader, numbers[0]};
	assert_int_equal(told_in_the_background(&background), 0);
	return background;
}

static void end_background(const struct background *background) {
	kill(background->leader, SIGKILL);
	waitpid(background->leader, NULL, 0);
	close(background->numbers);
}

static void attack_r_19_a_run_in_the_background_of_another_terminal_holds_for_a_question(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = open_run();
	const struct background background = open_background();
	const int64_t id = ask(one);
	assert_true(told_in_the_background(&background) > 0);
	json_decref(peer_reply(one, id));
	give(one);
	assert_int_equal(told_in_the_background(&background), 0);
	end_background(&background);
}

static void attack_r_19_a_screen_holds_those_on_other_terminals_while_something_can_be_allowed_on_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *screen = peer_connect(true), *one = open_run();
	const struct background background = open_background();
	struct pollfd numbers = {.fd = background.numbers, .events = POLLIN};
	const int64_t first = ask_for(screen, false), here = told(one);
	expect_busy(screen, ask_for(screen, true)); /* the first isn't replied to */
	confirm(one, here);
	expect_turn(screen, first, true, 1);
	assert_int_equal(poll(&numbers, 1, QUIET_MS), 0);
	const int64_t second = ask_for(screen, true), everywhere = told(one);
	assert_true(everywhere > here);
	assert_int_equal(told_in_the_background(&background), everywhere);
	confirm(one, here); /* what it says late isn't about this one */
	assert_true(peer_is_quiet(screen, QUIET_MS));
	confirm(one, everywhere);
	expect_turn(screen, second, true, 2);
	expect_busy(screen, ask_for(screen, true));
	const int64_t third = ask_for(screen, false);
	confirm(one, told(one));
	expect_turn(screen, third, true, 1);
	assert_int_equal(told_in_the_background(&background), 0);
	give(screen); /* before the next test's runs come */
	end_background(&background);
}

static void attack_r_19_a_screen_is_not_kept_waiting_by_who_does_not_say_that_it_holds(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *screen = peer_connect(true), *one = open_run();
	const int64_t first = ask_for(screen, false);
	confirm(one, told(one));
	expect_turn(screen, first, true, 1);
	expect_turn(screen, ask_for(screen, true), false, 0);
}

static int setup(void **state) {
	(void)state;
	return broker_start(NULL);
}

static int test(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_no_terminal_is_known_nobody_is_said_to_hold),
		cmocka_unit_test(take_terminal),
		cmocka_unit_test(attack_r_19_who_asks_waits_until_the_others_hold),
		cmocka_unit_test(attack_r_19_who_does_not_say_that_it_holds_is_not_alone),
		cmocka_unit_test(attack_r_19_two_questions_come_one_after_the_other),
		cmocka_unit_test(a_run_that_ends_gives_its_turn_up_and_is_not_waited_for),
		cmocka_unit_test(attack_r_19_a_run_that_comes_while_a_question_stands_holds_from_the_beginning),
		cmocka_unit_test(attack_r_19_an_agent_without_a_session_has_its_turn_too),
		cmocka_unit_test(a_run_that_is_stopped_loses_its_turn),
		cmocka_unit_test(one_turn_at_a_time),
		cmocka_unit_test(attack_r_19_a_run_in_the_background_of_another_terminal_holds_for_a_question),
		cmocka_unit_test(
			attack_r_19_a_screen_holds_those_on_other_terminals_while_something_can_be_allowed_on_it),
		cmocka_unit_test(attack_r_19_a_screen_is_not_kept_waiting_by_who_does_not_say_that_it_holds),
	};
	home_make(programs);
	const int failed = cmocka_run_group_tests(tests, setup, broker_teardown);
	home_remove();
	return failed;
}

int main(void) {
	int status = 1;
	const pid_t tests = fork();
	if (tests == 0) {
		setsid();
		_exit(test());
	}
	waitpid(tests, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
