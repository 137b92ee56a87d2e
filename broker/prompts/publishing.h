/*
 * publishing: `sbx publish`: a port of a running sandbox that its runner is to make reachable on the host's loopback.
 *
 * Promises: the port is granted first (net:listen PORT, for that session alone), with its row in the history; then the
 * runner is told, and the reply comes when it has said that it listens, or why not. When it can't, doesn't say so
 * within LIMIT_PUBLISH_MS or ends, the grant is revoked and the reply is an error.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"
#include "schema/publication.h"

struct broker;
struct client;
struct session;

struct publishing_wish {
	struct publication publication;
	int64_t ttl_ms; /* 0: to the end of the session */
	struct client *client;
	int64_t id; /* of its request */
};

/* On success the reply comes later. */
int publishing_start(struct session *session, const struct publishing_wish *wish, struct error *error);

/* What the runner says about that number: it listens on `host_port`, or why it doesn't. One that nobody waits for (any
 * more) is nothing. */
void publishing_settled(const struct session *session, int64_t number, uint16_t host_port, const char *failed);

void publishings_forget_session(struct broker *broker, const struct session *session);
void publishings_forget_client(struct broker *broker, const struct client *client);
void publishings_free(struct broker *broker);
