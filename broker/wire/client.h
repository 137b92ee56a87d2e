/*
 * client: one connection: bytes in, messages to the dispatcher, replies and pushes out: the head of wire/.
 *
 * For: the socket's connections (client), and fields taken out of JSON by a table (body.h). No policy is in here.
 * Guarantees: bounded in both directions (LIMIT_MESSAGE, LIMIT_QUEUE); who doesn't read or says something malformed is
 * closed, and nobody else notices (attack B5). A client lives until the reaper's turn in the loop, so no handler sees
 * it vanish. Who is at the other end is the kernel's word (core/peer.h). May be called by: every room above, to reply
 * and to push. What a message does is hooks.h, `message`. In: datagrams of whoever connects, believed in nothing. Out:
 * replies and pushes as JSON.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "core/broker.h"
#include "schema/verdict.h"

enum agent_kind { AGENT_NONE, AGENT_TERMINAL, AGENT_DESKTOP, AGENT_TUI };

struct client_datagram {
	STAILQ_ENTRY(client_datagram) link;
	size_t size;
	char *bytes;
};

struct client {
	TAILQ_ENTRY(client) link;
	struct broker *broker;
	int fd;
	pid_t pid; /* who connected, by the kernel */
	int pidfd; /* the same, held */
	struct event *readable, *writable, *deadline;
	STAILQ_HEAD(, client_datagram) queue;
	size_t queued; /* bytes */
	bool greeted;  /* hello was said */
	bool leaving;  /* closed once the queue is empty */
	bool deaf;     /* closed because it doesn't read */
	bool dead;     /* for the reaper */
	struct session *session;
	enum agent_kind agent;
	int64_t agent_session;    /* 0 = all */
	bool shows;               /* it can show what it is told now */
	size_t pending;           /* checks that wait */
	struct history_walk walk; /* of its `verify` */
};

void client_accept(struct broker *broker, int fd); /* takes the descriptor */
void client_free(struct client *client);

/* Send; the message is given up. */
void client_reply(struct client *client, const char *type, int64_t id, json_t *reply);       /* NULL = {} */
void client_reply_verdict(struct client *client, int64_t id, const struct verdict *verdict); /* of a check */
void client_reply_error(struct client *client, int64_t id, const struct error *error);
void client_push(struct client *client, const char *type, json_t *push);

void client_leave(struct client *client); /* close when what is queued was read */
