/*
 * fault_clock: nothing outlives either clock, whatever they do: the wall clock set forward or back, a suspend (the boot
 * clock runs on, the wall clock is set later), a clock that stands, another boot.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/broker.h"
#include "endings/expiry.h"
#include "service.h"
#include "story.h"

enum { HOUR_MS = 3600 * 1000, MOVES_MAX = 4 };

/* How far the clocks have moved since the grant for an hour was made, in minutes, and whether it must be in force
 * still. */
static const struct move {
	const char *what;
	struct {
		int wall, boot;
		bool restart; /* sbxd, */
		bool reboot;  /* the machine */
		bool in_force;
	} steps[MOVES_MAX];
	size_t count;
} moves[] = {
	{"an hour goes by",
	 {{30, 30, false, false, true}, {59, 59, false, false, true}, {61, 61, false, false, false}},
	 3},
	{"the wall clock is set forward", {{61, 1, false, false, false}, {1, 1, false, false, false}}, 2},
	{"the wall clock is set back", {{-600, 30, false, false, true}, {-600, 61, false, false, false}}, 2},
	{"the wall clock is set back, sbxd starts anew",
	 {{-600, 30, true, false, true}, {-600, 61, true, false, false}},
	 2},
	{"the machine sleeps, and its clock is set late",
	 {{1, 61, false, false, false}, {61, 61, false, false, false}},
	 2},
	{"it sleeps, and sbxd starts before its clock is set", {{1, 61, true, false, false}}, 1},
	{"the wall clock stands", {{0, 59, false, false, true}, {0, 60, false, false, false}}, 2},
	{"another boot within the hour", {{30, 1, true, true, true}, {61, 32, false, true, false}}, 2},
	{"another boot, its boot clock past the old end",
	 {{30, 90, true, true, true}, {61, 121, true, true, false}},
	 2},
	{"another boot after the hour", {{61, 1, true, true, false}}, 1},
	{"what has ended stays so when the clock is set back",
	 {{61, 1, false, false, false}, {-600, 2, true, false, false}},
	 2},
};

struct moving_clock {
	struct clock clock;
	struct moment now;
};

static void read_moving(const struct clock *clock, struct moment *ret_now) {
	*ret_now = ((const struct moving_clock *)clock)->now;
}

static struct broker *open_broker(const struct clock *clock) {
	struct places places;
	struct broker *broker;
	struct error error = ERROR_NONE;
	int r = places_find(&places, &error);
	if (r == 0) r = places_make(&places, &error);
	if (r == 0) r = broker_new(&places, clock, 60000, NULL, &broker, &error);
	if (r == 0) return broker;
	fprintf(stderr, "%s\n", error.message);
	exit(1);
}

static const struct permission permission = {.kind = PERMISSION_CUSTOM, .name = "db:access"};

static void make_grant(struct broker *broker) {
	struct pattern_scope scope = {.home = "/home/u", .project = "/p"};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	struct moment now;
	clock_read(broker->clock, &now);
	struct grant grant = {.permission = permission,
			      .effect = EFFECT_ALLOW,
			      .profile = (char *)"default",
			      .project = (char *)"/p",
			      .lifetime = LIFETIME_UNTIL,
			      .created_ms = now.wall_ms,
			      .expires_ms = now.wall_ms + HOUR_MS,
			      .expires_boot_ms = now.boot_ms + HOUR_MS};
	memcpy(grant.boot_id, now.boot_id, sizeof grant.boot_id);
	struct error error = ERROR_NONE;
	int r = pattern_compile(&permission, "prod", &scope, &pattern, &error);
	if (r == 0) r = broker_begin(broker, STORE_FULL, &error);
	if (r == 0) r = grants_insert(broker->grants, &grant, pattern, true, &error);
	if (r == 0) r = broker_commit(broker, &error);
	if (r == 0) return;
	fprintf(stderr, "%s\n", error.message);
	exit(1);
}

static bool is_in_force(struct broker *broker) {
	const struct request request = {.subject = {.profile = (char *)"default", .project = (char *)"/p"},
					.permission = permission,
					.target = (char *)"prod"};
	CLEANUP_GRANT struct grant grant = {0};
	struct pattern_rank rank;
	return grants_find(broker->grants, &request, &grant, &rank);
}

static int run_move(const struct move *move) {
	struct moving_clock clock = {
		.clock = {.read = read_moving},
		.now = {.wall_ms = INT64_C(1700000000000), .boot_ms = 5 * 3600 * 1000, .boot_id = "one"}};
	const struct moment start = clock.now;
	story_reset();
	struct broker *broker = open_broker(&clock.clock);
	make_grant(broker);
	int lost = !is_in_force(broker);
	for (size_t i = 0; i < move->count; i++) {
		clock.now.wall_ms = start.wall_ms + move->steps[i].wall * INT64_C(60000);
		clock.now.boot_ms = (move->steps[i].reboot ? 0 : start.boot_ms) + move->steps[i].boot * INT64_C(60000);
		snprintf(clock.now.boot_id, sizeof clock.now.boot_id, "%s", move->steps[i].reboot ? "two" : "one");
		if (move->steps[i].restart) {
			broker_free(broker);
			broker = open_broker(&clock.clock);
		}
		/* Before and after the timer has fired: a lookup doesn't wait for it. */
		bool before = is_in_force(broker);
		expiry_sweep(broker);
		bool after = is_in_force(broker);
		if (before == move->steps[i].in_force && after == before) continue;
		fprintf(stderr, "%s, step %zu: in force before %d, after %d\n", move->what, i + 1, before, after);
		lost++;
	}
	broker_free(broker);
	return lost;
}

int main(void) {
	int lost = 0;
	story_begin();
	for (size_t i = 0; i < ARRAY_LENGTH(moves); i++) {
		int one = run_move(&moves[i]);
		printf("claim %zu %d clocks: %s\n", moves[i].count, one, moves[i].what);
		lost += one;
	}
	story_end();
	return lost > 0;
}
