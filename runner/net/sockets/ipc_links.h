/*
 * ipc_links: the live connections of a sandbox to Unix sockets of the host, so that they end when what allowed them
 * does.
 *
 * Promises: those of tethers.h; that one has ended is seen within LIMIT_IPC_LOOK_MS. Bounded (LIMIT_IPC_LINKS).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc.h"

struct ipc_links;

struct ipc_links *ipc_links_new(const struct ipc_options *options); /* copied */

/* `socket` (borrowed) is being connected to what lies at `path` on the host. -ENOSPC: there are too many. */
int ipc_links_add(struct ipc_links *links, int socket, const char *path, const struct verdict *verdict);

/* It is connected elsewhere now, or not at all (connect(2) of a datagram socket). */
void ipc_links_forget(struct ipc_links *links, int socket);

void ipc_links_cut(struct ipc_links *links, const int64_t *grants, size_t count);
void ipc_links_review(struct ipc_links *links);
bool ipc_links_are_cut(const struct ipc_links *links); /* judge all again */
void ipc_links_free(struct ipc_links *links);          /* the sandbox has ended */
