/*
 * gate_private: what gate.c, lease.c and denied.c share.
 */
#pragma once

#include <sys/queue.h>

#include "denied.h"
#include "net/gate.h"
#include "resolve.h"

TAILQ_HEAD(gate_calls, gate_call);
TAILQ_HEAD(gate_leases, gate_lease);

struct gate_host { /* of the policy's `hosts:` */
	char name[HOST_MAX];
	struct address address;
};

struct gate {
	struct event_base *base;
	struct gate_judge judge;
	struct resolver *resolver;
	struct gate_host *hosts;
	size_t host_count;
	struct gate_calls calls;
	struct gate_leases leases;
	struct denied denied;
};

/* Cuts the leases that rest on one of the grants, or all. Returns how many. */
size_t leases_cut(struct gate *gate, bool all, const int64_t *grants, size_t count);

bool grants_contain(const int64_t *grants, size_t count, int64_t grant);

/* Puts another source of answers in the place of getaddrinfo, for tests. */
void gate_set_lookup(struct gate *gate, const struct lookup *lookup);
