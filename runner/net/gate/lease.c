/* The registry of live connections, by grant (net/gate.h, struct gate_lease). */
#include "base/clock.h"
#include "base/string.h"
#include "gate.h"
#include "gate_private.h"

enum { LEASE_CONNECTED, LEASE_ASKED_FOR /* by its first bytes, when it is another one */, LEASE_HOSTS };

static const struct {
	const char *ended;
	const char *changed; /* a rule or a denial is new, or a rule is gone */
} cut_words[LEASE_HOSTS] = {
	[LEASE_CONNECTED] = {"the grant has ended", "what allowed it has changed"},
	[LEASE_ASKED_FOR] = {"the grant for the host that its first bytes ask for has ended",
			     "what allowed the host that its first bytes ask for has changed"},
};

struct gate_lease {
	TAILQ_ENTRY(gate_lease) entry;
	struct gate *gate;
	struct lease_host {
		char *target; /* NULL: there is none */
		struct right right;
	} hosts[LEASE_HOSTS]; /* it needs the rights to all of them */
	char *address;        /* that the name led to which was connected; or NULL */
	const char *door;
	int64_t since_ms;
	const char *why; /* it was cut; borrowed, or NULL */
	void (*cut)(void *argument);
	void *argument;
};

struct gate_lease *gate_lease_new(struct gate *gate, const struct gate_result *result, const char *door,
				  void (*cut)(void *argument), void *argument) {
	struct gate_lease *lease = mem_new(struct gate_lease);

	*lease = (struct gate_lease){.gate = gate,
				     .hosts = {{string_copy(result->target), right_of(result->verdict)}},
				     .address = string_copy_or_null(result->address),
				     .door = door,
				     .since_ms = clock_ms(CLOCK_BOOTTIME),
				     .cut = cut,
				     .argument = argument};
	TAILQ_INSERT_TAIL(&gate->leases, lease, entry);
	return lease;
}

void gate_lease_rebind(struct gate_lease *lease, void (*cut)(void *argument), void *argument) {
	lease->cut = cut;
	lease->argument = argument;
}

void gate_lease_need_direct(struct gate_lease *lease) {
	lease->hosts[LEASE_CONNECTED].right.direct = true;
}

/* No name of this one was looked up: which addresses it may lead to is no matter. */
void gate_lease_join(struct gate_lease *lease, const char *target, const struct verdict *verdict) {
	struct right right = right_of(verdict);

	right.private_allowed = false;
	right.ipv4_only = true;
	lease->hosts[LEASE_ASKED_FOR] = (struct lease_host){string_copy(target), right};
}

void gate_lease_refuse(struct gate_lease *lease, const struct verdict *verdict) {
	const struct gate_judge *judge = &lease->gate->judge;
	const struct lease_host *host = &lease->hosts[LEASE_CONNECTED];

	if (judge->refuse) judge->refuse(judge->context, host->target, host->right.grant, verdict->why);
	denied_add(&lease->gate->denied, host->target, verdict);
}

const char *gate_lease_target(const struct gate_lease *lease) {
	return lease->hosts[LEASE_CONNECTED].target;
}

void gate_lease_end(struct gate_lease *lease, uint64_t sent, uint64_t received, const char *error) {
	const struct gate_judge *judge = &lease->gate->judge;
	const struct lease_host *host = &lease->hosts[LEASE_CONNECTED];

	TAILQ_REMOVE(&lease->gate->leases, lease, entry);
	if (judge->report)
		judge->report(judge->context, host->target, host->right.grant, lease->door, sent, received,
			      clock_ms(CLOCK_BOOTTIME) - lease->since_ms, lease->why ? lease->why : error);
	for (size_t i = 0; i < LEASE_HOSTS; i++) free(lease->hosts[i].target);
	free(lease->address);
	free(lease);
}

bool grants_contain(const int64_t *grants, size_t count, int64_t grant) {
	for (size_t i = 0; i < count; i++)
		if (grants[i] == grant) return true;
	return false;
}

static void lease_cut(struct gate_lease *lease, const char *why) {
	lease->why = why;
	gate_add_broken(lease->gate, gate_lease_target(lease), "was cut: what allowed it has ended or changed");
	lease->cut(lease->argument);
}

/* By one of the grants: the words for it, or NULL. */
static const char *lease_ended(const struct gate_lease *lease, const int64_t *grants, size_t count) {
	for (size_t i = 0; i < LEASE_HOSTS; i++)
		if (grants_contain(grants, count, lease->hosts[i].right.grant)) return cut_words[i].ended;
	return NULL;
}

size_t leases_cut(struct gate *gate, bool all, const int64_t *grants, size_t count) {
	size_t cut = 0;
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* a cut ends its own lease and no other */
		const char *why = all ? "the sandbox has ended" : lease_ended(lease, grants, count);
		if (!why) continue;
		cut++;
		lease_cut(lease, why);
	}
	return cut;
}

bool leases_lead_to(const struct gate *gate, const char *target) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		if (string_equal(gate_lease_target(lease), target)) return true;
	}
	return false;
}

void leases_mark(struct gate *gate) {
	struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		for (size_t i = 0; i < LEASE_HOSTS; i++) lease->hosts[i].right.due = lease->hosts[i].target != NULL;
		lease->hosts[LEASE_CONNECTED].right.address_due = lease->address != NULL;
	}
}

const char *leases_due(const struct gate *gate) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		for (size_t i = 0; i < LEASE_HOSTS; i++)
			if (lease->hosts[i].right.due) return lease->hosts[i].target;
	}
	return NULL;
}

const char *leases_due_address(const struct gate *gate) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		if (lease->hosts[LEASE_CONNECTED].right.address_due) return lease->address;
	}
	return NULL;
}

void leases_judge_address(struct gate *gate, const char *address, const struct verdict *verdict) {
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* as above */
		struct right *right = &lease->hosts[LEASE_CONNECTED].right;
		if (!right->address_due || !string_equal(lease->address, address)) continue;
		right->address_due = false;
		if (verdict->effect != EFFECT_ALLOW) lease_cut(lease, cut_words[LEASE_CONNECTED].changed);
	}
}

/* One that holds may rest on something else from now on. */
static void right_renew(struct right *right, const struct verdict *verdict) {
	right->due = false;
	if (!verdict_lasts(verdict)) return;
	right->grant = verdict->grant;
	right->once = false;
}

/* The words for its end when the right to the target doesn't hold, or NULL. */
static const char *lease_changed(struct gate_lease *lease, const char *target, const struct verdict *verdict) {
	for (size_t i = 0; i < LEASE_HOSTS; i++) {
		struct lease_host *host = &lease->hosts[i];

		if (!host->right.due || !string_equal(host->target, target)) continue;
		if (!right_holds(&host->right, verdict)) return cut_words[i].changed;
		right_renew(&host->right, verdict);
	}
	return NULL;
}

void leases_judge(struct gate *gate, const char *target, const struct verdict *verdict) {
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* as above */
		const char *why = lease_changed(lease, target, verdict);
		if (why) lease_cut(lease, why);
	}
}
