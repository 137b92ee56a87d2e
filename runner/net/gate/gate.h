/*
 * gate: may this connection be made, and if so, make it (design section 7, Network).
 *
 * Promises: knows nothing of bwrap, the broker's socket or who speaks which protocol: verdicts come in through a
 * function, doors (proxy now, native connects later) call gate_open. Every error denies. Names are resolved on the
 * host, off the loop, only after the verdict; what they resolve to is checked (address_is_private) unless the verdict
 * says `private` or `hosts:` gave the address. With an upstream proxy names are not resolved here at all. One event
 * loop, no locks but in the resolver's thread pool.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "denied.h"
#include "gate_judge.h"
#include "schema/host.h"
#include "schema/verdict.h"
#include "schema/view.h"

struct gate;
struct gate_call; /* one gate_open that is under way */

struct gate *gate_new(struct event_base *base, const struct gate_judge *judge);
void gate_free(struct gate *gate); /* cuts everything; doors (proxy_free) go first */
/* The proxy that connections are made through from now on (schema/upstream.h), or NULL. Copied. */
void gate_set_upstream(struct gate *gate, const char *upstream);
void gate_set_hosts(struct gate *gate, const struct view_pair *hosts, size_t count); /* copies */

/* Grants ended: cut the live connections that rest on them. Returns how many. */
size_t gate_cut(struct gate *gate, const int64_t *grants, size_t count);

/*
 * Rules, denials or the broker are others than before: judge again what lives, from the loop, and cut what would not be
 * allowed now. What the user allowed for once stays unless something denies it. Without a judge all stays as it is:
 * call it again when there is one. Denials found here don't count as denied requests.
 */
void gate_review(struct gate *gate);
bool gate_is_reviewed(const struct gate *gate); /* all that lives has been judged, or cut, since */

enum gate_outcome { GATE_CONNECTED, GATE_DENIED, GATE_FAILED };

struct gate_result {
	enum gate_outcome outcome;
	int fd;                        /* the host's socket, connected, non-blocking; the callee owns it */
	const struct verdict *verdict; /* borrowed */
	const char *target;            /* host:port as it was judged; borrowed */
	const char *address;           /* ADDRESS:PORT that the name led to, as it was judged; borrowed; NULL: wasn't */
	int code;                      /* GATE_FAILED: the true errno (ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT …) */
	const char *message;           /* a sentence; borrowed */
};

typedef void gate_done(void *argument, const struct gate_result *result);

/* Ask, resolve, connect (happy eyeballs, RFC 8305). `done` is called exactly once, never from inside gate_open.
 * `caller` is borrowed for the call; NULL: not known. */
struct gate_call *gate_open(struct gate *gate, const struct host *host, uint16_t port, const struct gate_caller *caller,
			    gate_done *done, void *argument);
/* The same for UDP: the socket is connected to the first address that the host has a way to. */
struct gate_call *gate_open_datagrams(struct gate *gate, const struct host *host, uint16_t port,
				      const struct gate_caller *caller, gate_done *done, void *argument);
/*
 * The same for a connection whose near end is there already: where somebody would be asked, its first bytes are waited
 * for first, LIMIT_HEAR_MS at most, so that the question can say which other host they ask for. `near` is borrowed
 * until `done`; what it says stays in it.
 */
struct gate_call *gate_open_heard(struct gate *gate, const struct host *host, uint16_t port,
				  const struct gate_caller *caller, int near, gate_done *done, void *argument);
void gate_cancel(struct gate_call *call); /* the requester is gone: done is not called any more */

/*
 * A live connection, so that it can be cut and is reported: made by the door within `done` of a call that connected.
 * `cut` is called when its grant ends or the gate is freed; it closes the connection at once and ends the lease.
 */
struct gate_lease;
struct gate_lease *gate_lease_new(struct gate *gate, const struct gate_result *result, const char *door,
				  void (*cut)(void *argument), void *argument);
void gate_lease_rebind(struct gate_lease *lease, void (*cut)(void *argument), void *argument); /* another owner */
void gate_lease_need_direct(struct gate_lease *lease); /* it is cut, too, when the verdict isn't `direct` any more */
/* The connection asks for another host, too, and `verdict` allows that: the lease is cut as well when that host's right
 * ends. At most once. */
void gate_lease_join(struct gate_lease *lease, const char *target, const struct verdict *verdict);
/* An allow that is taken back here, for another reason than a rule or a user: the history has it, and the list of what
 * was denied. The lease goes on. */
void gate_lease_refuse(struct gate_lease *lease, const struct verdict *verdict);
const char *gate_lease_target(const struct gate_lease *lease); /* borrowed */
void gate_lease_end(struct gate_lease *lease, uint64_t sent, uint64_t received, const char *error /* or NULL */);
#define GATE_BYTES_UNKNOWN UINT64_MAX /* sent, received: they went past us */

/* Something was denied that never came to the gate: the look-up of a name. Counted once: a resolver asks many times. */
void gate_add_denied(struct gate *gate, const char *target, const struct verdict *verdict);

/* One line a distinct target that was denied, for the runner's last words: calls back in order of first denial. */
void gate_each_denied(const struct gate *gate, void (*each)(void *argument, const struct denied_target *item),
		      void *argument);

/* What was allowed and came to nothing, or to an end that its tool sees as a mere reset: "failed: Connection refused",
 * "was cut: …". The same for these. */
void gate_add_broken(struct gate *gate, const char *target, const char *how);
void gate_each_broken(const struct gate *gate,
		      void (*each)(void *argument, const char *target, unsigned count, const char *how),
		      void *argument);
