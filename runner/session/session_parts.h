/*
 * session_parts: what the files of a session see of it besides its public face.
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "schema/channel.h"
#include "session.h"

struct session {
	struct session_options options;
	struct session_events events;
	struct event_base *base;
	struct channel *channel; /* NULL while the broker is gone */
	struct event *readable, *retry;
	atomic_int connection; /* what `readable` waits for, or -1 */
	atomic_bool reading;   /* what comes from there */
	struct checks *checks;
	struct clearance *clearance;
	struct view *view;    /* as it was told last */
	struct view *coming;  /* parts of the next one so far */
	json_t *early;        /* pushes that came before session_serve, for it */
	struct strings roots; /* that this run has found: a new broker is told them when the session opens */
	int64_t id;
	pid_t init;      /* 0: nothing runs yet */
	int64_t closing; /* the request, when it was sent */
	json_t *wants;
	json_t *granted; /* ids, of each of the run's `allow`; NULL: there was no broker yet */
	int64_t hold;    /* number of the last push `hold`; 0: nothing is held */
	int retry_ms;
};
