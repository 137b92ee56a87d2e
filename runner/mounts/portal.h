/*
 * portal: one process that steps between a copy of the host's view and a sandbox's mount and network namespaces.
 *
 * Promises: holds no power over the host (its capabilities are those of the sandbox's own user namespace, and of them
 * only what is needed), never executes anything, follows no link on either side, makes mount points only on file
 * systems that are sbx's own, dies with the runner. Nothing the sandbox does reaches it: its only input is the runner.
 *
 * Calls are messages: they return at once, are carried out one after the other, and each one's done() is called exactly
 * once from the loop, never from within the call. So the runner can serve the curtain that the portal is walking
 * through.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "net/streams/spares.h"
#include "plan/steps.h"
#include "portal_applied.h"

struct portal;

/* Fork it; it waits. No thread may have been started before. Replies come in the loop of `base`. `spare` (taken over,
 * -1: none) is what an earlier portal's curtain left: for portal_adopt. */
int portal_start(struct event_base *base, int spare, struct portal **ret_portal, struct error *error);

/* `code` is 0 or errno with a sentence in `text`. `fds` are the callee's to close or keep, each at most once; what a
 * call promises is there when `code` is 0. May be NULL, for those that pass no descriptor. */
typedef void portal_done(void *argument, int code, const char *text, int *fds, size_t fd_count);

/* Join the user namespace that owns the mounts of `init`. May be called as soon as bwrap has made that process. */
void portal_join(struct portal *portal, pid_t init, portal_done *done, void *argument);

/* Make the curtain's superblock: two descriptors, the FUSE device for the server and a spare mount that a later portal
 * needs. ENOENT, ENODEV, EACCES, EPERM: there is no curtain to be had here. */
void portal_curtain(struct portal *portal, portal_done *done, void *argument);

/* In a portal that was started with a spare: the curtain that there is. One descriptor, the next spare. */
void portal_adopt(struct portal *portal, portal_done *done, void *argument);

/* Step in, after sbx-init's hello: the sandbox's mounts become private (attack F19), and it gets its /dev. With `again`
 * a portal has died: a PUT of what is there already takes that over; then portal_apply_again is what makes all whole.
 */
void portal_enter(struct portal *portal, bool again, portal_done *done, void *argument);

/* `applied` (borrowed) is there also when `code` is not 0 (then it is the first failure's); NULL: nobody knows what was
 * carried out, since the steps could not be sent or the portal died (EPIPE). */
typedef void portal_applied_done(void *argument, int code, const char *text, const struct portal_applied *applied);

/* Carry out steps. A group (a PUT with the PUTs below it that directly follow) is whole or not there; one that fails is
 * left out and the rest is done. Until the first is done nothing of the tool's may run. */
void portal_apply(struct portal *portal, const struct steps *steps, portal_applied_done *done, void *argument);

/* In a portal that was started again: know what `plan`, which was in force, has put, put what is missing, and take what
 * the steps that were under way (or NULL) had put by then. Both stay until it is done, and of plan->below goes what is
 * gone (plan_lose). One at a time. */
void portal_apply_again(struct portal *portal, struct plan *plan, const struct steps *under_way,
			portal_applied_done *done, void *argument);

/* Listening sockets made inside whose descriptors live here: on 127.0.0.1, and of a type (SOCK_STREAM, SOCK_SEQPACKET)
 * at a path (mode 0600). One descriptor. */
void portal_listen_port(struct portal *portal, uint16_t port, portal_done *done, void *argument);
void portal_listen_path(struct portal *portal, const char *path, int type, portal_done *done, void *argument);

/* The sandbox's loopback takes 198.18.0.0/15, fd53:6278::/64 and every other address there is (portal_network.h). Once,
 * after portal_enter; again is allowed. */
void portal_network(struct portal *portal, portal_done *done, void *argument);

/* `count` (SPARES_FETCH_MAX at most) fresh sockets of the sandbox's network: unbound, non-blocking, close-on-exec. We
 * bind them ourselves, to any address, below port 1024, too: who owns the user namespace may (user_namespaces(7)). */
void portal_sockets(struct portal *portal, enum spare kind, unsigned count, portal_done *done, void *argument);

/* Make a mount read-only from now on ("/" and "/run", when all in them is made). */
void portal_seal(struct portal *portal, const char *path, portal_done *done, void *argument);

/* Run the loop until every call so far is done. The first failure since the last wait is the error. Not in a callback.
 */
int portal_wait(struct portal *portal, struct error *error);

pid_t portal_pid(const struct portal *portal);

/* The kernel's number of the mount `id` of a plan, by the last reply to steps; 0: it isn't put. */
uint64_t portal_number(const struct portal *portal, uint32_t id);

/* It died: every pending call's done gets EPIPE first. portal_free is allowed in there. */
void portal_on_end(struct portal *portal, void (*ended)(void *argument), void *argument);
void portal_free(struct portal *portal);  /* ends it and waits for it; calls no done */
void portal_leave(struct portal *portal); /* likewise, but doesn't wait: what it holds last takes the kernel 10 ms */
