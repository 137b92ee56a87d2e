/*
 * broker: a real sbxd in the test's home, and a client that may say anything.
 *
 * Promises: nothing waits for ever: a reply that doesn't come within PATIENCE_MS fails the test. Needs home_make.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs $HOME/bin/sbxd as `sbx` does (it goes into the background) with these arguments (NULL-terminated, may be NULL);
 * its exit status. */
int broker_start(const char *const *arguments);
pid_t broker_pid(void);            /* by a `status` of its own connection; -1 when none serves */
void broker_stop(void);            /* SIGTERM, and waits until it has gone */
void broker_kill(void);            /* SIGKILL, the same */
int broker_teardown(void **state); /* broker_stop, as cmocka wants it */

/* Of a message; "" and 0 where there is none. */
const char *text_of(const json_t *message, const char *key);
int64_t number_of(const json_t *message, const char *key);

struct peer {
	int fd;
	int64_t last_id;
	json_t *pushes; /* that came while a reply was awaited, in order */
};

struct peer *peer_connect(bool hello); /* NULL when nobody listens */
void peer_free(struct peer *peer);
void peer_free_p(struct peer **peer);
#define CLEANUP_PEER __attribute__((cleanup(peer_free_p)))

void peer_send_text(struct peer *peer, const char *bytes, size_t size);
int64_t peer_send(struct peer *peer, const char *type, json_t *body); /* body is given up; NULL = {}; the id */

/* The next message; NULL when the broker has closed the connection. The caller owns it. */
json_t *peer_receive(struct peer *peer);
bool peer_is_quiet(struct peer *peer, int ms);     /* nothing comes for so long */
json_t *peer_reply(struct peer *peer, int64_t id); /* pushes in between are kept */
json_t *peer_call(struct peer *peer, const char *type, json_t *body);

/* The first push of that type, kept or yet to come. The caller owns it. */
json_t *peer_push(struct peer *peer, const char *type);

/* A session for "tool" in $HOME/app with these keys over the usual ones (given up; may be NULL); its id. */
int64_t peer_open_session(struct peer *peer, json_t *keys);
json_t *session_wish(json_t *keys); /* the body that it sends */
