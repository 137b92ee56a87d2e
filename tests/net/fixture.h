/*
 * fixture: a gate and a proxy on a loop in its own thread, with a judge and a resolver that the test sets, so that
 * tests can talk to the proxy with plain blocking sockets. All waits are bounded: a hang is a failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/doors/proxy_limits.h"
#include "net/gate/gate.h"

/* FIXTURE_ALLOW_STAR: what a rule `*` says: yes, but no address is named. FIXTURE_ALLOW_ONCE: a user's answer that
 * leaves no grant. FIXTURE_DENY: the user said no, or would be asked; FIXTURE_FORBID: a rule says no. FIXTURE_GONE:
 * there is no judge (only for what is judged again). */
enum fixture_answer {
	FIXTURE_ALLOW,
	FIXTURE_ALLOW_STAR,
	FIXTURE_ALLOW_ONCE,
	FIXTURE_DENY,
	FIXTURE_FORBID,
	FIXTURE_HOLD,
	FIXTURE_GONE
};

struct fixture;

struct fixture *fixture_new(void);
void fixture_free(struct fixture *fixture);
uint16_t fixture_port(const struct fixture *fixture); /* the proxy's, on 127.0.0.1 */
int fixture_dial_unix(struct fixture *fixture);       /* its Unix socket */

/* What the judge says from now on. */
void fixture_set_judge(struct fixture *fixture, enum fixture_answer answer, int64_t grant, bool private_allowed);
/* "ADDRESS:PORT" that names may not lead to; borrowed, before anything is opened. */
void fixture_deny_address(struct fixture *fixture, const char *target);
void fixture_answer_held(struct fixture *fixture, enum fixture_answer answer); /* the oldest one, when there is one */
size_t fixture_cut(struct fixture *fixture, int64_t grant);
void fixture_review(struct fixture *fixture);
void fixture_set_host(struct fixture *fixture, const char *name, const char *address);
void fixture_set_upstream(struct fixture *fixture, char *upstream); /* borrowed for the call */
void fixture_set_limits(struct fixture *fixture, struct proxy_limits limits);

/* The resolver: `addresses` is a comma-separated list; other names are not found. */
void fixture_set_name(struct fixture *fixture, const char *name, const char *addresses);
void fixture_hold_names(struct fixture *fixture, bool held); /* while true it answers nothing */

struct fixture_counts {
	unsigned checks, unasked, again, cancels, reports, lookups, refusals, complaints;
	size_t clients;
	uint64_t sent, received;  /* of all reports */
	char target[300];         /* of the last check */
	int addresses;            /* asked about */
	char target_unasked[300]; /* of the last that nobody was to be asked about */
	char target_again[300];   /* of the last that was judged again */
	char process[100];
	char says[300];
	char refused[300]; /* why, the last time */
	char complaint[300];
	char door[16]; /* of the last report */
	char error[100];
};
struct fixture_counts fixture_counts(struct fixture *fixture);

/* Wait until the condition over the counts holds; fails the test after some seconds. */
void fixture_wait(struct fixture *fixture, bool (*holds)(const struct fixture_counts *counts, unsigned wanted),
		  unsigned wanted);
bool lookups_reach(const struct fixture_counts *counts, unsigned wanted);
bool checks_reach(const struct fixture_counts *counts, unsigned wanted);
bool unasked_reaches(const struct fixture_counts *counts, unsigned wanted);
bool again_reaches(const struct fixture_counts *counts, unsigned wanted);
bool cancels_reach(const struct fixture_counts *counts, unsigned wanted);
bool reports_reach(const struct fixture_counts *counts, unsigned wanted);
bool clients_reach(const struct fixture_counts *counts, unsigned wanted);

/* Run `function` on the loop's thread and wait for it. */
void fixture_call(struct fixture *fixture, void (*function)(struct fixture *fixture, void *argument), void *argument);
struct gate *fixture_gate(struct fixture *fixture);
struct event_base *fixture_base(struct fixture *fixture);
