/*
 * service: sbxd as a whole: it makes what each room keeps, says which room is told of what (core/hooks.h), and runs the
 * loop until nobody is there. It alone knows all rooms; only sbxd.c and tests call it.
 *
 * Promises: what is made is freed in the order that its users need; a start that fails leaves nothing behind.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/listener.h"
#include "core/places.h"

struct broker;

/* Everything but the listener: database, policy, timers. `listener` is taken over in any case. */
int broker_new(struct places *places, const struct clock *clock, int64_t idle_ms, struct listener *listener,
	       struct broker **ret_broker, struct error *error);
int broker_run(struct broker *broker, struct error *error); /* until idle, or told to end by TERM or INT */
void broker_free(struct broker *broker);
