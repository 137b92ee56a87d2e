/* A running sandbox follows its view: in order, the newest first, and what failed is not in force. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/call.h"
#include "live_fixture.h"
#include "schema/limits.h"
#include "support/patience.h"

static struct live_fixture fixture;

static int setup(void **state) {
	(void)state;
	fixture_start(&fixture, view_of(NULL, VIEW_ABSENT));
	return 0;
}

static int teardown(void **state) {
	(void)state;
	fixture_finish(&fixture);
	return 0;
}

static bool gives(enum permission_kind permission, const char *path) {
	const struct need need = {.permission = permission, .path = path};
	return live_gives(fixture.live, &need);
}

static void count_up(void *argument) {
	++*(int *)argument;
}

static void a_grant_appears_and_goes(void **state) {
	(void)state;
	int told = 0;
	assert_int_equal(live_sight(fixture.live, "/home/u/notes/todo").mode, VIEW_ASK);
	live_update(fixture.live, view_of("/home/u/notes", VIEW_READ));
	live_when(fixture.live, count_up, &told);
	assert_int_equal(told, 0); /* never from within */
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	assert_true(gives(PERMISSION_FS_READ, "/home/u/notes/todo"));
	assert_false(gives(PERMISSION_FS_WRITE, "/home/u/notes/todo"));
	assert_true(live_sight(fixture.live, "/home/u/notes/todo").ask_write);
	live_update(fixture.live, view_of(NULL, VIEW_ABSENT));
	fixture_turn(&fixture);
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes/todo"));
	assert_int_equal(live_sight(fixture.live, "/home/u/notes/todo").mode, VIEW_ASK);
	assert_true(strings_contain(&fixture.taken, "/home/u/notes"));
}

static void the_newest_of_several_views_wins(void **state) {
	(void)state;
	int told = 0;
	fixture.hold = true;
	live_update(fixture.live, view_of("/home/u/notes", VIEW_READ));
	fixture_turn(&fixture);
	assert_int_equal(fixture.applies, 1);
	live_update(fixture.live, view_of("/home/u/notes", VIEW_WRITE));
	live_update(fixture.live, view_of("/home/u/other", VIEW_READ));
	live_when(fixture.live, count_up, &told);
	fixture_turn(&fixture);
	assert_int_equal(fixture.applies, 1);
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes")); /* nothing counts while mounts change */
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(fixture.applies, 2);
	assert_int_equal(told, 0);
	fixture_applied(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	assert_int_equal(fixture.plans, 2);
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes"));
	assert_true(gives(PERMISSION_FS_READ, "/home/u/other"));
}

static void what_fails_is_tried_with_fresh_facts_and_then_told(void **state) {
	(void)state;
	int told = 0;
	struct view *view = view_of("/home/u/notes", VIEW_READ);
	view_add_path(view, "/home/u/other", false, VIEW_WRITE, false);
	fixture.fail_path = "/home/u/notes";
	live_update(fixture.live, view);
	live_when(fixture.live, count_up, &told);
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	assert_int_equal(fixture.plans, 2);
	assert_int_equal(fixture.fresh, 1);
	assert_int_equal(fixture.failed, 1);
	assert_int_equal(fixture.left_open, 0);
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes"));
	assert_int_equal(live_sight(fixture.live, "/home/u/notes").mode, VIEW_ASK); /* the node that lies there */
	assert_true(gives(PERMISSION_FS_WRITE, "/home/u/other"));
	/* the next view puts it */
	fixture.fail_path = NULL;
	live_update(fixture.live, view_of("/home/u/notes", VIEW_READ));
	fixture_turn(&fixture);
	assert_true(gives(PERMISSION_FS_READ, "/home/u/notes"));
	assert_false(gives(PERMISSION_FS_WRITE, "/home/u/other"));
}

static void without_a_plan_nothing_new_is_there_and_what_narrows_is_told_as_open(void **state) {
	(void)state;
	int told = 0;
	live_update(fixture.live, view_of("/home/u/notes", VIEW_READ));
	fixture_turn(&fixture);
	fixture.plan_code = -E2BIG;
	live_update(fixture.live, view_of("/home/u/notes", VIEW_WRITE));
	live_when(fixture.live, count_up, &told);
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	assert_int_equal(fixture.failed, 1);
	assert_int_equal(fixture.left_open, 0);
	assert_false(gives(PERMISSION_FS_WRITE, "/home/u/notes"));
	live_update(fixture.live, view_of(NULL, VIEW_ABSENT));
	fixture_turn(&fixture);
	assert_int_equal(fixture.failed, 2);
	assert_int_equal(fixture.left_open, 1);
	/* a broker that is gone takes nothing away: another view follows */
	fixture.plan_code = -ECONNRESET;
	live_update(fixture.live, view_of("/home/u/other", VIEW_ABSENT));
	fixture_turn(&fixture);
	assert_int_equal(fixture.left_open, 1);
}

static void after_the_portals_death_all_is_made_whole(void **state) {
	(void)state;
	int told = 0;
	live_update(fixture.live, view_of("/home/u/notes", VIEW_READ));
	fixture_turn(&fixture);
	fixture.hold = true;
	live_update(fixture.live, view_of("/home/u/other", VIEW_READ));
	live_when(fixture.live, count_up, &told);
	fixture_turn(&fixture);
	fixture_died(&fixture);
	fixture_turn(&fixture);
	assert_int_equal(fixture.applies, 2); /* nothing is begun before there is a portal */
	assert_int_equal(told, 0);
	fixture.hold = false;
	live_restore(fixture.live);
	const char *lost = strstr(fixture.last_steps, "--\n");
	assert_non_null(strstr(fixture.last_steps, "/home/u/notes"));
	assert_non_null(strstr(fixture.last_steps, "/usr"));
	assert_non_null(strstr(lost, "/home/u/other")); /* may be there */
	live_restore(fixture.live);                     /* it is under way */
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	assert_true(gives(PERMISSION_FS_READ, "/home/u/other"));
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes"));
}

static void what_the_host_changed_is_looked_at_once(void **state) {
	(void)state;
	for (int i = 0; i < 10; i++) live_refresh(fixture.live);
	fixture_turns(&fixture, 2 * LIMIT_REPLAN_MS);
	assert_int_equal(fixture.plans, 1);
	assert_int_equal(fixture.fresh, 1);
}

static void what_can_not_be_hidden_is_told_as_open(void **state) {
	(void)state;
	live_refresh(fixture.live);
	live_hide(fixture.live);
	fixture_turns(&fixture, 2 * LIMIT_REPLAN_MS);
	assert_int_equal(fixture.plans, 1);
	assert_true(live_hid(fixture.live));
	fixture.plan_code = -E2BIG;
	live_refresh(fixture.live);
	fixture_turns(&fixture, 2 * LIMIT_REPLAN_MS);
	assert_int_equal(fixture.failed, 1);
	assert_int_equal(fixture.left_open, 0);
	live_hide(fixture.live);
	fixture_turns(&fixture, 2 * LIMIT_REPLAN_MS);
	assert_int_equal(fixture.failed, 2);
	assert_int_equal(fixture.left_open, 1);
}

static bool is_in_call(pid_t thread, long number) {
	struct call_raw raw;
	return call_raw_read(thread, &raw) == 0 && raw.number == number;
}

static void *wait_twice(void *argument) {
	int *pipes = argument;
	char byte;
	pid_t thread = gettid();
	if (write(pipes[3], &thread, sizeof thread) < 0 || read(pipes[0], &byte, 1) < 0) abort();
	/* another call */
	if (pread(pipes[0], &byte, 0, 0) < 0) usleep(300 * 1000);
	return NULL;
}

static void once_lasts_until_the_call_has_returned(void **state) {
	(void)state;
	int pipes[4], told = 0;
	pthread_t waiting;
	pid_t thread;
	assert_int_equal(pipe(pipes) | pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&waiting, NULL, wait_twice, pipes), 0);
	assert_int_equal(read(pipes[2], &thread, sizeof thread), sizeof thread);
	wait_until(is_in_call(thread, SYS_read));
	const struct need need = {.permission = PERMISSION_FS_READ, .path = "/home/u/notes/todo"};
	live_once(fixture.live, thread, &need, true);
	live_when(fixture.live, count_up, &told);
	fixture_until(&fixture, told == 1);
	assert_true(gives(PERMISSION_FS_READ, "/home/u/notes/todo"));
	assert_false(gives(PERMISSION_FS_READ, "/home/u/notes"));
	assert_int_equal(write(pipes[1], "", 1), 1);
	fixture_until(&fixture, !gives(PERMISSION_FS_READ, "/home/u/notes/todo"));
	assert_int_equal(fixture.plans, 1); /* the plan before was kept */
	assert_true(strings_contain(&fixture.taken, need.path));
	assert_int_equal(fixture.calls, 1);
	pthread_join(waiting, NULL);
	for (int i = 0; i < 4; i++) close(pipes[i]);
}

static void once_ends_with_the_thread_and_after_a_time(void **state) {
	(void)state;
	int told = 0;
	const struct need need = {.permission = PERMISSION_FS_WRITE, .path = "/home/u/notes"};
	live_once(fixture.live, 0x3ffffff, &need, true); /* no such thread */
	live_when(fixture.live, count_up, &told);
	fixture_turn(&fixture);
	assert_int_equal(told, 1);
	fixture_until(&fixture, !gives(PERMISSION_FS_WRITE, "/home/u/notes"));
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_grant_appears_and_goes),
		LIVE_TEST(the_newest_of_several_views_wins),
		LIVE_TEST(what_fails_is_tried_with_fresh_facts_and_then_told),
		LIVE_TEST(without_a_plan_nothing_new_is_there_and_what_narrows_is_told_as_open),
		LIVE_TEST(after_the_portals_death_all_is_made_whole),
		LIVE_TEST(what_the_host_changed_is_looked_at_once),
		LIVE_TEST(what_can_not_be_hidden_is_told_as_open),
		LIVE_TEST(once_lasts_until_the_call_has_returned),
		LIVE_TEST(once_ends_with_the_thread_and_after_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
