#include "quiet.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "core/broker.h"
#include "policies/policies.h"
#include "wire/client.h"

enum { MINUTE_MS = 60 * 1000, MINUTES_LOOKED_AT = 2 * 24 * 60 };

struct quiet {
	bool now;
	int64_t end_ms; /* 0: not now, or no end is known */
	char *hours;    /* that this was told by; NULL: nothing was told yet */
};

struct quiet *quiet_new(void) {
	return mem_new(struct quiet);
}

void quiet_free(struct quiet *quiet) {
	if (!quiet) return;
	free(quiet->hours);
	free(quiet);
}

/* "22:00" as the minute of the day; the loader has looked at its form (policy/settings.c). */
static int minute_of(const char *time) {
	return ((time[0] - '0') * 10 + time[1] - '0') * 60 + (time[3] - '0') * 10 + time[4] - '0';
}

bool quiet_at(const struct strings *hours, int64_t wall_ms) {
	const time_t now = (time_t)(wall_ms / 1000);
	struct tm local;
	if (!localtime_r(&now, &local)) return false;
	const int minute = local.tm_hour * 60 + local.tm_min;
	for (size_t i = 0; i < hours->count; i++) {
		const int from = minute_of(hours->items[i]), to = minute_of(hours->items[i] + 6);
		if (from < to ? minute >= from && minute < to : minute >= from || minute < to) return true;
	}
	return false;
}

/* Minute by minute, for what a calendar skips or has twice is nobody's to compute. */
int64_t quiet_end(const struct strings *hours, int64_t wall_ms) {
	const int64_t first = wall_ms - wall_ms % MINUTE_MS;
	for (int64_t i = 1; i <= MINUTES_LOOKED_AT; i++)
		if (!quiet_at(hours, first + i * MINUTE_MS)) return first + i * MINUTE_MS;
	return 0;
}

static void push(struct client *agent) {
	const struct quiet *quiet = agent->broker->quiet;
	char end[CLOCK_STAMP_SIZE];
	json_t *message = json_object();
	if (quiet->end_ms) stamp_format(quiet->end_ms, end);
	json_object_set_new(message, "quiet", json_boolean(quiet->now));
	json_object_set_new(message, "until", quiet->end_ms ? json_string(end) : json_null());
	client_push(agent, "quiet", message);
}

static bool is_desktop(const struct client *client) {
	return client->agent == AGENT_DESKTOP && !client->dead;
}

static bool has_desktop(const struct broker *broker) {
	const struct client *client;
	TAILQ_FOREACH(client, &broker->clients, link) {
		if (is_desktop(client)) return true;
	}
	return false;
}

static char *hours_now(struct broker *broker, const struct strings **ret_hours) {
	static const struct strings none = {0};
	struct policy *policy;
	struct string text = {0};
	bool good = policies_current(broker->policies, &policy, NULL) == 0 && policy;
	*ret_hours = good ? policy_quiet(policy) : &none;
	string_append(&text, "");
	for (size_t i = 0; i < (*ret_hours)->count; i++) string_append(&text, (*ret_hours)->items[i]);
	return string_steal(&text);
}

/* True when it is another now than was told. */
static bool find_out(struct broker *broker) {
	struct quiet *quiet = broker->quiet;
	const struct strings *hours;
	const int64_t now_ms = broker_now_ms(broker);
	char *text = hours_now(broker, &hours);
	tzset(); /* localtime_r(3) alone doesn't see that the host's zone has changed */
	const bool now = quiet_at(hours, now_ms), same = string_equal(text, quiet->hours) && now == quiet->now;
	free(quiet->hours);
	quiet->hours = text;
	if (same) return false;
	quiet->now = now;
	quiet->end_ms = now ? quiet_end(hours, now_ms) : 0;
	return true;
}

static void tell_all_but(const struct broker *broker, const struct client *told) {
	struct client *client;
	TAILQ_FOREACH(client, &broker->clients, link) {
		if (is_desktop(client) && client != told) push(client);
	}
}

void quiet_look(struct broker *broker) {
	if (has_desktop(broker) && find_out(broker)) tell_all_but(broker, NULL);
}

void quiet_tell(struct client *desktop) {
	if (find_out(desktop->broker)) tell_all_but(desktop->broker, desktop);
	push(desktop);
}
