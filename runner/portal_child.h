/*
 * portal_child: what happens inside the portal's process; portal.c is the runner's side.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "plan.h"

enum portal_verb {
	PORTAL_ENTER,
	PORTAL_LISTEN_PORT,
	PORTAL_LISTEN_PATH,
	PORTAL_SEAL,
	PORTAL_RESTORE_MOUNT,
};
enum { PORTAL_VERB_COUNT = PORTAL_RESTORE_MOUNT + 1 };

struct portal_request {
	enum portal_verb verb;
	int32_t number; /* pid, port, index */
	bool again;
	char path[sizeof((struct sockaddr_un){0}).sun_path];
};

struct portal_reply {
	int32_t code; /* 0 or errno; with a descriptor for LISTEN_* */
	char text[400];
};

/* Serve requests on `socket` until its other end is gone. Does not return. */
_Noreturn void portal_child_run(int socket, const struct plan *plan, pid_t parent);
