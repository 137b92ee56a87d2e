#include "ui/event_words.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/message.h"
#include "ui/human.h"

enum { ENDED_NAMED = 5 };

static const char *detail_text(const struct event *event, const char *key) {
	return json_string_value(json_object_get(event->detail, key));
}

static long long detail_number(const struct event *event, const char *key) {
	return json_integer_value(json_object_get(event->detail, key));
}

/* "512 B", "1.5 KiB" */
static char *bytes_text(long long bytes) {
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	if (bytes < 1024) return string_format("%lld B", bytes);
	double value = (double)bytes / 1024;
	size_t unit = 0;
	for (; value >= 1024 && unit + 1 < ARRAY_LENGTH(units); unit++) value /= 1024;
	return string_format("%.1f %s", value, units[unit]);
}

/* "fs:write ~/notes", "fs:link LINK -> TARGET" */
static char *asked_about(const struct event *event) {
	CLEANUP_FREE char *link = NULL;
	const char *target = event->target ? event->target : "";
	message_bytes_take(json_object_get(event->detail, "link"), &link, NULL);
	return string_format("%s %s%s%s", event->permission, link ? link : "", link ? " -> " : "", target);
}

static char *prompt_words(const struct event *event) {
	static const struct {
		const char *state, *words;
	} states[] = {{"expired", " (nobody answered in time)"},
		      {"cancelled", " (taken back)"},
		      {"covered", " (settled by a rule or grant)"}};
	CLEANUP_FREE char *about = asked_about(event);
	const char *state = detail_text(event, "state"), *words = "";
	for (size_t i = 0; i < ARRAY_LENGTH(states); i++)
		if (string_equal(states[i].state, state)) words = states[i].words;
	return string_format("%s%s", about, words);
}

/* Nobody has counted the bytes of one that went past the gate (door direct, unix). */
static char *moved_text(const struct event *event) {
	if (!json_is_integer(json_object_get(event->detail, "sent"))) return string_copy("");
	CLEANUP_FREE char *sent = bytes_text(detail_number(event, "sent"));
	CLEANUP_FREE char *received = bytes_text(detail_number(event, "received"));
	return string_format("%s out, %s in, ", sent, received);
}

static char *connection_words(const struct event *event) {
	CLEANUP_FREE char *about = asked_about(event);
	if (!json_is_integer(json_object_get(event->detail, "duration_ms"))) return STEAL(about);
	CLEANUP_FREE char *bytes = moved_text(event);
	CLEANUP_FREE char *duration = human_duration(detail_number(event, "duration_ms"));
	const char *fault = detail_text(event, "error");
	return string_format("%s (%s%s%s%s)", about, bytes, duration, fault ? ": " : "", fault ? fault : "");
}

static char *session_words(const struct event *event) {
	char *command = NULL;
	const json_t *exit = json_object_get(event->detail, "exit");
	if (json_is_integer(exit) && json_integer_value(exit) < 0) return string_copy("broke off");
	if (json_is_integer(exit))
		return string_format("exit %lld%s", detail_number(event, "exit"),
				     json_is_true(json_object_get(event->detail, "hangup")) ? " (hung up)" : "");
	if (message_bytes_take(json_object_get(event->detail, "command"), &command, NULL) < 0) return NULL;
	return command;
}

/* A file that changed has a list of its errors; the user's word on one has none. */
static const char *file_words(const struct event *event) {
	const json_t *errors = json_object_get(event->detail, "errors"),
		     *trusted = json_object_get(event->detail, "trusted");
	if (!errors) return json_is_true(trusted) ? "trusted" : "trust taken back";
	if (json_array_size(errors) > 0) return "edited, with errors: the last good version holds";
	if (!detail_text(event, "hash")) return "gone";
	return !trusted ? "edited" : json_is_true(trusted) ? "edited, trusted" : "edited, not trusted";
}

static char *policy_words(const struct event *event) {
	if (string_equal(event->by, "retention"))
		return string_format("%lld row%s taken away, up to row %lld", detail_number(event, "removed"),
				     detail_number(event, "removed") == 1 ? "" : "s", detail_number(event, "anchor"));
	return event->target ? string_format("%s: %s", event->target, file_words(event)) : NULL;
}

static char *decision_words(const struct event *event) {
	const json_t *count = json_object_get(event->detail, "count");
	if (event->permission || !json_is_integer(count)) return NULL;
	return string_format("%lld requests", (long long)json_integer_value(count));
}

/* "3 ended: node (42), sh (43), sh (44)" */
static void append_ended(struct string *words, const struct event *event) {
	const int64_t killed = detail_number(event, "killed");
	size_t index;
	const json_t *holder;
	if (killed <= 0) return;
	string_appendf(words, "%s%lld ended", words->size > 0 && words->data[words->size - 1] != ' ' ? "; " : "",
		       (long long)killed);
	json_array_foreach (json_object_get(event->detail, "ended"), index, holder) {
		CLEANUP_FREE char *command = NULL;
		if (message_bytes_take(json_object_get(holder, "command"), &command, NULL) < 0) return;
		if (index == ENDED_NAMED) {
			string_append(words, ", …");
			return;
		}
		string_appendf(words, "%s %s (%lld)", index == 0 ? ":" : ",", command ? command : "?",
			       (long long)json_integer_value(json_object_get(holder, "pid")));
	}
}

/* What went on after a grant's end: "fs:read /p: node (42) held /p/a, and 2 more; 3 ended: …". NULL: that isn't it. */
static char *held_words(const struct event *event) {
	const json_t *holders = json_object_get(event->detail, "holders"), *first = json_array_get(holders, 0);
	size_t count = json_array_size(holders) + (size_t)detail_number(event, "more");
	CLEANUP_FREE char *command = NULL, *path = NULL;
	CLEANUP_STRING struct string words = {0};
	if (!json_is_array(holders) || message_bytes_take(json_object_get(first, "command"), &command, NULL) < 0 ||
	    message_bytes_take(json_object_get(first, "path"), &path, NULL) < 0)
		return NULL;
	if (event->permission) string_appendf(&words, "%s %s: ", event->permission, event->target ? event->target : "");
	if (command && path)
		string_appendf(&words, "%s (%lld) held %s", command,
			       (long long)json_integer_value(json_object_get(first, "pid")), path);
	if (count > 1) string_appendf(&words, ", and %zu more", count - 1);
	append_ended(&words, event);
	return string_steal(&words);
}

/* "fs:write /p: mount can't be put back, so the sandbox was ended: Invalid argument" */
static char *repair_words(const struct event *event) {
	const char *what = detail_text(event, "what");
	CLEANUP_FREE char *why = NULL;
	CLEANUP_STRING struct string words = {0};
	if (!what || message_bytes_take(json_object_get(event->detail, "why"), &why, NULL) < 0 || !why) return NULL;
	if (event->permission) string_appendf(&words, "%s %s: ", event->permission, event->target ? event->target : "");
	string_appendf(&words, "%s: %s", what, why);
	return string_steal(&words);
}

/* What came of a run: "/p/a leads to /home/u/.bashrc", "/p/a.c: skip-worktree". */
static char *finding_words(const struct event *event) {
	const char *what = detail_text(event, "what"), *how = detail_text(event, "how"), *of = detail_text(event, "of"),
		   *unit = detail_text(event, "unit");
	CLEANUP_FREE char *leads = NULL;
	if (!what || message_bytes_take(json_object_get(event->detail, "leads"), &leads, NULL) < 0) return NULL;
	if (detail_number(event, "more") > 0) return string_format("%lld more: %s", detail_number(event, "more"), what);
	if (!event->target) return NULL;
	if (leads) return string_format("new link: %s leads to %s", event->target, leads);
	if (how) return string_format("git may no longer show changes: %s: %s", event->target, how);
	if (of && !unit) return string_format("not all was looked at: %s can't be read", event->target);
	if (of && unit)
		return string_format("not all was looked at: %s in %s past %lld %s", of, event->target,
				     detail_number(event, "most"), unit);
	return string_format("new, to be looked at: %s (%s)", event->target, what);
}

/* NULL: nothing better than what holds for all. */
static char *kind_words(const struct event *event) {
	switch (event->kind) {
	case EVENT_DECISION:
		return decision_words(event);
	case EVENT_PROMPT:
		return event->permission ? prompt_words(event) : NULL;
	case EVENT_CONNECTION:
		return event->permission ? connection_words(event) : NULL;
	case EVENT_SESSION_START:
	case EVENT_SESSION_END:
		return session_words(event);
	case EVENT_POLICY:
		return policy_words(event);
	case EVENT_REVOKE:
	case EVENT_EXPIRE:
		return held_words(event);
	case EVENT_ANSWER:
	case EVENT_GRANT:
	case EVENT_USE:
		return NULL;
	case EVENT_REPAIR:
		return repair_words(event);
	case EVENT_FINDING:
		return finding_words(event);
	}
	return NULL;
}

char *event_what(const struct event *event) {
	char *words = kind_words(event);
	if (words) return words;
	if (event->permission) return asked_about(event);
	if (event->target) return string_copy(event->target);
	if (!event->detail || json_object_size(event->detail) == 0) return string_copy("-");
	words = json_dumps(event->detail, JSON_ENSURE_ASCII | JSON_COMPACT);
	return words ? words : string_copy("-");
}
