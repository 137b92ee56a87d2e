/*
 * resolve: names to addresses as the host would (getaddrinfo with its nsswitch.conf), off the loop.
 *
 * Promises: those of workers.h, with LIMIT_RESOLVERS threads: a look-up can't be interrupted, so nothing waits for one.
 * Must not be asked for a name before a verdict allows it (attack N5).
 */
#pragma once

#include <event2/event.h>
#include <netdb.h>

#include "net/parse/address.h"
#include "net/streams/workers.h"

/* Where answers come from: getaddrinfo, or a test's own. `find` runs in a thread; it returns an EAI_ code. */
struct lookup {
	void *context;
	int (*find)(void *context, const char *name, struct addrinfo **ret_list);
	void (*release)(struct addrinfo *list);
};
const struct lookup *lookup_system(void);

struct resolver;

struct resolver *resolver_new(struct event_base *base, const struct lookup *lookup); /* `lookup` is copied */
void resolver_free(struct resolver *resolver);

/* `code` is 0 or an EAI_ code, `system_code` the errno of EAI_SYSTEM; addresses have port 0. Who asks for a name that
 * is being looked up gets that answer. */
struct resolve_job;
typedef void resolve_done(void *argument, int code, int system_code, const struct addresses *addresses);
struct resolve_job *resolver_start(struct resolver *resolver, const char *name, resolve_done *done, void *argument);
void resolve_cancel(struct resolve_job *job);
