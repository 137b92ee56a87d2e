/*
 * quiet: the hours of the day in which no prompt pops up (the policy's key `quiet`).
 *
 * Promises: local time as the host's zone has it, with its summer time: whether it is quiet is looked up in the
 * calendar each second, so a clock that is set or a machine that slept changes nothing. Desktop agents are told when
 * they have registered and when it changes; nothing else depends on it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

struct broker;
struct client;
struct quiet; /* as desktop agents were told */

struct quiet *quiet_new(void);
void quiet_free(struct quiet *quiet);

void quiet_look(struct broker *broker);  /* each second, and so soon after the policy has changed */
void quiet_tell(struct client *desktop); /* it has just registered */

/* At that time of the wall clock, by hours as policy_quiet has them. */
bool quiet_at(const struct strings *hours, int64_t wall_ms);
/* The first whole minute after it at which it isn't quiet; 0: there is none within two days. */
int64_t quiet_end(const struct strings *hours, int64_t wall_ms);
