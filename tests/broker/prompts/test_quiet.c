/* Quiet hours: what the calendar says of them, and who is told. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "prompts/quiet.h"
#include "prompts_fixture.h"
#include "support/cmocka.h"
#include "support/home.h"

static int64_t at(const char *stamp) {
	int64_t wall_ms = 0;
	assert_int_equal(stamp_parse(stamp, &wall_ms, NULL), 0);
	return wall_ms;
}

/* Zones as POSIX writes them: no test needs a file of the host's. */
static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3", calcutta[] = "IST-5:30", utc[] = "UTC0";

static const struct moment_of {
	const char *zone, *hours[3], *now, *end; /* end: NULL = it isn't quiet, "" = for ever */
} moments[] = {
	{utc, {"22:00-07:00"}, "2026-11-21T21:59:59.999Z", NULL},
	{utc, {"22:00-07:00"}, "2026-11-21T22:00:00.000Z", "2026-11-22T07:00:00.000Z"},
	{utc, {"22:00-07:00"}, "2026-11-22T06:59:59.999Z", "2026-11-22T07:00:00.000Z"},
	{utc, {"22:00-07:00"}, "2026-11-22T07:00:00.000Z", NULL},
	{utc, {"12:00-13:30"}, "2026-11-21T13:29:00.000Z", "2026-11-21T13:30:00.000Z"},
	{utc, {"12:00-13:30"}, "2026-11-21T00:00:00.000Z", NULL},
	/* One after the other are one. */
	{utc, {"22:00-00:00", "00:00-07:00"}, "2026-12-31T23:00:00.000Z", "2027-01-01T07:00:00.000Z"},
	{utc, {"00:00-12:00", "12:00-00:00"}, "2026-11-21T15:00:00.000Z", ""},
	{utc, {NULL}, "2026-11-21T03:00:00.000Z", NULL},
	/* Local time. */
	{calcutta, {"22:00-07:00"}, "2026-11-21T16:30:00.000Z", "2026-11-22T01:30:00.000Z"},
	{calcutta, {"22:00-07:00"}, "2026-11-21T16:29:59.000Z", NULL},
	{berlin, {"22:00-07:00"}, "2026-07-01T20:00:00.000Z", "2026-07-02T05:00:00.000Z"},
	{berlin, {"22:00-07:00"}, "2026-01-01T20:30:00.000Z", NULL},
	/* The night that has an hour less: 02:30 isn't. */
	{berlin, {"01:30-02:30"}, "2026-03-29T00:45:00.000Z", "2026-03-29T01:00:00.000Z"},
	{berlin, {"22:00-07:00"}, "2026-03-28T21:00:00.000Z", "2026-03-29T05:00:00.000Z"},
	/* And the one that has two of an hour. */
	{berlin, {"22:00-07:00"}, "2026-10-24T20:00:00.000Z", "2026-10-25T06:00:00.000Z"},
	{berlin, {"02:30-02:45"}, "2026-10-25T00:30:00.000Z", "2026-10-25T00:45:00.000Z"},
	{berlin, {"02:30-02:45"}, "2026-10-25T01:30:00.000Z", "2026-10-25T01:45:00.000Z"},
};

static void the_calendar_says_when(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(moments); i++) {
		const struct moment_of *moment = &moments[i];
		CLEANUP_STRINGS struct strings hours = {0};
		for (size_t k = 0; moment->hours[k]; k++) strings_add(&hours, moment->hours[k]);
		setenv("TZ", moment->zone, 1);
		tzset();
		if (quiet_at(&hours, at(moment->now)) != (moment->end != NULL)) fail_msg("%s: quiet", moment->now);
		if (!moment->end) continue;
		char end[CLOCK_STAMP_SIZE] = "";
		int64_t end_ms = quiet_end(&hours, at(moment->now));
		if (end_ms) stamp_format(end_ms, end);
		if (strcmp(end, moment->end) != 0) fail_msg("%s: until %s", moment->now, end);
	}
	setenv("TZ", utc, 1);
	tzset();
}

/* An hour before and behind now: quiet, whenever this runs. */
static void write_policy(bool quiet) {
	time_t now = time(NULL);
	int hour = gmtime(&now)->tm_hour;
	CLEANUP_FREE char *policy = string_format("%squiet: [\"%02d:00-%02d:59\"]\n", prompts_waiting,
						  (hour + (quiet ? 23 : 11)) % 24, (hour + (quiet ? 1 : 13)) % 24);
	home_write(".config/sbx/policy.yaml", policy);
}

static int setup(void **state) {
	int r = prompts_setup_waits(state);
	write_policy(true);
	return r;
}

static void expect_quiet(struct peer *agent, bool quiet) {
	json_t *push = peer_push(agent, "quiet");
	assert_int_equal(json_object_size(push), 3);
	assert_int_equal(json_is_true(json_object_get(push, "quiet")), quiet);
	assert_int_equal(json_is_string(json_object_get(push, "until")), quiet);
	json_decref(push);
}

static void desktop_agents_are_told_when_they_come_and_when_it_changes(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true), *terminal = agent_new("tui"), *desktop = NULL;
	json_decref(peer_call(user, "status", NULL)); /* the policy as it is now */
	desktop = agent_new("desktop");
	expect_quiet(desktop, true);
	/* The hours become others. */
	write_policy(false);
	json_decref(peer_call(user, "status", NULL));
	expect_quiet(desktop, false);
	/* Who comes now is told alone. */
	CLEANUP_PEER struct peer *second = agent_new("desktop");
	expect_quiet(second, false);
	assert_true(peer_is_quiet(desktop, 20));
	assert_true(peer_is_quiet(terminal, 20));
	/* A question is put as ever: who shows it is the agent's to say. */
	CLEANUP_PEER struct peer *runner = runner_new();
	ask(runner, "a.test:443");
	json_decref(peer_push(desktop, "prompt"));
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_calendar_says_when),
		PROMPTS_TEST(desktop_agents_are_told_when_they_come_and_when_it_changes, setup),
	};
	home_make(programs);
	setenv("TZ", utc, 1);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
