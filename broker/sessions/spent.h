/*
 * spent: allows for one use that have had it, and by which something may live yet: a connection, an open file.
 *
 * Promises: found is what a sandbox used that still runs, or may have used before it came to this broker, whether its
 * runner is connected or away, and what wasn't revoked since; the newest LIMIT_SCAN are looked at. They are
 * revoked like grants in force: the runners cut what was connected by them, one that is away when it comes. That an
 * open file is closed is not promised.
 */
#pragma once

#include "core/broker.h"
#include "store/grants.h"

bool spent_is(const struct broker *broker, const struct grant *grant, bool active);
/* Of one that has ended, and may be revoked: may a file be open yet, or a program run, by its use? */
bool spent_goes_on(const struct broker *broker, const struct grant *grant);

/* Added to *list: those that are wanted, or that the mass names. */
typedef bool spent_wanted(const void *context, const struct grant *grant);
int spent_collect(struct broker *broker, spent_wanted *wanted, const void *context, struct grant_list *list,
		  struct error *error);
int spent_of_mass(struct broker *broker, const struct grant_mass *mass, struct grant_list *list, struct error *error);

/* They go to the list of those that the sessions are told of: all that one of them may have been used in. */
void spent_take(struct broker *broker, struct grant_list *spent, struct grant_list *told);

/* To a sandbox that comes back: what was revoked of what it may have used, maybe while it was away. False: that can't
 * be read, and the sandbox is being ended. */
bool spent_tell(struct session *session);
