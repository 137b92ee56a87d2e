/*
 * sandbox: the processes of one session as the kernel has them, and the deadline of what its runner has to confirm.
 *
 * Promises: a withdrawal that the runner doesn't confirm within LIMIT_CONFIRM_MS stops the sandbox whole, and one that
 * was begun while the runner itself is stopped or frozen does so at once: so the right is gone before the next
 * instruction of any of its processes. It goes on when all has been confirmed. It is ended when the runner had
 * LIMIT_CONFIRM_END_MS without being stopped or frozen itself, after LIMIT_STOP_MS where it can't be shown that all
 * is stopped and nothing let go on any more, or where it goes on by itself again and again. While
 * it is stopped its runner lets no call go on (schema/clearance.h). Each of these steps has a row in the history. The
 * end of the session alone settles nothing; the end of its processes does.
 *
 * Whether its runner is here and whether it lives are told apart by these words:
 *
 *   word   `session`  process 1  what it is                                        until
 *   –      set        any        its runner is connected                           its session ends
 *   away   NULL       lives      its connection was lost, or was a former sbxd's   its runner comes back, or it is dead
 *   left   NULL       lives      its runner has closed the session, and something  it is dead
 *                                is awaited of it
 *   dead   set        dead       its runner may have a last word about that        it is gone, or its session ends
 *   gone   set        dead       nothing more is to be heard of its runner         its session ends
 *
 * Of one whose runner was connected to a former sbxd process 1 isn't known: it is dead when its runner is.
 *
 * Time is CLOCK_MONOTONIC: while the machine sleeps none passes.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/error.h"
#include "core/broker.h"
#include "core/processes.h"
#include "wire/body.h"

struct broker;
struct client;
struct session;
struct session_record;

enum sandbox_state {
	SANDBOX_GOES_ON,  /* or has no process yet */
	SANDBOX_STOPPING, /* it has its signals; not all is seen to be stopped */
	SANDBOX_STOPPED,
	SANDBOX_ENDING, /* killed, and not seen dead */
};

struct sandbox {
	TAILQ_ENTRY(sandbox) link;
	struct broker *broker;
	struct session *session; /* borrowed; NULL: away or left */
	bool away;
	int64_t id; /* of the session */
	char *profile, *project, *command;
	pid_t runner, init; /* init, the sandbox's process 1; 0: no process of it runs yet, or it isn't known */
	int runner_pidfd, init_pidfd;
	struct event *ended, *timer; /* process 1, or the runner, where only that is known */
	enum sandbox_state state;
	size_t clearance;         /* its page (clearances.h), or SANDBOX_NO_CLEARANCE: it was never here */
	bool noted;               /* that it is stopped has its row */
	bool dead;                /* process 1 was seen dead, and so has all below it */
	bool gone;                /* and nothing more is to be heard of its runner */
	struct processes stopped; /* by us: what the user has stopped stays so */
	struct processes seen;    /* at the last look */
	struct awaited {
		int64_t number, since_ms;
		bool kill;
	} * awaited; /* what the runner has to confirm, the oldest first; owned */
	size_t awaited_count;
	int64_t whole; /* the number that stands for all before it: a view that was pushed whole; 0: none */
	int64_t began_ms, ran_ms, looked_ms;
	unsigned passes, still;
	bool answered;         /* no answer is under way that was begun before the clearance was withheld */
	unsigned resumed;      /* looks that found a stopped process to have gone on */
	struct body_ids spent; /* grants for one use that were used up in it (spent.h) */
	bool past_unknown;     /* it ran with a former sbxd: what was used up in it there isn't known */
};

#define SANDBOX_NO_CLEARANCE SIZE_MAX

/* Of a session that opens. It holds its runner by a descriptor of its own. `again`: it may run already, and its calls
 * wait until it has confirmed, or is said to begin. */
int sandbox_new(struct client *runner, bool again, int64_t answering, struct sandbox **ret_sandbox,
		struct error *error);
void sandbox_free(struct sandbox *sandbox);
void sandbox_name(struct sandbox *sandbox, struct session *session); /* once it is open */

/* Of a session of a former sbxd that was lost: away as long as its runner lives; nothing when that has ended. */
int sandbox_expect(struct broker *broker, const struct session_record *lost, struct error *error);

/* The runner says which process is the first in it. `running`: and that a tool runs in it already; then all that was
 * withdrawn since a former broker, or on a former connection, is to be confirmed (session_resume.h, next). */
int sandbox_begin(struct session *session, pid_t init, bool running, struct error *error);
void sandbox_take_up(struct sandbox *sandbox); /* what was known of it while it was away, or stopped */
bool sandbox_is_to_be_killed(const struct sandbox *sandbox);

/* The session has ended: `lost` with its connection, by which it is away, or by its runner's word. Freed now if its
 * processes have ended, or it is left and nothing is awaited of it, else when they do. */
void sandbox_leave(struct sandbox *sandbox, bool lost);

/* The runner is to confirm that number; it has. */
void sandbox_await(struct sandbox *sandbox, int64_t number, bool kill);
void sandbox_confirm(struct sandbox *sandbox, int64_t number);

/* SIGKILL to process 1, and to the runner and its children. */
void sandbox_kill(struct sandbox *sandbox);

/* It is away, and its process 1 is known: then nobody but us can end it. */
bool sandbox_is_lost(const struct sandbox *sandbox);
void sandbox_kill_lost(struct sandbox *sandbox);

/* How many of its processes can know what the tool was started with. */
size_t sandbox_processes(const struct sandbox *sandbox);

/* Its state in the words of docs/protocol.md, for a reply to `revoke`. */
const char *sandbox_doing(const struct sandbox *sandbox);
bool sandbox_is_answer(const struct sandbox *sandbox); /* nothing better is to be had soon: who waits may be told */

/* A request of its session uses that grant up (spent.h). */
void sandbox_note_spent(struct sandbox *sandbox, int64_t grant);

bool sandboxes_are_awaited(const struct broker *broker); /* something of those away and left: sbxd must stay */
size_t sandboxes_away(const struct broker *broker);      /* whose runners may come back */
void sandboxes_free(struct broker *broker);
