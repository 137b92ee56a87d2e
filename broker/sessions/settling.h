/*
 * settling: runners that were told that something ends (`ended`, `sleep` with a number) say when it has, and what of it
 * their tools still hold (`settled`).
 *
 * Promises: a client that waits for a withdrawal is told when each sandbox that it concerns has confirmed it, is
 * stopped whole, or has ended (sandbox.h), and what it was for each; nobody else waits. Files that are still held open
 * are in the history, also when nobody waited. A client that only asks (SETTLING_ASKS) goes on after
 * a while.
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
struct grant_list;
struct sandbox;
struct session;

struct settling;

enum settling_aim {
	SETTLING_WITHDRAWS, /* a right: confirmed by the runner, in time */
	SETTLING_ENDS,      /* the sandbox: seen dead */
	SETTLING_ASKS,      /* nothing comes of it when it isn't confirmed */
};

struct settling_wish {
	enum settling_aim aim;
	/* Of the rows of the history: EVENT_REVOKE, EVENT_EXPIRE, EVENT_GRANT (a denial), EVENT_POLICY. */
	enum event_kind kind;
	const struct grant *grant;       /* what ends, or denies, when it is one; or NULL. Copied */
	const struct grant_list *grants; /* what ends, when it is several and not too many; or NULL. Copied */
	bool kill;                       /* the runners end who holds it */
	int64_t wait_ms;                 /* of SETTLING_ASKS; 0: LIMIT_SETTLE_MS */
};

/* Then settling_add for the sandbox of each session that is told, and one of the two below, which give it up. */
struct settling *settling_new(struct broker *broker, const struct settling_wish *wish);

/* Counted in; the number that its runner is to answer with. */
int64_t settling_add(struct settling *settling, struct sandbox *sandbox);
bool settling_kills(const struct settling *settling);

struct settling_request {
	struct client *client;
	const char *type; /* `grant`, `revoke` or `kill` */
	int64_t id;
	bool progress; /* pushes say how many are waited for */
};
/* When something is known of each: the reply (given up; what came of it is added to it). */
void settling_reply(struct settling *settling, const struct settling_request *request, json_t *reply);
/* The same, or, `at_once`, without waiting: then nothing is said of what came of it. */
void settling_reply_when(struct settling *settling, const struct settling_request *request, bool at_once,
			 json_t *reply);
/* The same without a reply. `done` may be NULL. */
void settling_then(struct settling *settling, void (*done)(void *argument), void *argument);

/* What a process holds, as its runner says. */
struct settling_holder {
	bool present;
	int64_t pid;
	char *command, *path;
};

/* A runner's answer. One that comes too late, or for something else, is nothing. */
struct settling_answer { /* borrowed */
	struct settling_holders {
		const struct settling_holder *items;
		size_t count;
	} left, ended;  /* who goes on with it; who was ended for it, the first of them */
	int64_t killed; /* how many were ended */
};
void settling_settled(const struct session *session, int64_t number, const struct settling_answer *answer);

/* Of its sandbox (sandbox.c): it has confirmed that number; it is another than it was; it has gone; it is that one from
 * now on. */
void settlings_confirm(struct broker *broker, const struct sandbox *sandbox, int64_t number);
void settlings_look(struct broker *broker);
void settlings_forget_sandbox(struct broker *broker, const struct sandbox *sandbox);
void settlings_move_sandbox(struct broker *broker, const struct sandbox *from, struct sandbox *to);
bool settlings_have_sandbox(const struct broker *broker, const struct sandbox *sandbox);
const struct grant *settling_grant(const struct broker *broker, int64_t number); /* borrowed; NULL: none, or many */

void settlings_forget_client(struct broker *broker, const struct client *client);
void settlings_free(struct broker *broker);
