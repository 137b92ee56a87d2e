/*
 * settling: runners that were told that something ends (`ended`, `sleep` with a number) say when it has, and what of it
 * their tools still hold (`settled`).
 *
 * Promises: who waits for them is told when all have answered or after LIMIT_SETTLE_MS, whichever is first, and nobody
 * else waits. What is held is in the history, also when nobody waited. With `kill`, a sandbox whose runner doesn't
 * answer in time is ended: nobody can say what it holds.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "schema/event.h"
#include "schema/grant.h"

struct broker;
struct client;
struct session;

struct settling;
TAILQ_HEAD(settling_list, settling);

struct settling_wish {
	/* Of the rows of the history: EVENT_REVOKE, EVENT_EXPIRE, EVENT_GRANT (a denial), EVENT_POLICY. */
	enum event_kind kind;
	const struct grant *grant; /* what ends, or denies, when it is one; or NULL. Copied */
	bool kill;                 /* the runners end who holds it */
	bool unrecorded;           /* nothing ends that has rows */
};

/* Then settling_add for each session that is told, and one of the two below, which give it up. */
struct settling *settling_new(struct broker *broker, const struct settling_wish *wish);

/* Counted in; the number that its runner is to answer with. */
int64_t settling_add(struct settling *settling, const struct session *session);
bool settling_kills(const struct settling *settling);

/* When all have settled, or their time is over: the reply to `revoke` (given up; what is held is added to it). */
void settling_reply(struct settling *settling, struct client *client, int64_t id, json_t *reply);
/* The same without a reply. `done` may be NULL. */
void settling_then(struct settling *settling, void (*done)(void *argument), void *argument);

/* What a process holds, as its runner says. */
struct settling_holder {
	bool present;
	int64_t pid;
	char *command, *path;
};

/* A runner's answer. One that comes too late, or for something else, is nothing. */
void settling_settled(const struct session *session, int64_t number, const struct settling_holder *holders,
		      size_t count, int64_t killed);

void settlings_forget_session(struct broker *broker, const struct session *session);
void settlings_forget_client(struct broker *broker, const struct client *client);
void settlings_free(struct broker *broker);
