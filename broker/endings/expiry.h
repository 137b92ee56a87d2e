/*
 * expiry: grants end when either clock says so (design section 6, attack B15).
 *
 * Promises: one timer by the wall clock, which also wakes when that clock is set, and one by the boot clock, which
 * counts through suspend (timerfd_create(2)). What has ended is recorded and told to the sessions it served.
 */
#pragma once

#include "core/broker.h"

int expiry_new(struct broker *broker, struct expiry **ret_expiry, struct error *error);
void expiry_free(struct expiry *expiry);

/* End what is over, now; and set the timers for the next. Called whenever a grant was written. */
void expiry_sweep(struct broker *broker);
void expiry_retry(struct broker *broker); /* if the last sweep failed */
