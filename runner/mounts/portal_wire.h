/*
 * portal_wire: what the runner and its portal say to each other, over one SOCK_STREAM pair.
 *
 * Promises: records of a fixed size, each answered by one reply in the same order but for PORTAL_TAKEN; steps and what
 * became of them follow their record as bytes, bounded, and are parsed here alone. The portal checks what it reads
 * although it comes from the runner: a fault there must not become a mount here.
 *
 * No descriptor is sent: a reply has the numbers of the portal's, the runner takes them (fd_take) and says so, then the
 * portal closes its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/string.h"
#include "net/streams/spares.h"
#include "plan/steps.h"
#include "portal_applied.h"

enum portal_verb {
	PORTAL_JOIN,    /* number: the process */
	PORTAL_CURTAIN, /* reply: device, spare */
	PORTAL_ADOPT,   /* of the spare that was inherited; reply: the next */
	PORTAL_ENTER,   /* number: again */
	PORTAL_KNOW,    /* with steps, of a portal that died; reply: portal_applied, what failed is gone */
	PORTAL_APPLY,   /* with steps; reply, also with a code: portal_applied */
	PORTAL_LISTEN_PORT,
	PORTAL_LISTEN_PATH, /* number: the socket's type */
	PORTAL_NETWORK,
	PORTAL_SOCKETS, /* number: how many, kind: of which */
	PORTAL_SEAL,
	PORTAL_TAKEN, /* number: how many of the oldest descriptors that replies named; no reply */
};
enum { PORTAL_VERB_COUNT = PORTAL_TAKEN + 1 };

struct portal_request {
	enum portal_verb verb;
	int32_t number;
	enum spare kind;
	uint32_t size; /* of the steps that follow */
	char path[sizeof((struct sockaddr_un){0}).sun_path];
};

enum { PORTAL_FDS_MAX = SPARES_FETCH_MAX };

struct portal_reply {
	int32_t code;  /* 0 or errno */
	uint32_t size; /* of the portal_applied that follows */
	uint32_t fd_count;
	int32_t fds[PORTAL_FDS_MAX]; /* numbers of the portal's */
	char text[400];
};

enum { PORTAL_STEPS_MAX = 4 * PLAN_MOUNTS_MAX, PORTAL_WIRE_MAX = 16 * 1024 * 1024 /* bytes that follow */ };

int portal_steps_pack(const struct steps *steps, struct string *ret_bytes, struct error *error);
int portal_steps_unpack(const char *bytes, size_t size, struct steps *ret_steps, struct error *error);
int portal_applied_pack(const struct portal_applied *applied, struct string *ret_bytes, struct error *error);
int portal_applied_unpack(const char *bytes, size_t size, struct portal_applied *ret_applied, struct error *error);
