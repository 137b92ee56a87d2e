/* The registry of live connections, by grant (net/gate.h, struct gate_lease). */
#include "base/clock.h"
#include "base/string.h"
#include "gate_private.h"

struct gate_lease {
	TAILQ_ENTRY(gate_lease) entry;
	struct gate *gate;
	char *target;
	char *address; /* that its name led to; or NULL */
	const char *door;
	struct right right;
	int64_t since_ms;
	const char *why; /* it was cut; borrowed, or NULL */
	void (*cut)(void *argument);
	void *argument;
};

struct gate_lease *gate_lease_new(struct gate *gate, const struct gate_result *result, const char *door,
				  void (*cut)(void *argument), void *argument) {
	struct gate_lease *lease = mem_new(struct gate_lease);

	*lease = (struct gate_lease){.gate = gate,
				     .target = string_copy(result->target),
				     .address = string_copy_or_null(result->address),
				     .door = door,
				     .right = right_of(result->verdict),
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
	lease->right.direct = true;
}

void gate_lease_refuse(struct gate_lease *lease, const char *target, const struct verdict *verdict) {
	const struct gate_judge *judge = &lease->gate->judge;
	const char *refused = target ? target : lease->target;

	if (judge->refuse)
		judge->refuse(judge->context, refused, target ? verdict->grant : lease->right.grant, verdict->why);
	denied_add(&lease->gate->denied, refused, verdict);
}

const char *gate_lease_target(const struct gate_lease *lease) {
	return lease->target;
}

void gate_lease_end(struct gate_lease *lease, uint64_t sent, uint64_t received, const char *error) {
	const struct gate_judge *judge = &lease->gate->judge;

	TAILQ_REMOVE(&lease->gate->leases, lease, entry);
	if (judge->report)
		judge->report(judge->context, lease->target, lease->right.grant, lease->door, sent, received,
			      clock_ms(CLOCK_BOOTTIME) - lease->since_ms, lease->why ? lease->why : error);
	free(lease->target);
	free(lease->address);
	free(lease);
}

bool grants_contain(const int64_t *grants, size_t count, int64_t grant) {
	for (size_t i = 0; i < count; i++)
		if (grants[i] == grant) return true;
	return false;
}

static const char changed[] = "what allowed it has changed"; /* a rule or a denial is new, or a rule is gone */

static void lease_cut(struct gate_lease *lease, const char *why) {
	lease->why = why;
	gate_add_broken(lease->gate, lease->target, "was cut: what allowed it has ended or changed");
	lease->cut(lease->argument);
}

size_t leases_cut(struct gate *gate, bool all, const int64_t *grants, size_t count) {
	size_t cut = 0;
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* a cut ends its own lease and no other */
		if (!all && !grants_contain(grants, count, lease->right.grant)) continue;
		cut++;
		lease_cut(lease, all ? "the sandbox has ended" : "the grant has ended");
	}
	return cut;
}

bool leases_lead_to(const struct gate *gate, const char *target) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		if (string_equal(lease->target, target)) return true;
	}
	return false;
}

void leases_mark(struct gate *gate) {
	struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		lease->right.due = true;
		lease->right.address_due = lease->address != NULL;
	}
}

const char *leases_due(const struct gate *gate) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		if (lease->right.due) return lease->target;
	}
	return NULL;
}

const char *leases_due_address(const struct gate *gate) {
	const struct gate_lease *lease;

	TAILQ_FOREACH(lease, &gate->leases, entry) {
		if (lease->right.address_due) return lease->address;
	}
	return NULL;
}

void leases_judge_address(struct gate *gate, const char *address, const struct verdict *verdict) {
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* as above */
		if (!lease->right.address_due || !string_equal(lease->address, address)) continue;
		lease->right.address_due = false;
		if (verdict->effect != EFFECT_ALLOW) lease_cut(lease, changed);
	}
}

/* One that holds may rest on something else from now on. */
static void right_renew(struct right *right, const struct verdict *verdict) {
	right->due = false;
	if (verdict->effect != EFFECT_ALLOW) return;
	right->grant = verdict->grant;
	right->once = false;
}

void leases_judge(struct gate *gate, const char *target, const struct verdict *verdict) {
	struct gate_lease *next;

	for (struct gate_lease *lease = TAILQ_FIRST(&gate->leases); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry); /* as above */
		if (!lease->right.due || !string_equal(lease->target, target)) continue;
		if (right_holds(&lease->right, verdict))
			right_renew(&lease->right, verdict);
		else
			lease_cut(lease, changed);
	}
}
