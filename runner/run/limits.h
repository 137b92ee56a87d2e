/*
 * limits: what a profile's `limits:` mean on this machine.
 *
 * Promises: memory by a control group of version 2 where the user has one delegated, else RLIMIT_DATA; never
 * RLIMIT_AS, under which runtimes that only reserve address space die (node's fetch). The group is removed at the end.
 * Where a profile says nothing, a sandbox gets a share of what the kernel counts by user, so that one alone takes no
 * quota from the user's other programs as a whole (attack R7); a profile's own word is bounded by the user's limit.
 */
#pragma once

#include "base/error.h"
#include "init/orders.h"
#include "schema/view.h"

struct limits {
	char *cgroup;   /* folder of our group, or NULL */
	int procs;      /* its cgroup.procs, or -1 */
	bool by_rlimit; /* memory is limited by RLIMIT_DATA */
};

/* `root` is where version 2 is mounted (/sys/fs/cgroup), `own` the text of /proc/self/cgroup; tests put others in. */
void limits_make(const struct view_limits *wanted, const char *root, const char *own, struct limits *ret_limits);
void limits_for_orders(const struct limits *limits, const struct view_limits *wanted, struct launch_orders *orders);
void limits_finish(struct limits *limits);
