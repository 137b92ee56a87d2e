/*
 * turns: questions that runs and `sbx check` put on one terminal come one after the other, and while one stands there
 * all other runs on it, and those in the background of another terminal, hold what their tools write (attack R19). A
 * screen that stays (`sbx monitor`) has its turn for as long, but those on other terminals hold for a question on it
 * alone.
 *
 * Promises: which terminal a run has is read from the kernel, not believed. A client that ends gives its turn
 * up, and isn't waited for, nor does a run whose runner is stopped keep it. Nobody waits longer than LIMIT_HOLD_MS for
 * runs that don't say that they hold: who asks is told of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct broker;
struct client;
struct session;

/* `id` is replied to when it is its turn and the others hold: `alone` (all do), `held` (the processes of those).
 * `elsewhere`: those in the background of another terminal, too; who has its turn may ask again with another value. */
int turns_take(struct client *client, int64_t id, bool elsewhere, struct error *error);
void turns_give(struct client *client); /* also when it has none */
void turns_held(struct session *session, int64_t number);

void turns_joined(struct session *session); /* a new one, which may have to hold from the beginning */
void turns_left(struct session *session);   /* it is in the broker's list no more */
