/*
 * gate_private: what gate.c, lease.c, review.c and denied.c share.
 */
#pragma once

#include <sys/queue.h>

#include "denied.h"
#include "gate_judge.h"
#include "resolve.h"
#include "schema/upstream.h"

TAILQ_HEAD(gate_calls, gate_call);
TAILQ_HEAD(gate_leases, gate_lease);

struct gate_host { /* of the policy's `hosts:` */
	char name[HOST_MAX];
	struct address address;
};

/* What a connection rests on, as it was last judged. */
struct right {
	int64_t grant;
	bool once; /* a user's answer that nothing is left of */
	bool private_allowed;
	bool direct;      /* the tool has the host's socket */
	bool ipv4_only;   /* of localhost */
	bool due;         /* is to be judged again */
	bool address_due; /* and so is what its name led to */
};

struct review {
	struct event *step;
	char *target;    /* being judged; NULL = none is */
	bool of_address; /* `target` is what names led to */
	uint64_t ticket;
};

struct gate {
	struct event_base *base;
	struct gate_judge judge;
	struct resolver *resolver;
	struct gate_host *hosts;
	size_t host_count;
	struct upstream upstream; /* without a port: there is none */
	char *complaint;          /* the last */
	unsigned complaints;
	struct gate_calls calls;
	struct gate_leases leases;
	struct review review;
	struct denied denied, broken;
};

/* Cuts the leases that rest on one of the grants, or all. Returns how many. */
size_t leases_cut(struct gate *gate, bool all, const int64_t *grants, size_t count);

/* Some connection to it is live. */
bool leases_lead_to(const struct gate *gate, const char *target);

/* The calls that are allowed and connecting, and the leases: mark all as due; one that is due, or NULL; judge those to
 * `target`, which are due no more. */
void calls_mark(struct gate *gate);
void leases_mark(struct gate *gate);
const char *calls_due(const struct gate *gate);
const char *leases_due(const struct gate *gate);
/* The same of the addresses that names led to. */
const char *leases_due_address(const struct gate *gate);
void leases_judge_address(struct gate *gate, const char *address, const struct verdict *verdict);
void calls_judge(struct gate *gate, const char *target, const struct verdict *verdict);
void leases_judge(struct gate *gate, const char *target, const struct verdict *verdict);

void review_start(struct gate *gate);
void review_finish(struct gate *gate);

struct right right_of(const struct verdict *verdict);
bool right_holds(const struct right *right, const struct verdict *now);
/* May what was made by another right rest on it from now on? */
bool verdict_lasts(const struct verdict *verdict);

bool grants_contain(const int64_t *grants, size_t count, int64_t grant);

/* Puts another source of answers in the place of getaddrinfo, for tests. */
void gate_set_lookup(struct gate *gate, const struct lookup *lookup);
