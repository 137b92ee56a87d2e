/*
 * launch: bwrap and sbx-init, from fork to the last status.
 *
 * Promises: bwrap runs in a session of its own with an empty environment, its complaints come back as an error's text.
 * launch_free leaves nothing alive: bwrap dies with us (--die-with-parent), sbx-init when its socket closes, and
 * everything in the sandbox with sbx-init.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "init/orders.h"
#include "sandbox/bwrap.h"

struct launch;

struct launch_options {
	enum bwrap_root root;
	const char *init_path; /* sbx-init's file on the host */
	bool network_host;
	int cgroup;   /* descriptor of a cgroup.procs to enter, or -1 */
	int stdio[3]; /* what the tool has as 0, 1 and 2 where that isn't the pty; borrowed by launch_start and
			 launch_hello */
};

/* Returns as soon as bwrap was started; launch_hello waits for it. */
int launch_start(const struct launch_options *options, struct launch **ret_launch, struct error *error);

/* It was started before these were known: if it needs others, it is ended and started anew. Before launch_hello. */
int launch_settle(struct launch *launch, const struct launch_options *options, struct error *error);

/* Wait until sbx-init said hello; *ret_init is its process id here. */
int launch_hello(struct launch *launch, pid_t *ret_init, struct error *error);

/* Tell sbx-init what it will start on ORDER_GO. What fails there is a report. */
int launch_prepare(struct launch *launch, const struct order *order, const struct launch_orders *orders,
		   struct error *error);
/* Not taken: a negative errno; an sbx-init that is gone is for launch_report to tell. */
int launch_order(struct launch *launch, enum order_kind kind, int value);

/* The next report: 1, 0 when there is none now, -ECONNRESET when sbx-init is gone, another errno with its error when
 * what READY names can't be had. Those descriptors are the caller's. */
int launch_report(struct launch *launch, struct report *ret_report, struct error *error);

int launch_fd(const struct launch *launch); /* borrowed; readable when there is a report */
/* End the sandbox and wait until no process is left in it; bwrap itself may still be on its way out. */
void launch_end(struct launch *launch);
void launch_free(struct launch *launch); /* likewise, and waits for bwrap */
DEFINE_CLEANUP(struct launch *, launch_free);
#define CLEANUP_LAUNCH CLEANUP(launch_free_p)
