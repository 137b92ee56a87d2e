/*
 * inside: what sbx does in a sandbox: ask at the door that its runner has made there (runner/session/inside_door.h).
 *
 * Promises: one message, one reply. Nothing is decided here, and nothing of the answer is believed by the kernel: what
 * is allowed is there when the reply comes.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

/* `message` is taken over; the caller owns the reply. An `error` reply becomes an error. */
int inside_call(json_t *message, json_t **ret_reply, struct error *error);
