/*
 * doctor: what this machine gives sbx and what it lacks, each found out by trying.
 *
 * Promises: changes nothing (the broker is started as any command would); works as root and without a broker; every
 * finding that isn't ok says what to do.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/string.h"

enum doctor_status { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
	enum doctor_status status;
	char *detail; /* what was found; owned */
	char *advice; /* what to do, or NULL; owned */
};

struct doctor_check {
	const char *name;
	void (*look)(struct doctor_finding *finding);
};

void doctor_find(struct doctor_finding *finding, enum doctor_status status, char *detail, const char *advice);

/* The table, in the order in which they are shown; in a sandbox of sbx a row that says so. */
const struct doctor_check *doctor_checks(size_t *ret_count);

/* Checks of the kernel and of programs; those of sbx's own state are in doctor.c. */
void doctor_kernel(struct doctor_finding *finding);
void doctor_bwrap(struct doctor_finding *finding);
void doctor_namespaces(struct doctor_finding *finding);
void doctor_seccomp(struct doctor_finding *finding);
void doctor_descriptors(struct doctor_finding *finding);
void doctor_native(struct doctor_finding *finding);
void doctor_listeners(struct doctor_finding *finding);
void doctor_fuse(struct doctor_finding *finding);
void doctor_cgroup(struct doctor_finding *finding);
void doctor_userns(struct doctor_finding *finding);
void doctor_apparmor(struct doctor_finding *finding);
/* Where questions are asked; found by sbx-notify --check, and from the terminal that doctor runs on. */
void doctor_bus(struct doctor_finding *finding);
void doctor_notifications(struct doctor_finding *finding);
void doctor_terminal(struct doctor_finding *finding);
/* The proxy that is set (upstream.h), or NULL. */
void doctor_upstream(struct doctor_finding *finding, const char *upstream);

/* Run a program for at most ten seconds; its output and errors together, bounded. Returns its wait status, or -1. */
int doctor_run(char *const *argv, char **ret_output);
