/*
 * portal_quotas: what a sandbox gets of the quotas that the kernel counts by user and user namespace, and for which
 * there is no resource limit: inotify's (user_namespaces(7), /proc/sys/user).
 *
 * Promises: never more than half of what the user has, written where the tool can't (it has no CAP_SYS_RESOURCE in that
 * namespace, nor a way to one). Where /proc/sys can't be written, as in many containers, the host's limits hold:
 * nothing of sbx depends on a watch.
 */
#pragma once

struct quotas {
	long long most[2];
};

void quotas_look(struct quotas *ret_quotas);    /* in the host's user namespace */
void quotas_write(const struct quotas *quotas); /* in the sandbox's, as its root */
