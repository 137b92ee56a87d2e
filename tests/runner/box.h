/*
 * box: a real sandbox that a portal builds (bwrap, sbx-init, the filter), as an ordinary user, without a broker: the
 * test makes the plan. Inside a shell waits for lines.
 *
 * Inside: /usr and what links to it, a fresh /tmp, /run and home (TOP/home), which the host has, too.
 */
#pragma once

#include <event2/event.h>

#include "mounts/masks.h"
#include "mounts/portal.h"
#include "plan/plan.h"
#include "run/launch.h"

struct box {
	char *top, *home, *init_path;
	struct event_base *base;
	struct launch *launch;
	struct portal *portal;
	pid_t init;
	int in, out;      /* of the shell */
	int stdio[2];     /* its ends of them, until it has them */
	struct plan plan; /* in force, by the test's will */
	int spare;        /* of the curtain, -1 = none */
	struct portal_applied applied;
	int code; /* of the last box_apply */
	char text[400];
};

/* For the whole program; started as root it becomes an ordinary user. */
void box_make(struct box *box);
void box_remove(struct box *box);

/* A plan with what every box has, and then more of it. `path` and `source` (NULL: the same) are relative to home, or
 * absolute. */
void box_plan(const struct box *box, struct plan *plan);
struct mount *box_add(const struct box *box, struct plan *plan, enum mount_kind kind, const char *path);
struct mount *box_add_from(const struct box *box, struct plan *plan, enum mount_kind kind, const char *path,
			   const char *source);

/* Start bwrap and the portal, up to its entering; then build the plan (taken over) and let the shell go. */
void box_begin(struct box *box);
void box_build(struct box *box, struct plan *plan);
void box_open(struct box *box, struct plan *plan); /* both */
void box_close(struct box *box);

/* From the plan in force to another one (taken over). The applied list is the box's; code 0 or the failure's. */
int box_change(struct box *box, struct plan *plan);
int box_apply(struct box *box, const struct steps *steps);
/* Another portal in the place of the one there is, dead or not. */
void box_restart(struct box *box, const struct steps *under_way);
void box_wait(struct box *box); /* for the portal; fails the test when a call failed */

/* What the shell inside prints for a line, without the last newline. Freed by the caller. Its function w says of each
 * FILE whether it can be written: wrote, refused. */
char *box_say(struct box *box, const char *line);
void box_expect(struct box *box, const char *line, const char *output);
void box_send(struct box *box, const char *line); /* and don't wait */

/* On the host. */
void box_host(const struct box *box, const char *line); /* with sh, in home */
size_t box_count_fds(pid_t pid);
size_t box_count_mounts(const struct box *box); /* of the sandbox */
