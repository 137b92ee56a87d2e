/* Grants for one use that have had it, while the runner of the sandbox that used them is away: its connection was lost,
 * or its sbxd has ended. The test itself is the runner, and another process the sandbox. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "prompts_fixture.h"
#include "schema/clearance.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

struct runner {
	struct peer *peer;
	int64_t session;
	pid_t init;
	const struct clearance_word *clearance; /* as long as it lives: a page of the file of its last sbxd */
};

static void runner_disconnect(struct runner *runner) {
	peer_free(runner->peer);
	runner->peer = NULL;
}

static void forget_clearance(struct runner *runner) {
	if (runner->clearance) munmap((void *)runner->clearance, sizeof *runner->clearance);
	runner->clearance = NULL;
}

static void runner_finish(struct runner *runner) {
	if (runner->peer) runner_disconnect(runner);
	forget_clearance(runner);
	kill(runner->init, SIGKILL);
	waitpid(runner->init, NULL, 0);
}
#define CLEANUP_RUNNER CLEANUP(runner_finish)

static void follow_clearance(struct runner *runner, const json_t *said) {
	CLEANUP_FD int fd = open(text_of(said, "file"), O_RDONLY | O_CLOEXEC);
	void *page = mmap(NULL, sizeof *runner->clearance, PROT_READ, MAP_SHARED, fd,
			  (off_t)number_of(said, "page") * getpagesize());
	assert_true(page != MAP_FAILED);
	forget_clearance(runner);
	runner->clearance = page;
}

static void runner_connect(struct runner *runner) {
	const bool running = runner->session != 0;
	runner->peer = peer_connect(true);
	json_t *opened = peer_call(runner->peer, "session-open",
				   session_wish(json_pack("{s:I}", "before", (json_int_t)runner->session)));
	runner->session = number_of(opened, "session");
	assert_true(runner->session > 0);
	follow_clearance(runner, json_object_get(opened, "clearance"));
	json_decref(opened);
	json_decref(peer_call(runner->peer, "sandbox",
			      json_pack("{s:i, s:b}", "init", (int)runner->init, "running", running)));
}

static struct runner runner_begin(void) {
	struct runner runner = {.init = fork()};
	assert_true(runner.init >= 0);
	if (runner.init == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_range(3, ~0U, 0); /* connections of ours */
		pause();
		_exit(0);
	}
	runner_connect(&runner);
	return runner;
}

static int64_t grant_once(struct peer *user, const char *target) {
	json_t *reply = peer_call(user, "grant",
				  json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target", target,
					    "effect", "allow", "profile", "tooled", "lifetime", "once"));
	const int64_t id = number_of(json_object_get(reply, "grant"), "id");
	json_decref(reply);
	assert_true(id > 0);
	return id;
}

static void use(const struct runner *runner, const char *target) {
	json_t *reply =
		peer_call(runner->peer, "check", json_pack("{s:s, s:s}", "permission", "net:access", "target", target));
	const json_t *verdict = json_object_get(reply, "verdict");
	assert_string_equal(text_of(verdict, "effect"), "allow");
	assert_string_equal(text_of(verdict, "module"), "grants");
	json_decref(reply);
}

static bool runs(struct peer *user, int64_t session) {
	json_t *reply = peer_call(user, "list", json_pack("{s:s}", "what", "sessions")), *item;
	size_t index;
	bool found = false;
	json_array_foreach (json_object_get(reply, "items"), index, item) found |= number_of(item, "id") == session;
	json_decref(reply);
	return found;
}

static json_t *take_back(struct peer *user, int64_t grant) {
	return peer_call(user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)grant));
}

static void expect_cut(struct peer *user, int64_t grant, int64_t away) {
	json_t *reply = take_back(user, grant);
	if (json_array_size(json_object_get(reply, "spent")) != 1) fail_msg("%s", text_of(reply, "message"));
	assert_int_equal(number_of(reply, "away"), away);
	json_decref(reply);
}

static void expect_ended(struct peer *user, int64_t grant) {
	json_t *reply = take_back(user, grant);
	assert_non_null(strstr(text_of(reply, "message"), "ended already"));
	json_decref(reply);
}

static void expect_told(struct runner *runner, int64_t grant) {
	json_t *push = peer_push(runner->peer, "ended");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(push, "grants"), 0)), grant);
	json_decref(push);
}

static int64_t away(void) {
	CLEANUP_PEER struct peer *user = peer_connect(true);
	json_t *reply = peer_call(user, "revoke", json_pack("{s:b}", "all", 1));
	const int64_t count = number_of(reply, "away");
	json_decref(reply);
	return count;
}

/* While sbxd is not there; it is then. */
static void change_database(const char *sql) {
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbx.db");
	sqlite3 *database;
	broker_kill();
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	char *message = NULL;
	if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
	assert_int_equal(broker_start(NULL), 0);
}

static void restart(void) {
	broker_kill();
	assert_int_equal(broker_start(NULL), 0);
}

static void attack_r_01_what_was_used_up_is_revoked_while_its_runner_is_disconnected(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_RUNNER struct runner runner = runner_begin();
	const int64_t grant = grant_once(user, "once.test:443");
	use(&runner, "once.test:443");
	runner_disconnect(&runner);
	wait_until(!runs(user, runner.session));
	expect_cut(user, grant, 1);
	runner_connect(&runner);
	expect_told(&runner, grant);
}

static void what_a_sandbox_used_is_known_of_it_when_it_is_back_and_nothing_else(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_RUNNER struct runner runner = runner_begin(), other = runner_begin();
	const int64_t grant = grant_once(user, "once.test:443"), others = grant_once(user, "others.test:443");
	use(&runner, "once.test:443");
	use(&other, "others.test:443");
	json_decref(peer_call(other.peer, "session-close", json_pack("{s:i}", "exit", 0)));
	runner_disconnect(&runner);
	wait_until(!runs(user, runner.session));
	expect_ended(user, others);
	runner_connect(&runner);
	expect_ended(user, others);
	expect_cut(user, grant, 0);
	expect_ended(user, grant);
}

static void what_a_sandbox_used_is_over_when_that_ends_while_its_runner_is_disconnected(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_RUNNER struct runner runner = runner_begin();
	grant_once(user, "once.test:443");
	use(&runner, "once.test:443");
	runner_disconnect(&runner);
	wait_until(!runs(user, runner.session));
	assert_int_equal(away(), 1);
	kill(runner.init, SIGKILL);
	wait_until(away() == 0);
}

static void a_runner_is_away_once_however_often_it_was_lost(void **state) {
	(void)state;
	CLEANUP_RUNNER struct runner runner = runner_begin();
	for (int i = 0; i < 3; i++) {
		restart();
		assert_int_equal(away(), 1);
		runner_disconnect(&runner);
		runner_connect(&runner);
		assert_int_equal(away(), 0);
	}
}

static void who_has_got_the_number_of_a_runner_is_not_away(void **state) {
	(void)state;
	CLEANUP_RUNNER struct runner runner = runner_begin();
	forget_clearance(&runner);
	restart();
	assert_int_equal(away(), 0);
}

/* What it has mapped can't be seen. */
static void who_has_got_the_number_of_a_runner_and_is_of_another_user_is_not_away(void **state) {
	(void)state;
	CLEANUP_RUNNER struct runner runner = runner_begin();
	assert_true(runner.session > 0);
	change_database("UPDATE sessions SET pid = 1");
	assert_int_equal(away(), 0);
}

static void attack_r_01_a_clock_that_was_set_hides_no_runner(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_RUNNER struct runner runner = runner_begin();
	const int64_t grant = grant_once(user, "once.test:443");
	use(&runner, "once.test:443");
	change_database("UPDATE sessions SET started_ms = 1000");
	CLEANUP_PEER struct peer *later = peer_connect(true);
	expect_cut(later, grant, 1);
	runner_disconnect(&runner);
	runner_connect(&runner);
	expect_told(&runner, grant);
}

static int64_t grant_always(struct peer *user) {
	json_t *reply =
		peer_call(user, "grant",
			  json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target",
				    "always.test:443", "effect", "allow", "profile", "tooled", "lifetime", "always"));
	const int64_t id = number_of(json_object_get(reply, "grant"), "id");
	json_decref(reply);
	assert_true(id > 0);
	return id;
}

/* Of a former sbxd, so its process 1 isn't known. */
static void attack_r_01_who_is_back_and_lost_again_at_once_is_away_and_has_not_confirmed(void **state) {
	(void)state;
	CLEANUP_RUNNER struct runner runner = runner_begin();
	restart();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t grant = grant_always(user);
	struct peer *peer = peer_connect(true);
	json_decref(peer_call(peer, "session-open",
			      session_wish(json_pack("{s:I}", "before", (json_int_t)runner.session))));
	const int64_t request = peer_send(user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)grant));
	json_decref(peer_push(peer, "ended"));
	peer_free(peer);
	json_t *reply = peer_reply(user, request);
	assert_int_equal(number_of(reply, "confirmed"), 0);
	assert_string_equal(text_of(json_array_get(json_object_get(reply, "others"), 0), "is"), "unknown");
	json_decref(reply);
	assert_int_equal(away(), 1);
	runner_disconnect(&runner);
	runner_connect(&runner);
	assert_int_equal(away(), 0);
	json_t *push = peer_push(runner.peer, "ended");
	json_decref(peer_call(runner.peer, "settled",
			      json_pack("{s:I, s:[]}", "settle", (json_int_t)number_of(push, "settle"), "holders")));
	json_decref(push);
	wait_until(runner.clearance->flags == CLEARANCE_GIVEN);
}

static void attack_r_01_a_sandbox_that_cant_be_told_what_was_revoked_is_ended(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_RUNNER struct runner runner = runner_begin();
	const int64_t grant = grant_once(user, "once.test:443");
	use(&runner, "once.test:443");
	runner_disconnect(&runner);
	wait_until(!runs(user, runner.session));
	expect_cut(user, grant, 1);
	change_database("UPDATE grants SET permission = 'nonsense' WHERE lifetime = 'once'");
	runner_connect(&runner);
	json_decref(peer_push(runner.peer, "terminate"));
	assert_int_equal(runner.clearance->flags, CLEARANCE_WITHHELD);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		PROMPTS_TEST(attack_r_01_what_was_used_up_is_revoked_while_its_runner_is_disconnected,
			     prompts_setup_waits),
		PROMPTS_TEST(what_a_sandbox_used_is_known_of_it_when_it_is_back_and_nothing_else, prompts_setup_waits),
		PROMPTS_TEST(what_a_sandbox_used_is_over_when_that_ends_while_its_runner_is_disconnected,
			     prompts_setup_waits),
		PROMPTS_TEST(a_runner_is_away_once_however_often_it_was_lost, prompts_setup_waits),
		PROMPTS_TEST(who_has_got_the_number_of_a_runner_is_not_away, prompts_setup_waits),
		PROMPTS_TEST(who_has_got_the_number_of_a_runner_and_is_of_another_user_is_not_away,
			     prompts_setup_waits),
		PROMPTS_TEST(attack_r_01_a_clock_that_was_set_hides_no_runner, prompts_setup_waits),
		PROMPTS_TEST(attack_r_01_who_is_back_and_lost_again_at_once_is_away_and_has_not_confirmed,
			     prompts_setup_waits),
		PROMPTS_TEST(attack_r_01_a_sandbox_that_cant_be_told_what_was_revoked_is_ended, prompts_setup_waits),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
