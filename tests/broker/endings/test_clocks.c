/* A file grant's end in a running sandbox, whatever the clocks do: the wall clock set, a suspend, a clock that stands
 * (attack B15). A broker with the test's own clock, in a child. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "core/broker.h"
#include "prompts_fixture.h"
#include "service.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { MINUTE_MS = 60 * 1000 };

/* Shared with the child. */
struct moving_clock {
	struct clock clock;
	struct moment now;
};
static struct moving_clock *moving;
static pid_t broker_child;

static void read_moving(const struct clock *clock, struct moment *ret_now) {
	*ret_now = ((const struct moving_clock *)clock)->now;
}

_Noreturn static void serve(void) {
	struct places places;
	struct listener *listener;
	struct broker *broker;
	enum listener_outcome outcome;
	struct error error = ERROR_NONE;
	int r = places_find(&places, &error);
	if (r == 0) r = places_make(&places, &error);
	if (r == 0) r = listener_open(&places, &outcome, &listener, &error);
	if (r == 0) r = broker_new(&places, &moving->clock, MINUTE_MS, listener, &broker, &error);
	if (r == 0) r = broker_run(broker, &error);
	if (r < 0) fprintf(stderr, "%s\n", error.message);
	if (r == 0) broker_free(broker);
	_exit(r < 0);
}

static int setup_with(const char *policy) {
	CLEANUP_FREE char *database = home_path(".local/state/sbx/sbx.db");
	unlink(database);
	home_write(".config/sbx/policy.yaml", policy);
	moving = mmap(NULL, sizeof *moving, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(moving != MAP_FAILED);
	/* Ahead of the kernel's clocks, by which the broker's timers go: none of them fires. */
	*moving = (struct moving_clock){
		.clock = {.read = read_moving},
		.now = {.wall_ms = INT64_C(4000000000000), .boot_ms = INT64_C(4000000000000), .boot_id = "one"}};
	broker_child = fork();
	assert_true(broker_child >= 0);
	if (broker_child == 0) serve();
	CLEANUP_PEER struct peer *peer = NULL;
	wait_until((peer = peer_connect(false)));
	return 0;
}

static int setup(void **state) {
	(void)state;
	return setup_with(prompts_waiting);
}

static int setup_quiet(void **state) {
	(void)state;
	CLEANUP_FREE char *policy = string_format("%squiet: [\"22:00-07:00\"]\n", prompts_waiting);
	setenv("TZ", "UTC0", 1);
	return setup_with(policy);
}

static int teardown(void **state) {
	(void)state;
	int status;
	kill(broker_child, SIGTERM);
	assert_int_equal(waitpid(broker_child, &status, 0), broker_child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	munmap(moving, sizeof *moving);
	return 0;
}

static bool is_allowed(struct peer *runner, const char *path) {
	json_t *reply = peer_call(runner, "check",
				  json_pack("{s:s, s:s, s:b}", "permission", "fs:read", "target", path, "ask", 0));
	const json_t *verdict = json_object_get(reply, "verdict");
	bool allowed = strcmp(text_of(verdict, "effect"), "allow") == 0;
	json_decref(reply);
	return allowed;
}

static bool says(const json_t *push, const char *list, const char *path) {
	const json_t *paths = json_object_get(json_object_get(push, "view"), "paths"), *item;
	size_t index;
	json_array_foreach ((json_t *)json_object_get(paths, list), index, item)
		if (strcmp(json_string_value(item), path) == 0) return true;
	return false;
}

/* Whoever looks has what is over ended, as the timers have, which go by the kernel's clocks. */
static void look(struct peer *user) {
	json_decref(peer_call(user, "list", json_pack("{s:s}", "what", "grants")));
}

static void grant_for_an_hour(struct peer *user, struct peer *runner, const char *path) {
	CLEANUP_FREE char *app = home_path("app");
	json_t *reply = peer_call(user, "grant",
				  json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "permission", "fs:read", "target",
					    path, "effect", "allow", "profile", "tooled", "project", app, "lifetime",
					    "until", "ttl_ms", 60 * MINUTE_MS));
	assert_string_equal(text_of(reply, "type"), "grant");
	json_decref(reply);
	json_t *view = peer_push(runner, "view");
	assert_true(says(view, "read", path));
	json_decref(view);
}

/* How far the clocks go, in minutes, and whether the grant is still in force then. */
static const struct move {
	const char *what;
	int wall, boot;
	bool in_force;
} moves[] = {
	{"half an hour goes by", 30, 30, true},
	{"an hour goes by", 60, 60, false},
	{"the wall clock is set back", -600, 59, true},
	{"the wall clock is set back, and an hour goes by", -600, 60, false},
	{"the wall clock is set forward", 61, 1, false},
	{"the machine slept, and its clock is set late", 1, 61, false},
	{"the wall clock stands", 0, 60, false},
	{"the boot clock stands", 60, 0, false},
};

static void nothing_prolongs_a_file_grant(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(moves); i++) {
		const struct move *move = &moves[i];
		CLEANUP_PEER struct peer *user = peer_connect(true), *runner = runner_new();
		CLEANUP_FREE char *name = string_format("shared/%zu", i), *path = home_path(name);
		const struct moment start = moving->now;
		grant_for_an_hour(user, runner, path);
		moving->now.wall_ms = start.wall_ms + move->wall * INT64_C(60000);
		moving->now.boot_ms = start.boot_ms + move->boot * INT64_C(60000);
		if (is_allowed(runner, path) != move->in_force) fail_msg("%s: the verdict", move->what);
		look(user);
		if (move->in_force) {
			if (!peer_is_quiet(runner, 20)) fail_msg("%s: the runner is told", move->what);
		} else {
			json_t *view = peer_receive(runner), *ended = peer_receive(runner);
			assert_string_equal(text_of(view, "type"), "view");
			if (!says(view, "gone", path)) fail_msg("%s: the view", move->what);
			assert_string_equal(text_of(ended, "type"), "ended");
			json_decref(view);
			json_decref(ended);
		}
		/* It doesn't come back with the clock. */
		moving->now = start;
		if (!move->in_force && is_allowed(runner, path)) fail_msg("%s: again in force", move->what);
		json_decref(peer_call(user, "revoke", json_pack("{s:b, s:b}", "all", 1, "at_once", 1)));
	}
}

/* By the wall clock, within a second of it. */
static void quiet_hours_begin_and_end(void **state) {
	(void)state;
	static const int64_t day_ms = INT64_C(86400000), midnight = INT64_C(4000000000000) / day_ms * day_ms;
	static const struct {
		int hour;
		bool quiet;
	} times[] = {{12, false}, {22, true}, {31, false}, {12, false}, {46, true}};
	CLEANUP_PEER struct peer *agent = NULL;
	bool told = false;
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		moving->now.wall_ms = midnight + times[i].hour * 60 * INT64_C(60000);
		if (!agent) agent = agent_new("desktop");
		if (i > 0 && times[i].quiet == told) continue;
		json_t *push = peer_push(agent, "quiet");
		told = json_is_true(json_object_get(push, "quiet"));
		assert_int_equal(told, times[i].quiet);
		json_decref(push);
	}
}

int main(void) {
	static const char *const programs[] = {NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_prolongs_a_file_grant, setup, teardown),
		cmocka_unit_test_setup_teardown(quiet_hours_begin_and_end, setup_quiet, teardown),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
