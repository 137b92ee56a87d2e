/*
 * portal_wire: what the runner and its portal say to each other, over one SOCK_SEQPACKET pair.
 *
 * Promises: fixed-size records, each answered by one reply in the same order; steps and what became of them are in
 * sealed memfds, bounded, and parsed here alone. The portal checks what it reads although it comes from the runner: a
 * fault there must not become a mount here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/error.h"
#include "portal.h"
#include "steps.h"

enum portal_verb {
	PORTAL_JOIN,    /* number: the process */
	PORTAL_CURTAIN, /* reply: device, spare */
	PORTAL_ADOPT,   /* fd: the spare; reply: the next */
	PORTAL_ENTER,   /* number: again */
	PORTAL_KNOW,    /* fd: steps, of a portal that died; reply: portal_applied, what failed is gone */
	PORTAL_APPLY,   /* fd: steps; reply, also with a code: portal_applied */
	PORTAL_LISTEN_PORT,
	PORTAL_LISTEN_PATH, /* number: the socket's type */
	PORTAL_NETWORK,
	PORTAL_SOCKETS, /* number: how many, kind: of which */
	PORTAL_SEAL,
};
enum { PORTAL_VERB_COUNT = PORTAL_SEAL + 1 };

struct portal_request {
	enum portal_verb verb;
	int32_t number;
	enum spare kind;
	char path[sizeof((struct sockaddr_un){0}).sun_path];
};

struct portal_reply {
	int32_t code; /* 0 or errno */
	char text[400];
};

enum { PORTAL_STEPS_MAX = 4 * PLAN_MOUNTS_MAX, PORTAL_WIRE_MAX = 16 * 1024 * 1024 /* bytes of a memfd */ };

int portal_steps_pack(const struct steps *steps, int *ret_fd, struct error *error);
int portal_steps_unpack(int fd, struct steps *ret_steps, struct error *error);
int portal_applied_pack(const struct portal_applied *applied, int *ret_fd, struct error *error);
