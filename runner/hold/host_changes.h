/*
 * host_changes: what the host does while a sandbox runs that changes what the sandbox has to show or hide: names that
 * come and go (mounts/watched.h, mounts/arrivals.h), sockets (sandbox/datagrams.h), and masks that it tears off
 * (mounts/masks.h).
 *
 * Promises: each leads to a new plan, or to the mask being put back. What can't be put back ends the sandbox.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "live.h"
#include "sandbox/scene.h"
#include "session/session.h"
#include "withdrawn.h"

struct host_changes;

struct host_changes_options { /* all borrowed */
	struct event_base *base;
	struct scene *scene;
	struct live *live;
	struct withdrawn *withdrawn;
	struct session *session;
	const struct strings *allowed; /* what the tool was allowed to make */
	bool holds;                    /* calls that make names are held */
	struct portal *const *portal;  /* the living one, or NULL, is there */
	pid_t init;
	void (*failed)(void *context); /* as of struct keeper_options */
	void *context;
};

struct host_changes *host_changes_new(const struct host_changes_options *options);

/* Put back what is torn off, from now on: all of the first plan is there. */
int host_changes_guard(struct host_changes *changes, struct error *error);
bool host_changes_is_guarding(const struct host_changes *changes);

/* As the option `changed` of struct live_options: NULL while what is mounted changes. */
void host_changes_follow(struct host_changes *changes, const struct plan *plan);

/* Such steps were carried out: what is masked by them may be open to write from before, or have other names. */
void host_changes_put(struct host_changes *changes, const struct plan *plan, const struct steps *steps);

void host_changes_stop(struct host_changes *changes); /* as masks_stop */
void host_changes_free(struct host_changes *changes); /* after the portal, before live */
