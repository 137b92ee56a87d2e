/*
 * session: one run of `sbx run` as the broker has it: its subject, rules, view; it ends with its connection.
 *
 * Promises: the subject is fixed when the session opens; its row, event and grants are written together or not at all.
 * What its runner is told is session_tell.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/broker.h"
#include "policy/ruleset.h"
#include "policy/stack.h"
#include "schema/request.h"
#include "schema/session.h"
#include "wire/body.h"

struct session {
	TAILQ_ENTRY(session) link;
	struct broker *broker;
	struct client *client; /* borrowed: the runner's connection */
	struct session_record record;
	struct subject subject;
	char *root; /* what ${project} means */
	struct ruleset *ruleset;
	struct policy_document *own_policy; /* --policy FILE, in the place of the user's; or NULL */
	struct project_file *project_file;  /* of its root; followed */
	struct sandbox *sandbox;            /* its processes; left when it ends */
	struct strings given;               /* names of variables that the tool was started with */
	bool offline, recording;
	bool has_host_network; /* as it was started */
	struct strings environment;
	struct view *view; /* as the runner has it */
	bool view_is_cut;  /* there are more allows than a view holds */
	struct flood *flood;
	struct walks *walks; /* these three are made and freed by prompts/, as it opens and goes */
	struct streaks *streaks;
	struct wants *wants;
	struct body_ids granted;     /* of each of its --allow */
	struct strings denied_names; /* that have their row in the history (handle_name.c) */
	pid_t terminal;              /* the kernel's session of its runner's terminal; 0: it has none */
	int64_t hold;                /* number of the push `hold` that it was told last */
	bool holds;                  /* and has confirmed */
	struct event *terminating;   /* until its runner is killed; NULL: nobody wants it to end */
};

struct session_open {
	struct strings command;
	char *executable, *profile, *project, *root, *cwd;
	struct strings environment, allow, deny;
	struct strings passed;   /* variables that are to be passed whatever allows it: denials hold (--env) */
	struct strings resolved; /* of `allow`, in its order: where it leads, or "" */
	struct body_ids granted; /* likewise: what a broker before has granted for it; missing: none has */
	char *policy, *policy_name;
	bool offline, record;
	int64_t before; /* the number that its sandbox had with the broker before; 0: none */
};

/* The request's checks, the session's row and event, its --allow and --deny grants: all or nothing. */
int session_open(struct client *client, const struct session_open *wish, struct session **ret_session,
		 struct error *error);
/* Row, event, and the end of its grants; frees it. */
void session_end(struct session *session, int exit);

struct session *session_find(const struct broker *broker, int64_t id); /* running ones; NULL */

/* Tell the runner to end the sandbox; kill both when it doesn't (session_terminate.c). */
void session_terminate(struct session *session);
void session_end_runner(pid_t runner, int pidfd);

/* Profile, ruleset and what they are made of (session_rules.c). */
int session_make_rules(struct session *session, const struct session_open *wish, struct error *error);
/* What the sandbox was denied as session `before` it is denied on, within a transaction (session_denials.c). */
int session_carry_denials(struct session *session, int64_t before, struct error *error);
/* New rules after the policy has changed, if they are others; none at all when they can't be made. */
void session_refresh_rules(struct session *session);
void sessions_refresh_rules(struct broker *broker);
/* Do the links that their denials name lead where they led? */
bool sessions_have_current_rules(const struct broker *broker);
/* What the user should hear before the tool starts: that the files as they are now are not what is in force. */
json_t *session_warnings(const struct session *session);

/* Ends that couldn't be written, once more; they show as ended meanwhile. */
void sessions_retry_ends(struct broker *broker);
void sessions_forget_ends(struct broker *broker);

/* After a start: rows of sessions whose broker was killed end. Their sandboxes may go on: those
 * whose runners live are away (sandbox.h). */
int sessions_clean_up(struct broker *broker, struct error *error);

/* One page; bounds as history_list. */
int sessions_list(struct broker *broker, const struct history_filter *wanted, bool newest, bool ended_too,
		  int64_t cursor, json_t *items, int64_t *ret_next, struct error *error);
