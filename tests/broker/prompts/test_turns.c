/* Questions on one terminal, one after the other, while the other runs there hold. All peers are of this process, which
 * has a terminal of its own. */
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
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
	json_t *reply = peer_reply(one, ask(one));
	assert_string_equal(text_of(reply, "code"), "EBUSY");
	json_decref(reply);
	give(one);
	give(one);
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
