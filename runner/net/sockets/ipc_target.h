/*
 * ipc_target: which socket the address of a call leads to: what the sandbox has there, or else what the host has.
 *
 * Promises: walks as the thread would, with descriptors that are names alone (O_PATH), never below a node of the
 * curtain; looks at the host only where `asked` speaks of the path. What was found is held by its descriptor: whatever
 * is put in its place later, it stays that inode.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/string.h"
#include "calls/socket_calls.h"

enum ipc_target_kind {
	IPC_TARGET_NONE, /* a socket there is not: `code` says so */
	IPC_TARGET_OWN,  /* a process of the sandbox bound it */
	IPC_TARGET_HOST,
};

struct ipc_target {
	enum ipc_target_kind kind;
	int fd; /* of the socket; -1 for none */
	dev_t device;
	ino_t inode;
	char *path; /* HOST: on the host, canonical */
	int code; /* errno of connect(2) where it is not to be had: as if a socket that nobody listens at, or none, were
		   * there */
};

struct ipc_sight {
	dev_t curtain;
	bool (*is_own)(void *context, dev_t device, ino_t inode, char **ret_name); /* struct ipc_options */
	bool (*asked)(void *context, const char *path);                            /* rules or grants may speak of it */
	void *context;
};

/* The path in the address (unix(7)); NULL: it has none (abstract, unnamed, of another family, of a wrong size). Freed
 * by the caller. */
char *ipc_target_path(const struct socket_call *call);

void ipc_target_find(const struct ipc_sight *sight, pid_t thread, const char *path, struct ipc_target *ret_target);
void ipc_target_finish(struct ipc_target *target);
