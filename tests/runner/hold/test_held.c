/* Held calls: each on its own, one question for equal needs, and what ends the waiting. */
#include "hold/held.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_fixture.h"
#include "schema/limits.h"
#include "support/patience.h"

/* The broker: questions as they come, answered by the test. */
struct question_seen {
	char path[64];
	char name[64];
	enum permission_kind permission;
	void (*done)(void *argument, const struct verdict *verdict);
	void *argument;
	bool cancelled;
};

static struct live_fixture fixture;
static struct held *held;
static struct question_seen questions[LIMIT_HELD + 8];
static size_t question_count;
static const struct verdict *at_once; /* answered within check() */
static int refused;

static struct verdict allowed_by(int64_t grant, bool once) {
	return (struct verdict){.effect = EFFECT_ALLOW, .module = "ask", .grant = grant, .prompt = 7, .once = once};
}

static struct verdict denied_by(const char *module, bool user) {
	struct verdict verdict = {.effect = EFFECT_DENY, .prompt = 7, .asked_user = user};
	snprintf(verdict.module, sizeof verdict.module, "%s", module);
	return verdict;
}

static uint64_t check(void *context, pid_t thread, const struct need *need,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct question_seen *seen = &questions[question_count++];
	(void)context;
	assert_true(thread > 0);
	*seen = (struct question_seen){.permission = need->permission, .done = done, .argument = argument};
	snprintf(seen->path, sizeof seen->path, "%s", need->path);
	if (need->name) snprintf(seen->name, sizeof seen->name, "%s", need->name);
	if (!at_once) return question_count;
	done(argument, at_once);
	return 0;
}

static const char *name_now; /* in the folder, of whoever calls; or NULL */

static char *name(void *context, pid_t thread, const struct need *need) {
	(void)context, (void)thread, (void)need;
	return string_copy_or_null(name_now);
}

static void cancel(void *context, uint64_t ticket) {
	(void)context;
	assert_in_range(ticket, 1, question_count);
	assert_false(questions[ticket - 1].cancelled);
	questions[ticket - 1].cancelled = true;
}

static void on_refused(void *context, const struct need *need, const struct verdict *verdict) {
	(void)context, (void)need, (void)verdict;
	refused++;
}

static bool can_give;
static int gives;

/* The next plan has it by its path; the fixture's plan is its view. */
static bool give(void *context, const struct need *need) {
	(void)context;
	gives++;
	if (can_give) live_update(fixture.live, view_of(need->path, VIEW_READ));
	return can_give;
}

static int setup(void **state) {
	(void)state;
	fixture_start(&fixture, view_of(NULL, VIEW_ABSENT));
	const struct held_options options = {.base = fixture.base,
					     .live = fixture.live,
					     .check = check,
					     .cancel = cancel,
					     .name = name,
					     .give = give,
					     .refused = on_refused};
	held = held_new(&options);
	question_count = 0;
	at_once = NULL;
	name_now = NULL;
	refused = gives = 0;
	can_give = false;
	return 0;
}

static int teardown(void **state) {
	(void)state;
	held_free(held);
	fixture_finish(&fixture);
	return 0;
}

/* How a call came out: -1 while it waits. */
struct outcome {
	int end, count;
};

static void on_done(void *argument, enum held_end end) {
	struct outcome *outcome = argument;
	outcome->end = (int)end;
	outcome->count++;
}

static uint64_t hold_as(pid_t thread, enum permission_kind permission, const char *path, struct outcome *outcome) {
	const struct need need = {.permission = permission, .path = path};
	*outcome = (struct outcome){.end = -1};
	uint64_t ticket = held_add(held, thread, &need, on_done, outcome);
	assert_int_equal(outcome->count, 0); /* never from within */
	return ticket;
}

static uint64_t hold(const char *path, struct outcome *outcome) {
	return hold_as(getpid(), PERMISSION_FS_READ, path, outcome);
}

static void answer(size_t index, struct verdict verdict) {
	questions[index].done(questions[index].argument, &verdict);
}

static void grant(const char *path, enum view_mode mode) {
	live_update(fixture.live, view_of(path, mode));
}

static void it_goes_on_when_the_grant_is_in_force(void **state) {
	struct outcome outcome;
	(void)state;
	fixture.hold = true;
	hold("/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 1);
	assert_string_equal(questions[0].path, "/home/u/notes/todo");
	grant("/home/u/notes", VIEW_READ); /* the view comes before the verdict */
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, -1);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	assert_int_equal(outcome.count, 1);
}

static void what_a_grant_gives_by_its_pattern_is_given_by_its_path(void **state) {
	struct outcome outcome;
	(void)state;
	can_give = true;
	fixture.hold = true;
	hold("/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	assert_int_equal(gives, 1);
	assert_int_equal(outcome.end, -1);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	assert_int_equal(gives, 1);
}

static void a_path_that_can_not_be_given_is_refused(void **state) {
	struct outcome outcome;
	(void)state;
	hold("/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	assert_int_equal(gives, 1);
	assert_int_equal(outcome.end, HELD_REFUSED);
}

static void equal_needs_share_a_question_and_others_dont(void **state) {
	struct outcome outcomes[5];
	(void)state;
	hold("/home/u/notes", &outcomes[0]);
	hold("/home/u/notes", &outcomes[1]);
	hold("/home/u/other", &outcomes[2]);
	hold_as(getpid(), PERMISSION_FS_WRITE, "/home/u/notes", &outcomes[3]);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 3);
	grant("/home/u/notes", VIEW_READ);
	answer(0, allowed_by(3, false));
	hold("/home/u/notes", &outcomes[4]);
	fixture_turn(&fixture);
	assert_int_equal(outcomes[0].end, HELD_AGAIN);
	assert_int_equal(outcomes[1].end, HELD_AGAIN);
	assert_int_equal(outcomes[4].end, HELD_AGAIN);
	assert_int_equal(outcomes[2].end, -1);
	assert_int_equal(outcomes[3].end, -1);
	assert_int_equal(question_count, 3);
	assert_int_equal(held_count(held), 2);
}

static uint64_t hold_link(const char *link, struct outcome *outcome) {
	const struct need need = {.permission = PERMISSION_FS_LINK, .path = "/home/u/.bashrc", .name = link};
	*outcome = (struct outcome){.end = -1};
	return held_add(held, getpid(), &need, on_done, outcome);
}

/* And what is allowed is nothing that a plan shows. */
static void each_link_to_a_place_is_a_question_of_its_own(void **state) {
	struct outcome outcomes[3];
	(void)state;
	hold_link("/home/u/app/one", &outcomes[0]);
	hold_link("/home/u/app/two", &outcomes[1]);
	hold_link("/home/u/app/one", &outcomes[2]);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 2);
	assert_string_equal(questions[0].path, "/home/u/.bashrc");
	assert_string_equal(questions[0].name, "/home/u/app/one");
	assert_string_equal(questions[1].name, "/home/u/app/two");
	answer(0, allowed_by(3, false));
	answer(1, denied_by("rules", false));
	fixture_turn(&fixture);
	assert_int_equal(outcomes[0].end, HELD_AGAIN);
	assert_int_equal(outcomes[2].end, HELD_AGAIN);
	assert_int_equal(outcomes[1].end, HELD_REFUSED);
	assert_int_equal(gives, 0);
}

static void a_rules_denial_is_absence_and_a_persons_is_refusal(void **state) {
	struct outcome outcomes[5];
	static const struct {
		const char *module;
		bool user;
		enum held_end end;
	} rows[] = {{"rules", false, HELD_ABSENT},
		    {"protect", false, HELD_ABSENT},
		    {"ask", true, HELD_REFUSED},
		    {"ask", false, HELD_REFUSED},
		    {"broker", false, HELD_REFUSED}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		hold("/home/u/notes", &outcomes[i]);
		fixture_turn(&fixture);
		answer(i, denied_by(rows[i].module, rows[i].user));
		fixture_turn(&fixture);
		assert_int_equal(outcomes[i].end, rows[i].end);
	}
	assert_int_equal(refused, 5);
	/* what is seen already can't be absent */
	grant("/home/u/notes", VIEW_READ);
	fixture_turn(&fixture);
	hold_as(getpid(), PERMISSION_FS_WRITE, "/home/u/notes", &outcomes[0]);
	fixture_turn(&fixture);
	answer(5, denied_by("rules", false));
	fixture_turn(&fixture);
	assert_int_equal(outcomes[0].end, HELD_REFUSED);
}

static void without_a_broker_it_is_refused(void **state) {
	struct outcome outcome;
	(void)state;
	const struct verdict gone = denied_by("broker", false);
	at_once = &gone;
	hold("/home/u/notes", &outcome);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_REFUSED);
}

static void what_was_allowed_and_is_not_in_the_plan_is_refused(void **state) {
	struct outcome outcome;
	(void)state;
	fixture.fail_path = "/home/u/notes";
	hold("/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	grant("/home/u/notes", VIEW_READ);
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_REFUSED);
}

static void a_mask_that_the_runner_alone_knows_is_not_lifted_by_a_rule(void **state) {
	struct outcome outcome;
	(void)state;
	/* the view says write, the plan shows less: as for a hooks folder that git's configuration names */
	fixture.fail_path = "/home/u/other";
	grant("/home/u/other", VIEW_WRITE);
	fixture_turn(&fixture);
	int applies = fixture.applies;
	hold_as(getpid(), PERMISSION_FS_WRITE, "/home/u/other/hooks", &outcome);
	fixture_turn(&fixture);
	answer(0, allowed_by(0, false));
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_REFUSED);
	assert_int_equal(fixture.applies, applies);
}

static void the_last_one_to_go_cancels_the_question(void **state) {
	struct outcome outcomes[2];
	(void)state;
	uint64_t first = hold("/home/u/notes", &outcomes[0]), second = hold("/home/u/notes", &outcomes[1]);
	fixture_turn(&fixture);
	held_drop(held, first);
	assert_false(questions[0].cancelled);
	held_drop(held, second);
	assert_true(questions[0].cancelled);
	fixture_turn(&fixture);
	assert_int_equal(outcomes[0].count + outcomes[1].count, 0);
	held_drop(held, second); /* no such ticket any more */
}

static void one_that_is_dropped_while_it_is_placed_is_forgotten(void **state) {
	struct outcome outcome;
	(void)state;
	fixture.hold = true;
	uint64_t ticket = hold("/home/u/notes", &outcome);
	fixture_turn(&fixture);
	grant("/home/u/notes", VIEW_READ);
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	held_drop(held, ticket);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(outcome.count, 0);
	assert_int_equal(held_count(held), 0);
}

static void many_wait_for_their_turn_and_too_many_are_refused(void **state) {
	enum { MANY = LIMIT_HELD + 5 };
	static struct outcome outcomes[MANY];
	char path[64];
	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "/home/u/notes/%d", i);
		hold(path, &outcomes[i]);
	}
	fixture_turn(&fixture);
	assert_int_equal(question_count, LIMIT_HELD_ASKED);
	assert_int_equal(held_count(held), LIMIT_HELD);
	for (int i = LIMIT_HELD; i < MANY; i++) assert_int_equal(outcomes[i].end, HELD_REFUSED);
	answer(5, denied_by("ask", true));
	fixture_turn(&fixture);
	assert_int_equal(outcomes[5].end, HELD_REFUSED);
	assert_int_equal(question_count, LIMIT_HELD_ASKED + 1);
	assert_string_equal(questions[LIMIT_HELD_ASKED].path, "/home/u/notes/128");
	held_settle_all(held, HELD_INTERRUPTED);
	fixture_turn(&fixture);
	assert_int_equal(held_count(held), 0);
	for (int i = 0; i < LIMIT_HELD; i++) assert_int_equal(outcomes[i].count, 1);
}

/* Signals, with real processes */

enum { NOT_CAUGHT = 0x100, BLOCKED = 0x200 };

static void nothing(int number) {
	(void)number;
}

/* A process that waits so that signals stay pending, as one does whose FUSE request was read: stopped by a tracer. */
static pid_t stuck(int how) {
	int number = how & 0xff, ready[2];
	char byte;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sigaction action = {.sa_handler = nothing};
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, number);
		if (!(how & NOT_CAUGHT)) sigaction(number, &action, NULL);
		if (how & BLOCKED) sigprocmask(SIG_BLOCK, &set, NULL);
		if (write(ready[1], "", 1) == 1)
			for (;;) pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	kill(pid, SIGSTOP);
	int status;
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	return pid;
}

static void end_stuck(pid_t pid) {
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void once_is_for_the_call_alone(void **state) {
	struct outcome outcome, again;
	pid_t caller = stuck(SIGUSR1);
	(void)state;
	hold_as(caller, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	answer(0, allowed_by(0, true));
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	assert_int_equal(plan_show(live_plan(fixture.live), "/home/u/notes/todo"), SHOW_READ);
	/* for the others it is as it was */
	assert_int_equal(live_sight(fixture.live, "/home/u/notes/todo").mode, VIEW_ASK);
	hold_as(getppid(), PERMISSION_FS_READ, "/home/u/notes/todo", &again);
	fixture_turn(&fixture);
	assert_int_equal(again.end, -1);
	assert_int_equal(question_count, 2);
	/* it comes back in the same call: it can't get there */
	struct outcome back;
	hold_as(caller, PERMISSION_FS_READ, "/home/u/notes/todo", &back);
	fixture_turn(&fixture);
	assert_int_equal(back.end, HELD_REFUSED);
	assert_int_equal(question_count, 2);
	end_stuck(caller);
}

static void once_is_for_one_of_equal_calls(void **state) {
	struct outcome outcomes[4];
	pid_t callers[2] = {stuck(SIGUSR1), stuck(SIGUSR1)};
	(void)state;
	fixture.hold = true;
	hold_as(callers[0], PERMISSION_FS_READ, "/home/u/notes/todo", &outcomes[0]);
	hold_as(callers[1], PERMISSION_FS_READ, "/home/u/notes/todo", &outcomes[1]);
	hold("/home/u/notes/todo", &outcomes[2]);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 1);
	answer(0, allowed_by(0, true));
	hold("/home/u/notes/todo", &outcomes[3]); /* while it is being mounted */
	fixture_turn(&fixture);
	assert_int_equal(question_count, 2);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(outcomes[0].end, HELD_AGAIN);
	for (size_t i = 1; i < ARRAY_LENGTH(outcomes); i++) assert_int_equal(outcomes[i].end, -1);
	fixture.hold = false;
	answer(1, allowed_by(0, true));
	fixture_until(&fixture, outcomes[1].end != -1);
	assert_int_equal(outcomes[1].end, HELD_AGAIN);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 3);
	answer(2, denied_by("ask", true)); /* a denial is for all of them */
	fixture_turn(&fixture);
	assert_int_equal(outcomes[2].end, HELD_REFUSED);
	assert_int_equal(outcomes[3].end, HELD_REFUSED);
	for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) end_stuck(callers[i]);
}

static void what_shows_a_call_that_is_gone_is_asked_anew_of_the_others(void **state) {
	struct outcome gone, left;
	(void)state;
	pid_t caller = stuck(SIGUSR1);
	name_now = "/home/u/notes/harmless";
	const uint64_t shown = hold("/home/u/notes", &gone);
	fixture_turn(&fixture);
	assert_string_equal(questions[0].name, "/home/u/notes/harmless");
	name_now = "/home/u/notes/important";
	hold_as(caller, PERMISSION_FS_READ, "/home/u/notes", &left);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 1);
	held_drop(held, shown);
	assert_true(questions[0].cancelled);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 2);
	assert_string_equal(questions[1].name, "/home/u/notes/important");
	assert_int_equal(left.end, -1);
	answer(1, allowed_by(0, true));
	fixture_until(&fixture, left.end != -1);
	assert_int_equal(left.end, HELD_AGAIN);
	end_stuck(caller);
}

static int end_of_signal(int how, bool meant) {
	struct outcome outcome;
	pid_t pid = stuck(how);
	uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes", &outcome);
	fixture_turn(&fixture);
	kill(pid, how & 0xff);
	held_interrupted(held, ticket);
	assert_int_equal(outcome.count, 0);
	if (meant)
		fixture_until(&fixture, outcome.end != -1);
	else
		fixture_turns(&fixture, 3 * LIMIT_HELD_LOOK_MS);
	held_drop(held, ticket);
	end_stuck(pid);
	return outcome.end;
}

static void signals_that_are_meant_interrupt(void **state) {
	(void)state;
	static const int meant[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGTSTP, SIGUSR1 | NOT_CAUGHT, SIGQUIT | NOT_CAUGHT};
	for (size_t i = 0; i < ARRAY_LENGTH(meant); i++)
		assert_int_equal(end_of_signal(meant[i], true), HELD_INTERRUPTED);
}

/* A stopped process stands for one whose handler runs: it is the test that makes its call again. */
static pid_t interrupted(struct outcome *outcome) {
	const pid_t pid = stuck(SIGALRM);
	const uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", outcome);
	fixture_turn(&fixture);
	kill(pid, SIGALRM);
	held_interrupted(held, ticket);
	fixture_until(&fixture, outcome->end == HELD_INTERRUPTED);
	return pid;
}

static void a_call_that_a_handler_interrupts_keeps_its_question(void **state) {
	struct outcome outcome;
	(void)state;
	const pid_t pid = interrupted(&outcome);
	for (int i = 0; i < 3; i++) {
		const uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
		held_interrupted(held, ticket); /* the signal is pending still */
		fixture_until(&fixture, outcome.end == HELD_INTERRUPTED);
	}
	hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
	assert_int_equal(question_count, 1);
	assert_false(questions[0].cancelled);
	grant("/home/u/notes", VIEW_READ);
	answer(0, allowed_by(3, false));
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	end_stuck(pid);
}

static void an_answer_waits_for_the_thread_that_runs_a_handler(void **state) {
	struct outcome outcome, other;
	(void)state;
	pid_t pid = interrupted(&outcome);
	answer(0, denied_by("ask", true));
	hold_as(getppid(), PERMISSION_FS_READ, "/home/u/notes/todo", &other);
	fixture_turn(&fixture);
	assert_int_equal(other.end, -1);
	hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_REFUSED);
	assert_int_equal(other.end, HELD_REFUSED);
	end_stuck(pid);

	pid = interrupted(&outcome);
	answer(1, allowed_by(0, true));
	hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	assert_int_equal(question_count, 2);
	end_stuck(pid);
}

/* By a signal with a handler, between the answer for this call alone and what that gives. */
static pid_t interrupted_while_placed(struct outcome *outcome) {
	const pid_t pid = stuck(SIGALRM);
	fixture.hold = true;
	const uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", outcome);
	fixture_turn(&fixture);
	answer(0, allowed_by(0, true));
	kill(pid, SIGALRM);
	held_interrupted(held, ticket);
	return pid;
}

static void a_handler_waits_while_what_was_allowed_is_placed(void **state) {
	struct outcome outcome;
	(void)state;
	const pid_t pid = interrupted_while_placed(&outcome);
	fixture_turns(&fixture, 3 * LIMIT_HELD_LOOK_MS);
	assert_int_equal(outcome.end, -1);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, HELD_AGAIN);
	end_stuck(pid);
}

static void a_handler_does_not_wait_for_ever(void **state) {
	struct outcome outcome;
	(void)state;
	const pid_t pid = interrupted_while_placed(&outcome);
	fixture_until(&fixture, outcome.end != -1);
	assert_int_equal(outcome.end, HELD_INTERRUPTED);
	end_stuck(pid);
}

static void a_thread_that_does_not_come_back_is_not_waited_for(void **state) {
	struct outcome outcome, other;
	(void)state;
	pid_t pid = interrupted(&outcome);
	fixture_until(&fixture, questions[0].cancelled);
	end_stuck(pid);
	pid = interrupted(&outcome);
	answer(1, denied_by("ask", true));
	hold_as(getppid(), PERMISSION_FS_READ, "/home/u/notes/todo", &other);
	fixture_until(&fixture, other.end == HELD_REFUSED);
	end_stuck(pid);
	pid = interrupted(&outcome); /* with the sandbox's end */
	held_settle_all(held, HELD_INTERRUPTED);
	assert_true(questions[2].cancelled);
	fixture_turn(&fixture);
	end_stuck(pid);
	pid = interrupted(&outcome);
	end_stuck(pid);
}

/* The person has answered meanwhile: that was for the call that the question showed. */
static void an_allow_for_a_call_whose_thread_does_not_come_back_is_for_no_other(void **state) {
	struct outcome outcome, other;
	(void)state;
	pid_t pid = interrupted(&outcome);
	hold_as(getppid(), PERMISSION_FS_READ, "/home/u/notes/todo", &other);
	answer(0, allowed_by(0, true));
	fixture_until(&fixture, question_count == 2);
	assert_int_equal(other.end, -1);
	answer(1, denied_by("ask", true));
	fixture_turn(&fixture);
	assert_int_equal(other.end, HELD_REFUSED);
	end_stuck(pid);
}

static void a_thread_that_comes_back_by_another_name_is_asked_about_anew(void **state) {
	struct outcome outcome;
	(void)state;
	name_now = "/home/u/notes/todo/harmless";
	pid_t pid = interrupted(&outcome);
	name_now = "/home/u/notes/todo/important";
	hold_as(pid, PERMISSION_FS_READ, "/home/u/notes/todo", &outcome);
	assert_true(questions[0].cancelled);
	fixture_turn(&fixture);
	assert_int_equal(question_count, 2);
	assert_string_equal(questions[1].name, name_now);
	end_stuck(pid);
}

static void a_thread_that_a_signal_ends_or_stops_keeps_no_question(void **state) {
	static const int ends[] = {SIGTERM | NOT_CAUGHT, SIGTSTP | NOT_CAUGHT};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		assert_int_equal(end_of_signal(ends[i], true), HELD_INTERRUPTED);
		assert_true(questions[i].cancelled);
	}
}

static void others_restart_nothing(void **state) {
	(void)state;
	static const int others[] = {SIGURG, SIGCHLD, SIGPROF, SIGWINCH, SIGUSR1};
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		if (end_of_signal(others[i], false) != -1) fail_msg("signal %d ended the call", others[i] & 0xff);
	}
}

static void a_blocked_signal_wakes_nobody(void **state) {
	struct outcome outcome;
	(void)state;
	pid_t pid = stuck(SIGINT | BLOCKED);
	uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes", &outcome);
	kill(pid, SIGINT);
	held_watch(held, ticket);
	fixture_turns(&fixture, 3 * LIMIT_HELD_LOOK_MS);
	assert_int_equal(outcome.end, -1);
	end_stuck(pid);
}

static void a_second_signal_is_seen_too(void **state) {
	struct outcome outcome;
	(void)state;
	pid_t pid = stuck(SIGURG);
	uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes", &outcome);
	fixture_turn(&fixture);
	kill(pid, SIGURG);
	held_interrupted(held, ticket);
	fixture_turns(&fixture, 3 * LIMIT_HELD_LOOK_MS);
	assert_int_equal(outcome.end, -1);
	kill(pid, SIGINT); /* FUSE says nothing of it */
	fixture_until(&fixture, outcome.end == HELD_INTERRUPTED);
	end_stuck(pid);
}

static void death_ends_the_waiting_and_the_question(void **state) {
	struct outcome outcome;
	(void)state;
	pid_t pid = stuck(SIGURG);
	uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes", &outcome);
	held_watch(held, ticket); /* as a trap does */
	fixture_turns(&fixture, 3 * LIMIT_HELD_LOOK_MS);
	assert_int_equal(outcome.end, -1);
	end_stuck(pid);
	fixture_until(&fixture, outcome.end == HELD_INTERRUPTED);
	assert_true(questions[0].cancelled);
}

static void woken_by_no_signal_it_was_the_freezer(void **state) {
	struct outcome outcome;
	(void)state;
	pid_t pid = stuck(SIGURG);
	uint64_t ticket = hold_as(pid, PERMISSION_FS_READ, "/home/u/notes", &outcome);
	fixture_turn(&fixture);
	held_interrupted(held, ticket);
	fixture_turn(&fixture);
	assert_int_equal(outcome.end, -1);
	fixture_until(&fixture, outcome.end == HELD_INTERRUPTED);
	end_stuck(pid);
}

#define HELD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		HELD_TEST(it_goes_on_when_the_grant_is_in_force),
		HELD_TEST(what_a_grant_gives_by_its_pattern_is_given_by_its_path),
		HELD_TEST(a_path_that_can_not_be_given_is_refused),
		HELD_TEST(equal_needs_share_a_question_and_others_dont),
		HELD_TEST(each_link_to_a_place_is_a_question_of_its_own),
		HELD_TEST(a_rules_denial_is_absence_and_a_persons_is_refusal),
		HELD_TEST(without_a_broker_it_is_refused),
		HELD_TEST(what_was_allowed_and_is_not_in_the_plan_is_refused),
		HELD_TEST(a_mask_that_the_runner_alone_knows_is_not_lifted_by_a_rule),
		HELD_TEST(once_is_for_the_call_alone),
		HELD_TEST(once_is_for_one_of_equal_calls),
		HELD_TEST(what_shows_a_call_that_is_gone_is_asked_anew_of_the_others),
		HELD_TEST(the_last_one_to_go_cancels_the_question),
		HELD_TEST(one_that_is_dropped_while_it_is_placed_is_forgotten),
		HELD_TEST(many_wait_for_their_turn_and_too_many_are_refused),
		HELD_TEST(signals_that_are_meant_interrupt),
		HELD_TEST(a_call_that_a_handler_interrupts_keeps_its_question),
		HELD_TEST(a_handler_waits_while_what_was_allowed_is_placed),
		HELD_TEST(a_handler_does_not_wait_for_ever),
		HELD_TEST(an_answer_waits_for_the_thread_that_runs_a_handler),
		HELD_TEST(a_thread_that_does_not_come_back_is_not_waited_for),
		HELD_TEST(an_allow_for_a_call_whose_thread_does_not_come_back_is_for_no_other),
		HELD_TEST(a_thread_that_comes_back_by_another_name_is_asked_about_anew),
		HELD_TEST(a_thread_that_a_signal_ends_or_stops_keeps_no_question),
		HELD_TEST(others_restart_nothing),
		HELD_TEST(a_blocked_signal_wakes_nobody),
		HELD_TEST(a_second_signal_is_seen_too),
		HELD_TEST(death_ends_the_waiting_and_the_question),
		HELD_TEST(woken_by_no_signal_it_was_the_freezer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
