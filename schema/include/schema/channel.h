/*
 * channel: a client's connection to the broker.
 *
 * Promises: blocking calls for commands, non-blocking pieces for a loop; pushes that arrive while a call waits are
 * kept in order. A channel whose peer is gone stays gone (-ECONNRESET): the caller connects again.
 * Used by runner and ui; the broker has its own side (broker/wire/client.c).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"

struct channel;

/* Why XDG_RUNTIME_DIR isn't used: a sentence, NULL when it is. Absolute, ours and nobody else's is what the XDG Base
 * Directory Specification asks for. */
const char *channel_runtime_fault(void);

/* The broker's socket: $XDG_RUNTIME_DIR/sbx/broker.sock; where that isn't set /run/user/UID/sbx/broker.sock, which is
 * the login's; else ~/.local/state/sbx/run/broker.sock. Freed by the caller. */
int channel_socket_path(char **ret_path, struct error *error);

/* Connect and say hello. -ECONNREFUSED or -ENOENT: no broker (starting one is ui's affair). Nothing is sent unless the
 * socket lies in a folder that is ours alone and a process of our own user listens (attack B11). */
int channel_connect(const char *path, struct channel **ret_channel, struct error *error);
/* The two halves of it, for who must not wait: the second one doesn't, once channel_fd is readable. */
int channel_begin(const char *path, struct channel **ret_channel, struct error *error);
int channel_greet(struct channel *channel, struct error *error);
void channel_free(struct channel *channel);
int channel_fd(const struct channel *channel); /* borrowed; for polling */
/* What it said of itself: fit to be shown, borrowed; and its process. */
const char *channel_broker_version(const struct channel *channel);
pid_t channel_broker_pid(const struct channel *channel);

/* Send a request of that type (`body` is taken over; "type" and "id" are put in) and return its id. A connection that
 * doesn't take it is ended, so that whoever reads it hears of that. */
int channel_send(struct channel *channel, const char *type, json_t *body, int64_t *ret_id, struct error *error);

/* The next message, reply or push. -EAGAIN when nothing is there and the channel doesn't block. */
int channel_receive(struct channel *channel, bool block, json_t **ret_message, struct error *error);

/* What an `error` reply says. */
int channel_error(const json_t *reply, struct error *error);

/* Wait for the reply to the request with that id; what else comes is kept. An `error` reply becomes an error. The
 * caller owns *ret_reply. */
int channel_wait(struct channel *channel, int64_t id, json_t **ret_reply, struct error *error);

/* Send and wait for the reply with that id; an `error` reply becomes an error. The caller owns *ret_reply. */
int channel_call(struct channel *channel, const char *type, json_t *body, json_t **ret_reply, struct error *error);

DEFINE_CLEANUP(struct channel *, channel_free);
#define CLEANUP_CHANNEL CLEANUP(channel_free_p)
