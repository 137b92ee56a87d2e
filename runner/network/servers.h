/*
 * servers: what listens in the sandbox and is reachable on the host's loopback: the publisher (net/publish.h) with its
 * broker, its diagnosis of the sandbox's network, and what the user is told.
 *
 * Promises: `--publish` takes the host's ports before anything runs. Nothing is published of a sandbox that has the
 * host's own network, where there is nothing to lead from.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "net/sockets/diag.h"
#include "net/streams/spares.h"
#include "schema/publication.h"
#include "schema/view.h"
#include "session/session.h"

struct servers;

struct servers *servers_new(struct event_base *base);
/* Takes the host's ports of `--publish`; they lead nowhere before servers_begin. */
int servers_reserve(struct servers *servers, const struct publication *wanted, size_t count, struct error *error);

struct servers_options {
	struct session *session; /* borrowed, as is all else */
	struct spares *spares;   /* NULL: the sandbox has the host's network */
	struct diag *inside;     /* NULL: what listens isn't known, and only what is named is published */
	const struct view *view;
	pid_t init;
};
/* Before the tool's first instruction. */
int servers_begin(struct servers *servers, const struct servers_options *options, struct error *error);

/* That thread has made a socket listen (listen(2) has returned). */
void servers_stir(struct servers *servers, pid_t thread);

/* The broker's pushes. */
void servers_view(struct servers *servers, const struct view *view);
void servers_ended(struct servers *servers, const struct session_ended *ended);
bool servers_are_cut(const struct servers *servers);
void servers_publish(struct servers *servers, int64_t number, const struct publication *wanted, int64_t grant);

/* Nothing leads in any more, and what was said of it is recorded: before the spares and the session go. */
void servers_stop(struct servers *servers);
void servers_free(struct servers *servers);
DEFINE_CLEANUP(struct servers *, servers_free);
