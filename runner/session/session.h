/*
 * session: this run's side of the broker (docs/protocol.md).
 *
 * Promises: before session_serve calls block; after it nothing does but a reconnect. When the broker is gone, what was
 * asked is denied, what is asked waits until the next try to connect, and the sandbox keeps what it has until a new
 * broker is there.
 */
#pragma once

#include <event2/event.h>

#include "base/memory.h"
#include "curtain/doorbell.h"
#include "plan/judge.h"
#include "runner/options.h"
#include "schema/publication.h"
#include "schema/verdict.h"
#include "schema/view.h"
#include "settled.h"

struct session;

struct session_options {
	const struct run_options *run;
	const struct project *project;
	const char *executable, *directory;
	struct strings environment; /* names; taken over: they are said again to a new broker */
	bool agent;                 /* register for prompts */
};

/* What the push `ended` says; no number is 0. */
struct session_ended {
	const int64_t *grants; /* there may be none: a denial was made, the rules changed, or they are too many */
	size_t count;
	bool kill;
	bool gives; /* nothing has ended: a grant is there, and is to be carried out */
	int64_t settle;
};

struct session_events { /* each may be NULL */
	void *context;
	/* Also when a broker is there again. Taken over. */
	void (*view)(void *context, struct view *view);
	void (*ended)(void *context, const struct session_ended *ended);
	void (*sleep)(void *context, bool sleeping, int64_t settle);
	/* `sbx publish`; it ends with that grant. */
	void (*publishing)(void *context, int64_t number, const struct publication *wanted, int64_t grant);
	void (*terminate)(void *context);
	void (*prompt)(void *context, const json_t *prompt);
	void (*prompt_gone)(void *context, const json_t *gone);
	/* What the tool writes is to be held, session_held(number) says that it is; 0: no longer. */
	void (*hold)(void *context, int64_t number);
	void (*broker_gone)(void *context); /* its questions went with it */
};

/* Connect and open; *ret_view is the session's first view. */
int session_open(const struct session_options *options, struct session **ret_session, struct view **ret_view,
		 struct error *error);
/* The one after it, before session_serve. */
int session_next_view(struct session *session, struct view **ret_view, struct error *error);
int session_resolve(struct session *session, const struct strings *paths, struct layout_mode *modes,
		    struct error *error);
struct layout_judge session_judge(struct session *session); /* session_resolve */
/* Message `writable`: trees that the sandbox is about to write (none is NULL); for each folder, could any sandbox ever
 * write it? -ECONNRESET while there is no broker. */
int session_writable(struct session *session, const struct strings *trees, const struct strings *folders,
		     bool *ret_writable, struct error *error);
/* Message `roots`: folders that ${root} is to stand for, trees and repositories, and those that are no repositories any
 * more. *ret_kept, an array of as many as are in the first two: there is room for it. Where one of these
 * is new the next view, which was sent by then, has it. */
struct session_roots_told {
	const struct strings *trees, *found, *gone;
};
int session_roots(struct session *session, const struct session_roots_told *told, bool *ret_kept, struct error *error);
char *session_rule(struct session *session, const char *path, bool takes); /* rule_name.h */
void session_serve(struct session *session, struct event_base *base, const struct session_events *events);
/* Which the broker gives and withholds; borrowed. A new broker's as soon as there is one. */
struct clearance *session_clearance(const struct session *session);
/* Is something that the broker has said being told by an event (struct session_events)? For any thread. */
bool session_is_reading(const struct session *session);
/* The sandbox has ended: its events are these from now on, and of what was asked before nobody is told. */
void session_serve_end(struct session *session, const struct session_events *events);
void session_settle_nothing(struct session *session, int64_t settle); /* session_settled, where nothing runs */
void session_pause(struct session *session); /* until the next session_serve; what is pushed meanwhile waits */

/* Before the first process of the tool's: which process is the first in the sandbox. The broker holds it, to stop and
 * end it should we not confirm what ends; a new broker is told again. */
int session_begin(struct session *session, pid_t init, struct error *error);

/* What the session may ask for at its start: `wants` of docs/protocol.md. Borrowed. */
const json_t *session_wants(const struct session *session);
/* Ask for what this `want` of docs/protocol.md names (taken over); told() when the user has answered all, or nobody can
 * (NULL). */
void session_want(struct session *session, json_t *message, void (*told)(void *argument, const json_t *settled),
		  void *argument);

/* What is asked for; what may be NULL only words the question. */
struct session_wish {
	const char *permission, *target;
	const char *process;           /* or NULL */
	const struct strings *parents; /* nearest first; or NULL */
	const char *name;              /* as `check` has it (docs/protocol.md); or NULL */
	const char *reason;            /* in the tool's own words; or NULL */
	bool folder, by_folder;        /* the target is one; a name is made in it */
	bool unasked;                  /* nobody is asked: what would be asked about is denied */
};
/* As struct gate_judge's check and cancel. */
uint64_t session_check(struct session *session, const struct session_wish *wish,
		       void (*done)(void *argument, const struct verdict *verdict), void *argument);
/* The same for a held call (held.h): what it needs, who makes it. */
struct session_call {
	const struct need *need;
	const char *process;           /* or NULL */
	const struct strings *parents; /* nearest first */
	bool masked;                   /* programs outside run or read the file, and no rule may speak of it */
	const char *walk;              /* the folder that is walked through, or NULL */
	const char *name;              /* the path in the need's folder that is made, replaced or removed, or NULL */
};
uint64_t session_check_call(struct session *session, const struct session_call *call,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument);
/* As struct gate_judge's check_address. */
uint64_t session_check_address(struct session *session, const char *target,
			       void (*done)(void *argument, const struct verdict *verdict), void *argument);
/* As struct gate_judge's check_again. */
uint64_t session_check_again(struct session *session, const char *permission, const char *target,
			     void (*done)(void *argument, const struct verdict *verdict), void *argument);
/* May this name be looked up? The verdict may be EFFECT_ASK: a port of it would be asked about. Cancelled as a check.
 */
uint64_t session_name(struct session *session, const char *host,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument);
/* What the session may do and may ask for, as message `describe` has it; NULL: it can't be told. Cancelled as a check.
 */
uint64_t session_describe(struct session *session, void (*told)(void *argument, const json_t *described),
			  void *argument);
void session_cancel(struct session *session, uint64_t ticket);

/* A row of the history; `detail` is taken over. The others may be NULL or 0. */
void session_event(struct session *session, const char *kind, const char *permission, const char *target, int64_t grant,
		   const char *refused, json_t *detail);
/* A row that something was repaired, or why the sandbox was ended instead; all but `what` may be NULL. */
void session_repair(struct session *session, const char *permission, const char *target, const char *what,
		    const char *why);
/* What `ended` or `sleep` asked for with that number is done. */
void session_settled(struct session *session, int64_t settle, const struct holders *left, const struct holders *ended);
/* `ports`: all that are published. `number`: what this answers, or 0; then the host's port, or why not. */
void session_published(struct session *session, const struct strings *ports, int64_t number, uint16_t host_port,
		       const char *failed);
/* A question of ours on our terminal: told() when it is its turn, with the reply as message `turn` has it; NULL: there
 * is no broker. Cancelled as a check, and given back in any case. */
uint64_t session_take_turn(struct session *session, void (*told)(void *argument, const json_t *reply), void *argument);
void session_give_turn(struct session *session);
void session_held(struct session *session, int64_t number);
void session_answer(struct session *session, json_t *answer); /* takes it over */
int64_t session_id(const struct session *session);            /* another one after each new broker */
/* The grant of one of the run's `allow` ("PERM=TARGET"), also when it has ended; 0: that is none of them. Another one
 * after each new broker, unless it was revoked. */
int64_t session_granted(const struct session *session, const char *wish);
/* Once; session_free waits for the broker to have it. */
void session_close(struct session *session, int status, bool hung_up);
void session_free(struct session *session);
DEFINE_CLEANUP(struct session *, session_free);
#define CLEANUP_SESSION CLEANUP(session_free_p)
