/*
 * fixture: a whole broker in this process, without its socket: for targets that are about what a client may say.
 *
 * Promises: each fixture_new is a new broker with an empty database (in memory, where /dev/shm is) and a clock that
 * stands still, so that an input does the same every time.
 */
#pragma once

#include "core/broker.h"
#include "wire/client.h"

/* Far ahead, so that no timer of the kernel's own clocks goes off. */
#define FIXTURE_NOW_MS INT64_C(4000000000000)

struct broker *fixture_new(void);
void fixture_free(struct broker *broker);

/* A client of it. The other end of its connection is *ret_end, owned by the caller. */
struct client *fixture_client(struct broker *broker, int *ret_end);

/* The next message that lies there for who has this end; NULL when there is none. The caller owns it. */
json_t *fixture_receive(int end);

/* Let the broker do what is due now. */
void fixture_turn(struct broker *broker);

void fixture_say(struct client *client, const char *text);
