/*
 * spares: fresh sockets of the sandbox's network, so that a connection doesn't wait for the portal to make one.
 *
 * Promises: keeps some of each kind that was wanted before (more while they are used up faster than they come), fetches
 * the next in the background, and many at once when many wait: a burst doesn't cost a round trip each. Who waits is
 * served in order. What is handed out is unbound, non-blocking and close-on-exec. Holds nothing of the host's.
 */
#pragma once

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

enum spare { SPARE_TCP4, SPARE_TCP6, SPARE_UDP4, SPARE_UDP6, SPARE_DIAG /* netlink(7), NETLINK_SOCK_DIAG: diag.h */ };
enum { SPARE_COUNT = SPARE_DIAG + 1 };

/* What socket(2) takes to make one. */
struct spare_shape {
	int domain, type, protocol;
};
extern const struct spare_shape spare_shapes[SPARE_COUNT];

enum { SPARES_FETCH_MAX = 16 };

struct spares;
struct spares_wait;

struct spares_options {
	struct event_base *base;
	/* Bring `count` of a kind (SPARES_FETCH_MAX at most): exactly one spares_add for each call, later, in any
	 * order. */
	void (*fetch)(void *context, enum spare kind, unsigned count);
	void *context;
};

struct spares *spares_new(const struct spares_options *options);
void spares_free(struct spares *spares); /* tells nobody who waits */

/* What a fetch brought; taken over. count 0: it failed, and is made again after a moment if somebody waits. */
void spares_add(struct spares *spares, enum spare kind, const int *fds, size_t count);

/* One, the caller's. -EAGAIN: none now, or others wait for it. */
int spares_take(struct spares *spares, enum spare kind);

/* `ready` is called once from the loop, never from within, when there is one for this caller: there spares_take
 * succeeds, and only there it is sure to. It may not free the spares. */
struct spares_wait *spares_when(struct spares *spares, enum spare kind, void (*ready)(void *argument), void *argument);
void spares_cancel(struct spares_wait *wait); /* before `ready` was called; NULL is allowed */

/* SO_NETNS_COOKIE (Linux 5.14) of the network that they are of. 0: not known, as none has come yet. */
uint64_t spares_cookie(const struct spares *spares);
