#include "checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/string.h"

struct waiting {
	struct waiting *next;
	struct check check;
	uint64_t ticket;
	int64_t id;   /* of the message; 0: not sent yet */
	json_t *body; /* then */
};

struct checks {
	struct waiting *list;
	uint64_t last_ticket;
};

struct checks *checks_new(void) {
	return mem_new(struct checks);
}

/* Takes the one with that ticket, or of that message, out of the list. */
static struct waiting *take(struct checks *checks, uint64_t ticket, int64_t id) {
	for (struct waiting **at = &checks->list; *at; at = &(*at)->next) {
		if (ticket ? (*at)->ticket != ticket : (*at)->id != id) continue;
		struct waiting *waiting = *at;
		*at = waiting->next;
		return waiting;
	}
	return NULL;
}

static void waiting_free(struct waiting *waiting) {
	json_decref(waiting->body);
	free(waiting);
}

/* Answers */

static void deny_as(const struct check *check, const char *module, const char *why) {
	struct verdict verdict = {.effect = EFFECT_DENY, .why = (char *)why};
	snprintf(verdict.module, sizeof verdict.module, "%s", module);
	check->done(check->argument, &verdict);
}

static void deny(const struct check *check, const char *why) {
	deny_as(check, "broker", why);
}

/* A word that no policy declares is allowed by none; all else is the broker's failure. */
static void deny_for_error(const struct check *check, const json_t *reply) {
	const bool unknown = string_equal(json_string_value(json_object_get(reply, "code")), "ENOENT");
	deny_as(check, unknown ? "none" : "broker", json_string_value(json_object_get(reply, "message")));
}

static void leave(const struct check *check) {
	if (check->told)
		check->told(check->argument, NULL);
	else if (check->again)
		check->done(check->argument, NULL);
	else
		deny(check, "the broker is gone");
}

/* Of a name alone, `ask` is an answer. */
static bool says_ask(const struct check *check, const json_t *verdict) {
	return check->type && string_equal(json_string_value(json_object_get(verdict, "effect")), "ask");
}

static void answer(const struct check *check, const json_t *reply) {
	CLEANUP_VERDICT struct verdict verdict = {0};
	const char *message = json_string_value(json_object_get(reply, "message"));
	const json_t *said = json_object_get(reply, "verdict");
	struct error error = ERROR_NONE;
	if (check->told) {
		check->told(check->argument, message ? NULL : reply);
	} else if (message) {
		deny_for_error(check, reply);
	} else if (verdict_from_json(said, &verdict, &error) < 0) {
		deny(check, "the broker's answer was malformed");
	} else {
		if (says_ask(check, said)) verdict.effect = EFFECT_ASK;
		check->done(check->argument, &verdict);
	}
}

void checks_answer(struct checks *checks, const json_t *reply) {
	struct waiting *waiting = take(checks, 0, json_integer_value(json_object_get(reply, "id")));
	if (!waiting) return; /* an event's, an answer's, a cancelled one's */
	answer(&waiting->check, reply);
	waiting_free(waiting);
}

void checks_leave(struct checks *checks, bool sent) {
	for (struct waiting **at = &checks->list; *at;) {
		struct waiting *waiting = *at;
		if ((waiting->id > 0) != sent) {
			at = &waiting->next;
			continue;
		}
		*at = waiting->next;
		leave(&waiting->check);
		waiting_free(waiting);
		at = &checks->list; /* there may be more by now */
	}
}

/* Asking */

/* A broker that has just gone is no error: the loop sees its end, and the check waits for the next one. */
static int waiting_send(struct waiting *waiting, struct channel *channel) {
	const char *type = waiting->check.type ? waiting->check.type : "check";
	int64_t id = 0;
	int r = channel_send(channel, type, json_incref(waiting->body), &id, NULL);
	if (r < 0) return r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN ? 0 : r;
	waiting->id = id;
	json_decref(waiting->body);
	waiting->body = NULL;
	return 0;
}

uint64_t checks_add(struct checks *checks, struct channel *channel, json_t *body, const struct check *check) {
	if (!channel && check->again) {
		json_decref(body);
		leave(check);
		return 0;
	}
	struct waiting *waiting = mem_new(struct waiting);
	*waiting =
		(struct waiting){.next = checks->list, .check = *check, .ticket = ++checks->last_ticket, .body = body};
	checks->list = waiting;
	if (!channel || waiting_send(waiting, channel) == 0) return waiting->ticket;
	checks->list = waiting->next;
	leave(check);
	waiting_free(waiting);
	return 0;
}

void checks_send(struct checks *checks, struct channel *channel) {
	for (struct waiting *waiting = checks->list; waiting; waiting = waiting->next) waiting_send(waiting, channel);
	checks_leave(checks, false); /* what can't be sent */
}

void checks_cancel(struct checks *checks, struct channel *channel, uint64_t ticket) {
	struct waiting *waiting = ticket ? take(checks, ticket, 0) : NULL;
	if (!waiting) return;
	int64_t id;
	if (channel && waiting->id > 0)
		channel_send(channel, "cancel", json_pack("{s:I}", "check", (json_int_t)waiting->id), &id, NULL);
	waiting_free(waiting);
}

void checks_free(struct checks *checks) {
	if (!checks) return;
	while (checks->list) waiting_free(take(checks, checks->list->ticket, 0));
	free(checks);
}
