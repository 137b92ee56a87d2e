#include "ui/withdrawal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "ui/output.h"

enum { COMMAND_COLUMNS = 40, PROGRESS_MS = 300 };

/* By what `others` says that a sandbox is. */
static const struct {
	const char *is, *words;
	bool ended, shown;
} words[] = {
	{"stopped", "did not confirm: it is stopped whole, and is ended unless it confirms", false, false},
	{"paused", "is stopped (^Z) or frozen: it withdraws before it goes on", false, true},
	{"starting", "has not started its tool yet: it withdraws before it does", false, true},
	{"ended", "did not confirm: it was ended", true, true},
	{"ending", "did not confirm: it was killed, and is not seen dead yet", false, false},
};

static size_t find(const json_t *other) {
	const char *is = json_string_value(json_object_get(other, "is"));
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (string_equal(words[i].is, is)) return i;
	return ARRAY_LENGTH(words);
}

char *withdrawal_other(const json_t *other) {
	const size_t i = find(other);
	CLEANUP_FREE char *text = json_visible(other, "command"), *command = text_visible_cut(text, COMMAND_COLUMNS);
	return string_format("session %lld (%s) %s", (long long)json_integer_value(json_object_get(other, "session")),
			     command, i < ARRAY_LENGTH(words) ? words[i].words : "did not confirm");
}

char *withdrawal_holder(const char *what, const json_t *holder) {
	CLEANUP_FREE char *command = json_visible(holder, "command");
	CLEANUP_FREE char *path = json_visible(holder, "path");
	return string_format("%s in session %lld: %s (pid %lld)%s%s", what,
			     (long long)json_integer_value(json_object_get(holder, "session")), command,
			     (long long)json_integer_value(json_object_get(holder, "pid")), *path ? ": " : "", path);
}

bool withdrawal_is_shown(const json_t *reply) {
	size_t index;
	const json_t *other;
	json_array_foreach ((json_t *)json_object_get(reply, "others"), index, other) {
		const size_t i = find(other);
		if (i == ARRAY_LENGTH(words) || !words[i].shown) return false;
	}
	return true;
}

static json_int_t count_ended(const json_t *reply) {
	json_int_t ended = json_integer_value(json_object_get(reply, "confirmed"));
	size_t index;
	const json_t *other;
	json_array_foreach ((json_t *)json_object_get(reply, "others"), index, other) {
		const size_t i = find(other);
		ended += i < ARRAY_LENGTH(words) && words[i].ended;
	}
	return ended;
}

char *withdrawal_away(const json_t *reply) {
	const json_int_t away = json_integer_value(json_object_get(reply, "away"));
	if (away == 0) return NULL;
	return away == 1
		       ? string_copy(
				 "A running sandbox is not connected to sbxd now: what it has of that ends when it is.")
		       : string_format("%lld running sandboxes are not connected to sbxd now: what they have of that "
				       "ends when they are.",
				       (long long)away);
}

/* No sandbox has anything to withdraw: none had it, or it was a denial. */
static char *words_of_none(const json_t *reply, const char *what) {
	const size_t had = json_array_size(json_object_get(reply, "sessions"));
	char *away = had == 0 ? withdrawal_away(reply) : NULL;
	if (away) return away;
	return had == 0 ? string_format("No running sandbox had %s.", what)
			: string_format("%zu running sandbox%s had %s, and %s told.", had, had == 1 ? "" : "es", what,
					had == 1 ? "is" : "are");
}

char *withdrawal_words(const json_t *reply, bool several) {
	const json_int_t told = json_integer_value(json_object_get(reply, "told"));
	const char *plural = told == 1 ? "" : "es";
	if (told == 0) return words_of_none(reply, several ? "them" : "it");
	if (!json_object_get(reply, "confirmed"))
		return string_format("It was not waited for that it ends in %lld running sandbox%s.", (long long)told,
				     plural);
	return string_format("%s ended in %lld of %lld running sandbox%s.", several ? "They have" : "It has",
			     (long long)count_ended(reply), (long long)told, plural);
}

char *withdrawal_force(const json_t *reply) {
	const json_int_t told = json_integer_value(json_object_get(reply, "told"));
	const json_t *confirmed = json_object_get(reply, "confirmed");
	if (told == 0 || !confirmed) return NULL;
	return string_format("It is in force in %lld of %lld running sandbox%s.",
			     (long long)json_integer_value(confirmed), (long long)told, told == 1 ? "" : "es");
}

/* Waiting */

struct progress {
	int64_t request;
	bool shown;
};

static void show_progress(struct progress *progress, const json_t *push) {
	progress->shown = true;
	fprintf(stderr, "\rwaiting for %lld of %lld running sandboxes… ",
		(long long)json_integer_value(json_object_get(push, "waiting")),
		(long long)json_integer_value(json_object_get(push, "told")));
}

static void erase_progress(const struct progress *progress) {
	if (progress->shown) fputs("\r\033[K", stderr);
}

/* The last that was told is shown when it has taken so long that somebody wonders. */
static int wait_for_reply(struct channel *channel, int64_t request, json_t **ret_reply, struct error *error) {
	struct pollfd ready = {.fd = channel_fd(channel), .events = POLLIN};
	struct progress progress = {.request = request};
	json_t *message = NULL, *last = NULL;
	int r = 0;
	for (bool waited = false; r == 0; waited = waited || poll(&ready, 1, PROGRESS_MS) == 0) {
		if (waited && last) show_progress(&progress, last);
		r = channel_receive(channel, waited, &message, error);
		if (r == -EAGAIN) r = 0;
		if (r < 0 || !message) continue;
		if (json_integer_value(json_object_get(message, "id")) == request) break;
		json_decref(last);
		last = STEAL(message);
	}
	erase_progress(&progress);
	json_decref(last);
	*ret_reply = message;
	if (r == 0 && string_equal(json_string_value(json_object_get(message, "type")), "error"))
		return channel_error(message, error);
	return r;
}

int withdrawal_call(struct channel *channel, const char *type, json_t *body, json_t **ret_reply, struct error *error) {
	int64_t request;
	if (isatty(STDERR_FILENO)) json_object_set_new(body, "progress", json_true());
	int r = channel_send(channel, type, body, &request, error);
	return r < 0 ? r : wait_for_reply(channel, request, ret_reply, error);
}
