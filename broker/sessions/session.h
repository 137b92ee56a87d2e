/*
 * session: one run of `sbx run` as the broker has it, and the list of those that run: the head of sessions/.
 *
 * For: the life of a session (session_open, _rules, _resume, _terminate, _end), its processes (sandbox, clearances),
 * what its runner is told (session_tell) and has to confirm (settling), what bounds it (flood), and sleep. Guarantees:
 * the subject is fixed when the session opens; its row, event and grants are written together or not at all; it ends
 * with its connection; a withdrawal that isn't confirmed in time stops the sandbox. May be called by: endings, prompts,
 * handlers. What they keep of a session they make and free by hooks.h. In: a runner's messages, of which its own pid is
 * the kernel's word. Out: pushes to runners, rows of the history.
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
	char *root;                  /* what ${project} means */
	struct strings roots;        /* what ${root} does, each of them: the project, the start, the others */
	struct strings repositories; /* those among them that were found */
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
	struct strings roots;    /* folders that this run's runner has named for ${root}, to a broker before */
	struct body_ids granted; /* likewise: what a broker before has granted for it; missing: none has */
	char *policy, *policy_name;
	bool offline, record;
	int64_t before;    /* the number that its sandbox had with the broker before; 0: none */
	int64_t answering; /* the runner's descriptor of the file that says so (clearances.h); 0: none */
};

struct session *session_find(const struct broker *broker, int64_t id); /* running ones; NULL */
