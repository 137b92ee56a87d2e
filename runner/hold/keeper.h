/*
 * keeper: keeps a running sandbox as its view says: its portal, masks, doorbells and the calls that they hold.
 *
 * Promises: nothing of the tool's runs before all of the first plan is there (keeper_await). What can't be kept (a
 * portal that doesn't start again, a grant that ended and can't be taken) ends the sandbox.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "mounts/portal.h"
#include "net/gate/denied.h"
#include "network/network.h"
#include "sandbox/scene.h"
#include "session/session.h"

struct keeper;

struct keeper_options {
	struct event_base *base;
	struct scene *scene;           /* borrowed; its plan is the one in force when keeper_free has returned */
	struct denied *denied;         /* one for each kind of permission; borrowed: what was refused is added */
	void (*failed)(void *context); /* the sandbox has to end; why was said */
	void *context;
};

/* Forks the portal: nothing before this may start a thread. Wants nothing yet of what it borrows. */
int keeper_new(const struct keeper_options *options, struct keeper **ret_keeper, struct error *error);

/* Begin to put in all that the scene's plan says, after the hello of sbx-init, `init`; `doors` asks the portal for
 * more. The session is borrowed. */
int keeper_build(struct keeper *keeper, struct session *session, pid_t init, void (*doors)(void *context),
		 struct error *error);

int keeper_await(struct keeper *keeper, struct error *error); /* until all of it is there */

/* What the filter has to trap (enum traps_wanted), after keeper_build. */
unsigned keeper_traps(const struct keeper *keeper);
/* The listener is taken over, the network borrowed: what is trapped of sockets is its. */
int keeper_listen(struct keeper *keeper, int listener, struct network *network, struct error *error);

struct live *keeper_live(const struct keeper *keeper); /* after keeper_build, until keeper_free */
/* Where the living portal is, until keeper_free; NULL is there while it is started again. */
struct portal *const *keeper_portal(const struct keeper *keeper);

/* The broker's pushes (session.h). */
void keeper_view(struct keeper *keeper, struct view *view); /* taken over */
void keeper_ended(struct keeper *keeper, const struct session_ended *ended);
void keeper_sleep(struct keeper *keeper, int64_t settle);

/* The tool has ended, what it left has not: what waits in the curtain could not be ended otherwise. */
void keeper_stop(struct keeper *keeper);
/* Of the whole run: names and links that came to be. */
struct keeper_made {
	struct strings paths;          /* owned: new and masked (made.h) */
	const struct strings *told;    /* of them, what was told and recorded while it ran */
	const struct strings *allowed; /* names and links (links_key) that calls were allowed to make */
};
/* When its processes have ended, and before the session does. */
void keeper_made(const struct keeper *keeper, struct keeper_made *ret_made);
/* Nothing of the sandbox is left: nobody holds what was withdrawn, and who waits for that is told. */
void keeper_gone(struct keeper *keeper);
void keeper_free(struct keeper *keeper); /* when nothing of the sandbox is left */
DEFINE_CLEANUP(struct keeper *, keeper_free);
#define CLEANUP_KEEPER CLEANUP(keeper_free_p)
