/*
 * run_private: what one sbx run consists of, for the files that begin it, serve it (run.c) and end it (run_end.c).
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "findings.h"
#include "hold/ahead.h"
#include "hold/endings.h"
#include "hold/keeper.h"
#include "job.h"
#include "kept.h"
#include "launch.h"
#include "limits.h"
#include "network/network.h"
#include "network/servers.h"
#include "sandbox/scene.h"
#include "session/session.h"
#include "terminal/ask.h"
#include "terminal/hangup.h"
#include "terminal/outlets.h"
#include "terminal/pause.h"

struct run {
	struct scene scene;
	struct session *session;
	struct event_base *base;
	struct launch *launch;
	struct keeper *keeper;
	struct denied denied[PERMISSION_KIND_COUNT]; /* but for net:access, which the gate knows */
	struct servers *servers;
	struct network *network;
	struct outlets outlets;
	struct asker *asker;
	struct pause *pause;
	struct ahead *ahead;
	struct endings *endings;
	struct job *job;
	struct hangup *hangup;
	struct limits limits;
	struct findings_since since;
	struct findings findings;
	struct kept kept;
	int stdio[3]; /* the tool's, where that isn't a terminal */
	bool is_terminal[3], background;
	pid_t init;
	struct event *reports, *timeout, *grace;
	bool ready, timed_out, hung_up, killed, ended;
	int status;
};

/* The broker's word and the terminal's end, which count as long as anything of the run does; `context` is the run. */
void run_on_terminate(void *context);
void run_on_hold(void *context, int64_t number);
void run_on_hangup(void *context, bool gone);

/* The tool has ended: what it wrote last, what came of it, and the session's end. *ret_status is the run's. */
void run_end(struct run *run, int *ret_status);
/* The session and what was found out are left after this. */
void run_take_down(struct run *run);
void run_finish(struct run *run);
