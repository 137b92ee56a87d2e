/*
 * Theory of operation. gate_review marks everything live as due and wakes `step`, which has one target judged at a
 * time: the answer goes to all connections to that target and wakes `step` again, until nothing is due. A review that
 * begins meanwhile drops the question under way, whose answer may be of before. When there is no judge what is due
 * stays so.
 */
#include "base/memory.h"
#include "base/string.h"
#include "gate.h"
#include "gate_private.h"

struct right right_of(const struct verdict *verdict) {
	return (struct right){.grant = verdict->grant,
			      .once = verdict->once,
			      .private_allowed = verdict->private_allowed,
			      .ipv4_only = verdict->ipv4_only};
}

/* What led to a private address, or maybe to ::1, must still be allowed to, and so must a socket of the host's in the
 * sandbox. An unused grant for one use is for another connection: without it somebody would be asked. */
bool right_holds(const struct right *right, const struct verdict *now) {
	if (verdict_lasts(now))
		return (now->private_allowed || !right->private_allowed) && (now->direct || !right->direct) &&
		       (!now->ipv4_only || right->ipv4_only);
	return right->once && (now->effect == EFFECT_ALLOW || string_equal(now->module, "ask"));
}

bool verdict_lasts(const struct verdict *verdict) {
	return verdict->effect == EFFECT_ALLOW && !verdict->once;
}

static void review_judged(void *argument, const struct verdict *verdict) {
	struct gate *gate = argument;
	CLEANUP_FREE char *target = STEAL(gate->review.target);

	if (!verdict) return;
	if (gate->review.of_address) {
		leases_judge_address(gate, target, verdict);
	} else {
		calls_judge(gate, target, verdict);
		leases_judge(gate, target, verdict);
	}
	event_active(gate->review.step, EV_TIMEOUT, 0);
}

static void review_step(evutil_socket_t fd, short what, void *argument) {
	struct gate *gate = argument;
	struct review *review = &gate->review;
	const struct gate_judge *judge = &gate->judge;
	const char *due = leases_due(gate);
	uint64_t ticket;

	(void)fd, (void)what;
	if (!due) due = calls_due(gate);
	review->of_address = review->target ? review->of_address : !due;
	if (!due) due = leases_due_address(gate);
	if (!due || review->target) return;
	review->target = string_copy(due);
	ticket = (review->of_address ? judge->check_address : judge->check_again)(judge->context, review->target,
										  review_judged, gate);
	if (review->target) review->ticket = ticket; /* else it is answered */
}

static void review_drop(struct gate *gate) {
	const struct gate_judge *judge = &gate->judge;

	if (!gate->review.target) return;
	free(STEAL(gate->review.target));
	if (judge->cancel) judge->cancel(judge->context, gate->review.ticket);
}

void gate_review(struct gate *gate) {
	review_drop(gate);
	calls_mark(gate);
	leases_mark(gate);
	event_active(gate->review.step, EV_TIMEOUT, 0);
}

bool gate_is_reviewed(const struct gate *gate) {
	return !gate->review.target && !leases_due(gate) && !calls_due(gate) && !leases_due_address(gate);
}

void review_start(struct gate *gate) {
	gate->review.step = event_new(gate->base, -1, 0, review_step, gate);
	if (!gate->review.step) mem_exhausted();
}

void review_finish(struct gate *gate) {
	review_drop(gate);
	event_free(gate->review.step);
}
