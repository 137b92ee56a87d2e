/*
 * portal: one process that steps between a copy of the host's view and a sandbox's mount and network namespaces.
 *
 * Promises: holds no power over the host (its capabilities are those of the sandbox's own user namespace, and of them
 * only what is needed), never executes anything, follows no link on either side, dies with the runner. Nothing
 * the sandbox does reaches it: its only input is the runner.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "plan.h"

struct portal;

/* Fork it. It keeps a copy of the plan, whose mounts and held links later calls name by index. */
int portal_start(const struct plan *plan, struct portal **ret_portal, struct error *error);

/*
 * Step in: make the sandbox's mounts private (attack F19), compare what is mounted with what the host has at
 * that path, no links followed (F2), and mount held links onto themselves. `init` is process 1 of the sandbox.
 * With `again` the sandbox runs already (a portal died): nothing is compared.
 */
int portal_enter(struct portal *portal, pid_t init, bool again, struct error *error);

/* Listening sockets made inside whose descriptors live here: on 127.0.0.1, and at a path (mode 0600). */
int portal_listen_port(struct portal *portal, uint16_t port, int *ret_fd, struct error *error);
int portal_listen_path(struct portal *portal, const char *path, int *ret_fd, struct error *error);

/* Make a mount read-only from now on (/run, when the sockets are made). */
int portal_seal(struct portal *portal, const char *path, struct error *error);

/* Put back what a rename or removal on the host tore off. -ENOENT: the host has nothing there at the moment. */
int portal_restore_mount(struct portal *portal, size_t index, struct error *error);

int portal_fd(const struct portal *portal); /* readable when it has died; borrowed */
void portal_free(struct portal *portal);    /* ends it and waits for it */
DEFINE_CLEANUP(struct portal *, portal_free);
#define CLEANUP_PORTAL CLEANUP(portal_free_p)
