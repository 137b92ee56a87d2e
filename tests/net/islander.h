/*
 * islander: a tool on an island (island.h) whose connect(2), and sendto(2) with an address, are held by a filter, and
 * all that answers them: a gate whose judge the test is, the doors, a loop. What the tool prints is its result.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "calls/socket_calls.h"
#include "island.h"
#include "net/gate/gate.h"

enum { ISLANDER_HANDED = 3 };

enum islander_answer { ISLANDER_ALLOW, ISLANDER_DENY, ISLANDER_HOLD };

struct islander_question {
	void (*done)(void *argument, const struct verdict *verdict);
	void *argument;
	uint64_t ticket;
};

struct islander {
	struct event_base *base;
	struct island island;
	struct island_store store;
	struct gate *gate;
	struct standins *standins;
	struct diag *inside, *outside;
	struct native *native;
	struct flows *flows;
	struct connects *connects;
	struct socket_calls *calls;
	struct socket_caller caller;
	enum islander_answer answer; /* of the judge */
	const char *allowed;         /* a target that is allowed whatever the answer; or NULL */
	int handed;                  /* what the tool gets as ISLANDER_HANDED; or -1 */
	struct islander_question held[4096];
	size_t held_count, asked, cancelled, reports;
	char target[300], door[16], error[100]; /* the last one's */
	uint64_t sent, received;
	/* of the tool that runs */
	pid_t tool; /* -1: the test has waited for it */
	struct event *notified, *heard;
	int listener, output, input;
	char said[1 << 16];
	size_t said_size;
	bool ended;
};

/* Once for the program: joins no network, forks. */
void islander_make(struct islander *islander);
void islander_remove(struct islander *islander);

/* "NAME" leads to `address` outside ("127.0.0.1"); its stand-in is a text that a tool can be given. */
const char *islander_name(struct islander *islander, const char *name, const char *address, int family);

/* Run `tool` in there. It prints to descriptor 1 and may wait for a line of islander_tell on descriptor 0. */
void islander_start(struct islander *islander, void (*tool)(void));
void islander_tell(struct islander *islander, const char *line);
/* Serve until it has printed `text` since its start; or until it has ended. Fails the test after PATIENCE_MS. */
void islander_until(struct islander *islander, const char *text);
void islander_until_true(struct islander *islander, bool (*holds)(const struct islander *islander));
void islander_end(struct islander *islander);
void islander_expect(struct islander *islander, const char *output); /* after its end */

/* The judge's answer to all that is held. */
void islander_judge(struct islander *islander, enum effect effect);

/* Of the tool: a line "WHAT: 0" or "WHAT: ECONNREFUSED" by what a call returned. */
void say(const char *what, long result);
void hear(void); /* a line on descriptor 0 */
