/*
 * client: one connection: bytes in, messages to the dispatcher, replies and pushes out.
 *
 * Promises: bounded in both directions (LIMIT_MESSAGE, LIMIT_QUEUE); who doesn't read or says something malformed is
 * closed, and nobody else notices (attack B5). A client lives until the reaper's turn in the loop, so no handler
 * sees it vanish.
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
