/*
 * Theory of operation.
 *
 * The broker counts by quarters of an hour and knows no time zones: it is told where days begin, a month of them at a
 * time, the newest first. Each reply says when something last happened before these days, so that years in which
 * nothing did cost nothing.
 */
#include "ui/history_summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/channel.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"

static const int64_t LAST_MS = INT64_C(253402214400000); /* 9999-12-31: whatever a wrong clock wrote is before */
enum { HOUR_S = 3600, QUARTER_MS = 15 * 60 * 1000 };

static struct tm local_of(time_t seconds) {
	struct tm local = {0};
	if (!localtime_r(&seconds, &local)) local = (struct tm){.tm_year = 70, .tm_mday = 1};
	return local;
}

static bool same_day(const struct tm *a, const struct tm *b) {
	return a->tm_year == b->tm_year && a->tm_yday == b->tm_yday;
}

int64_t day_start_ms(int64_t wall_ms, int days) {
	struct tm wanted = local_of((time_t)(wall_ms / 1000));
	/* At noon every day has that date, whatever the clock did in the night. */
	wanted.tm_mday += days;
	wanted.tm_hour = 12;
	wanted.tm_min = wanted.tm_sec = 0;
	wanted.tm_isdst = -1;
	time_t noon = mktime(&wanted);
	struct tm date = local_of(noon);
	/* Midnight may be missing, or come twice: the day begins with the first moment that has its date. */
	struct tm midnight = {.tm_year = date.tm_year, .tm_mon = date.tm_mon, .tm_mday = date.tm_mday, .tm_isdst = -1};
	time_t start = mktime(&midnight);
	struct tm found = local_of(start);
	if (!same_day(&found, &date)) start += HOUR_S;
	struct tm before = local_of(start - HOUR_S);
	if (same_day(&before, &date)) start -= HOUR_S;
	return (int64_t)start * 1000;
}

static char *day_date(int64_t day_ms) {
	char text[32] = "?";
	struct tm local = local_of((time_t)(day_ms / 1000));
	strftime(text, sizeof text, "%Y-%m-%d", &local);
	return string_copy(text);
}

char *day_name(int64_t day_ms, int64_t now_ms) {
	static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
					       "Thursday", "Friday", "Saturday"};
	if (day_ms == day_start_ms(now_ms, 0)) return string_copy("today");
	if (day_ms == day_start_ms(now_ms, -1)) return string_copy("yesterday");
	for (int ago = 2; ago < (int)ARRAY_LENGTH(weekdays); ago++)
		if (day_ms == day_start_ms(now_ms, -ago))
			return string_copy(weekdays[local_of((time_t)(day_ms / 1000)).tm_wday]);
	return day_date(day_ms);
}

static char *text_of(const json_t *row, const char *key) {
	char *bytes = NULL;
	if (message_bytes_take(json_object_get(row, key), &bytes, NULL) < 0 || !bytes) return string_copy("");
	return bytes;
}

char *summary_sentence(const json_t *row, int64_t day_ms, int64_t now_ms) {
	static const struct {
		const char *key, *one, *many;
	} counts[] = {{"sessions", "session", "sessions"},
		      {"decisions", "decision", "decisions"},
		      {"asked", "asked", "asked"},
		      {"denied", "denied", "denied"}};
	CLEANUP_FREE char *day = day_name(day_ms, now_ms), *profile = text_of(row, "profile");
	CLEANUP_FREE char *project = text_of(row, "project"), *place = human_path(project);
	CLEANUP_FREE char *who = text_visible(profile), *where = text_visible(place);
	CLEANUP_STRING struct string sentence = {0};
	string_appendf(&sentence, "%s %s%s%s:", day, who, *project ? " in " : "", *project ? where : "");
	const char *comma = " ";
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		long long count = json_integer_value(json_object_get(row, counts[i].key));
		/* That nobody asked for a session or was denied goes without saying. */
		if (count == 0) continue;
		string_appendf(&sentence, "%s%lld %s", comma, count, count == 1 ? counts[i].one : counts[i].many);
		comma = ", ";
	}
	return string_steal(&sentence);
}

struct summary {
	struct channel *channel;
	const json_t *filter;
	int64_t now_ms;
	bool as_json;
	struct json_list list;
	size_t rows;
	int64_t behind;
};

static void print_row(struct summary *summary, json_t *row) {
	int64_t day_ms = 0;
	const char *day = json_string_value(json_object_get(row, "day"));
	if (!day || stamp_parse(day, &day_ms, NULL) < 0) return;
	summary->rows++;
	if (summary->as_json) {
		CLEANUP_FREE char *date = day_date(day_ms);
		json_object_set_new(row, "day", json_string(date));
		json_list_item(&summary->list, row);
	} else {
		CLEANUP_FREE char *sentence = summary_sentence(row, day_ms, summary->now_ms);
		puts(sentence);
	}
}

/* One call; the days (freed) are where they begin, oldest first, and where the last ends. */
static int ask(struct summary *summary, json_t *days, int64_t after, json_t **ret_reply, struct error *error) {
	json_t *body = json_object();
	json_object_set(body, "filter", (json_t *)summary->filter);
	json_object_set_new(body, "days", days);
	json_put_id(body, "after", after);
	int r = channel_call(summary->channel, "summary", body, ret_reply, error);
	if (r == 0) summary->behind = json_integer_value(json_object_get(*ret_reply, "behind"));
	return r;
}

/* Up to the day that `before_ms` ends in, as many as one call may have. */
static json_t *days_before(int64_t before_ms) {
	json_t *days = json_array();
	for (int ago = LIMIT_SUMMARY_DAYS - 2; ago >= -1; ago--) {
		int64_t start = day_start_ms(before_ms - 1, -ago);
		if (start > 0) json_array_append_new(days, json_integer(start));
	}
	/* Of 1970 itself: the day that holds the first moment. */
	if (json_array_size(days) < 2) json_array_insert_new(days, 0, json_integer(1));
	return days;
}

/* A month, in as many replies as its rows need. */
static int print_month(struct summary *summary, int64_t *before_ms, struct error *error) {
	json_t *days = days_before(*before_ms), *reply = NULL, *row;
	int64_t after = 0;
	size_t index;
	int r;
	do {
		r = ask(summary, json_incref(days), after, &reply, error);
		if (r < 0) break;
		json_array_foreach (json_object_get(reply, "rows"), index, row) print_row(summary, row);
		int64_t day = json_integer_value(json_object_get(reply, "day"));
		after = json_integer_value(json_object_get(reply, "after"));
		*before_ms = json_integer_value(json_object_get(reply, "before"));
		json_decref(reply);
		if (day == 0) break;
		/* From that day on again, the newer ones are done. */
		while (json_array_size(days) > 2 &&
		       json_integer_value(json_array_get(days, json_array_size(days) - 2)) > day)
			json_array_remove(days, json_array_size(days) - 1);
	} while (after != 0);
	json_decref(days);
	return r;
}

static int print_all(struct summary *summary, struct error *error) {
	int64_t since_ms = json_integer_value(json_object_get(summary->filter, "since_ms"));
	int64_t until_ms = json_integer_value(json_object_get(summary->filter, "until_ms"));
	int64_t before_ms = until_ms != 0 ? until_ms : LAST_MS;
	/* When did something last happen? In the quarter that it ends in, too. */
	json_int_t end_ms = before_ms + QUARTER_MS;
	json_t *reply = NULL;
	int r = ask(summary, json_pack("[I, I]", end_ms, end_ms + 1), 0, &reply, error);
	if (r < 0) return r;
	int64_t last_ms = json_integer_value(json_object_get(reply, "before"));
	json_decref(reply);
	if (until_ms == 0 || last_ms < before_ms) before_ms = last_ms;
	while (r == 0 && before_ms > 0 && before_ms > since_ms) r = print_month(summary, &before_ms, error);
	return r;
}

int history_summarise(const json_t *filter, bool as_json, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct moment now;
	clock_read(clock_system(), &now);
	int r = broker_connect(NULL, &channel, error);
	if (r < 0) return r;
	struct summary summary = {.channel = channel,
				  .filter = filter,
				  .now_ms = now.wall_ms,
				  .as_json = as_json,
				  .list = {.out = stdout}};
	r = print_all(&summary, error);
	if (r < 0) return r;
	if (as_json)
		json_list_end(&summary.list);
	else if (summary.rows == 0)
		puts("Nothing in the history fits.");
	if (summary.behind > 0)
		fprintf(stderr, "sbx: %lld older rows are still being counted; ask again in a minute\n",
			(long long)summary.behind);
	return 0;
}
