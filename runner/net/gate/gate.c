/*
 * Theory of operation. A call goes through asking → dialling (dial.h) → its end, never back; each stage holds at most
 * one thing under way (`ticket`, `hearing`, `dial`), which call_free cancels. One that is heard is foreseen before
 * that: the judge says what it would say, and where that is a question its first bytes are waited for. What decides is
 * the verdict: a denial ends there, before any name is looked up (attack N5). An answer that comes while gate_open
 * still runs is kept and acted on from the loop (`step`). Asking has no deadline of its own, since the broker's prompt
 * has.
 */
#include "gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "dial.h"
#include "hearing.h"

struct gate_call {
	TAILQ_ENTRY(gate_call) entry;
	struct gate *gate;
	struct host host;
	uint16_t port;
	int type; /* SOCK_STREAM, SOCK_DGRAM */
	char *target;
	struct event *step;
	bool asking; /* the judge, with `ticket` */
	bool judged;
	uint64_t ticket;
	struct verdict verdict;
	bool due; /* is to be judged again */
	struct hearing *hearing;
	bool is_loopback6; /* asked for ::1, and looked at as localhost */
	int near;          /* of a call that is heard: the tool's end; borrowed */
	char *process;
	struct strings parents;
	struct dial *dial;
	gate_done *done;
	void *argument;
};

/* One that is not in the gate's list any more. */
static void call_release(struct gate_call *call) {
	const struct gate_judge *judge = &call->gate->judge;

	if (call->asking && judge->cancel) judge->cancel(judge->context, call->ticket);
	if (call->hearing) hearing_cancel(call->hearing);
	if (call->dial) dial_cancel(call->dial);
	event_free(call->step);
	verdict_finish(&call->verdict);
	strings_finish(&call->parents);
	free(call->process);
	free(call->target);
	free(call);
}

static void call_free(struct gate_call *call) {
	TAILQ_REMOVE(&call->gate->calls, call, entry);
	call_release(call);
}

/* Takes the call out of the gate's hands before `done`, which may do anything to the gate's other calls. */
static void call_finish(struct gate_call *call, struct gate_result result) {
	gate_done *done = call->done;
	void *argument = call->argument;
	struct verdict verdict = call->verdict;
	char *target = STEAL(call->target);

	call->verdict = (struct verdict){0};
	if (result.outcome == GATE_DENIED) denied_add(&call->gate->denied, target, &verdict);
	result.verdict = &verdict;
	result.target = target;
	call_free(call);
	done(argument, &result);
	verdict_finish(&verdict);
	free(target);
}

static void call_deny(struct gate_call *call) {
	call_finish(call, (struct gate_result){.outcome = GATE_DENIED,
					       .fd = -1,
					       .code = EACCES,
					       .message = call->verdict.why ? call->verdict.why : "denied"});
}

static void call_fail(struct gate_call *call, int code, const char *message) {
	call_finish(call, (struct gate_result){.outcome = GATE_FAILED, .fd = -1, .code = code, .message = message});
}

/* An allow that is taken back here: by another reason than a rule or a user, or by what denies the address that its
 * name leads to (`denial`). Takes `why` over. */
static void call_overrule(struct gate_call *call, const char *module, char *why, const struct verdict *denial) {
	const struct gate_judge *judge = &call->gate->judge;
	const int64_t grant = denial ? denial->grant : 0;
	char *rule = string_copy_or_null(denial ? denial->rule : NULL);

	if (judge->refuse) judge->refuse(judge->context, call->target, call->verdict.grant, why);
	verdict_finish(&call->verdict);
	call->verdict = (struct verdict){.effect = EFFECT_DENY, .why = why, .rule = rule, .grant = grant};
	snprintf(call->verdict.module, sizeof call->verdict.module, "%s", module);
	call_deny(call);
}

static void gate_complain(struct gate *gate, const char *sentence) {
	enum { COMPLAINTS_MAX = 8 };
	const struct gate_judge *judge = &gate->judge;

	if (!judge->complain || string_equal(sentence, gate->complaint) || gate->complaints == COMPLAINTS_MAX) return;
	free(gate->complaint);
	gate->complaint = string_copy(sentence);
	gate->complaints++;
	judge->complain(judge->context, sentence);
}

static void call_dialled(void *argument, const struct dial_result *result) {
	struct gate_call *call = argument;

	call->dial = NULL;
	if (result->by_upstream) gate_complain(call->gate, result->message);
	if (result->fd >= 0)
		call_finish(call, (struct gate_result){.outcome = GATE_CONNECTED,
						       .fd = result->fd,
						       .address = result->address,
						       .message = result->message});
	else if (result->refused)
		call_overrule(call, result->denial ? result->denial->module : "private", string_copy(result->message),
			      result->denial);
	else
		call_fail(call, result->code, result->message);
}

static void call_step(evutil_socket_t fd, short what, void *argument) {
	struct gate_call *call = argument;

	(void)fd, (void)what;
	const struct dial_wish wish = {.host = &call->host,
				       .port = call->port,
				       .type = call->type,
				       .private_allowed = call->verdict.private_allowed,
				       .ipv4_only = call->verdict.ipv4_only};

	if (call->verdict.effect == EFFECT_ALLOW)
		call->dial = dial_start(call->gate, &wish, call_dialled, call);
	else
		call_deny(call);
}

static void call_judged(void *argument, const struct verdict *verdict) {
	struct gate_call *call = argument;

	call->asking = false;
	call->judged = true;
	if (verdict) call->verdict = verdict_copy(verdict); /* else it stays zero, which denies */
	event_active(call->step, EV_TIMEOUT, 0);
}

static void call_ask(struct gate_call *call, const struct gate_caller *caller) {
	static const struct gate_caller nobody;
	const struct gate_judge *judge = &call->gate->judge;

	call->asking = true;
	call->ticket = judge->check(judge->context, call->target, caller ? caller : &nobody, call_judged, call);
}

/* Takes the call over, which says what to open. Nobody is asked yet. */
static struct gate_call *call_start(struct gate_call *call) {
	struct gate *gate = call->gate;

	call->target = host_port_format(&call->host, call->port);
	call->step = event_new(gate->base, -1, 0, call_step, call);
	if (!call->step) mem_exhausted();
	TAILQ_INSERT_TAIL(&gate->calls, call, entry);
	return call;
}

struct gate_call *gate_open(struct gate *gate, const struct host *host, uint16_t port, const struct gate_caller *caller,
			    gate_done *done, void *argument) {
	struct gate_call *call = mem_new(struct gate_call);

	*call = (struct gate_call){
		.gate = gate, .host = *host, .port = port, .type = SOCK_STREAM, .done = done, .argument = argument};
	call_ask(call_start(call), caller);
	return call;
}

struct gate_call *gate_open_datagrams(struct gate *gate, const struct host *host, uint16_t port,
				      const struct gate_caller *caller, gate_done *done, void *argument) {
	struct gate_call *call = mem_new(struct gate_call);

	*call = (struct gate_call){
		.gate = gate, .host = *host, .port = port, .type = SOCK_DGRAM, .done = done, .argument = argument};
	call_ask(call_start(call), caller);
	return call;
}

static void call_heard(void *argument, const char *says) {
	struct gate_call *call = argument;
	const struct gate_caller caller = {.process = call->process, .parents = &call->parents, .says = says};

	call->hearing = NULL;
	call_ask(call, &caller);
}

static void call_foreseen(void *argument, const struct verdict *verdict);

/* Would somebody be asked? */
static void call_foresee(struct gate_call *call) {
	const struct gate_judge *judge = &call->gate->judge;

	call->asking = true;
	const uint64_t ticket = judge->check_again(judge->context, call->target, call_foreseen, call);
	if (ticket > 0) call->ticket = ticket; /* else it is answered, and maybe asks already */
}

static void call_rename(struct gate_call *call, const char *name) {
	if (host_parse(name, strlen(name), &call->host, NULL) < 0) return;
	free(call->target);
	call->target = host_port_format(&call->host, call->port);
}

/*
 * Then the question can wait for a moment. Who connects to localhost tries ::1 first: where localhost would be asked
 * about as well the question is about that, not about each of its addresses.
 */
static void call_foreseen(void *argument, const struct verdict *verdict) {
	struct gate_call *call = argument;
	const bool asks = verdict && verdict->effect == EFFECT_DENY && string_equal(verdict->module, "ask");

	call->asking = false;
	if (asks && !call->is_loopback6 && string_equal(call->host.name, "::1")) {
		call->is_loopback6 = true;
		call_rename(call, "localhost");
		call_foresee(call);
		return;
	}
	if (call->is_loopback6 && !asks) call_rename(call, "::1");
	if (asks || call->is_loopback6)
		call->hearing = hearing_start(call->gate->base, call->near, &call->host, call_heard, call);
	else
		call_heard(call, NULL);
}

struct gate_call *gate_open_heard(struct gate *gate, const struct host *host, uint16_t port,
				  const struct gate_caller *caller, int near, gate_done *done, void *argument) {
	struct gate_call *call = mem_new(struct gate_call);

	*call = (struct gate_call){.gate = gate,
				   .host = *host,
				   .port = port,
				   .type = SOCK_STREAM,
				   .near = near,
				   .process = string_copy_or_null(caller->process),
				   .done = done,
				   .argument = argument};
	if (caller->parents)
		for (size_t i = 0; i < caller->parents->count; i++)
			strings_add(&call->parents, caller->parents->items[i]);
	call_start(call);
	if (leases_lead_to(gate, call->target)) {
		call_heard(call, NULL);
		return call;
	}
	call_foresee(call);
	return call;
}

void gate_cancel(struct gate_call *call) {
	call_free(call);
}

/*
 * splice(2) and writev(2) to a socket whose peer is gone raise SIGPIPE. A handler, unlike ignoring it, is undone by
 * execve(2), so that the tool starts with the signal's default.
 */
static void on_pipe_signal(int number) {
	(void)number;
}

static void pipe_signal_catch(void) {
	struct sigaction action;

	if (sigaction(SIGPIPE, NULL, &action) < 0 || action.sa_handler != SIG_DFL) return;
	action = (struct sigaction){.sa_handler = on_pipe_signal, .sa_flags = SA_RESTART};
	sigaction(SIGPIPE, &action, NULL);
}

struct gate *gate_new(struct event_base *base, const struct gate_judge *judge) {
	struct gate *gate = mem_new(struct gate);

	*gate = (struct gate){.base = base, .judge = *judge, .resolver = resolver_new(base, lookup_system())};
	TAILQ_INIT(&gate->calls);
	TAILQ_INIT(&gate->leases);
	review_start(gate);
	pipe_signal_catch();
	return gate;
}

void gate_free(struct gate *gate) {
	struct gate_call *call;

	if (!gate) return;
	leases_cut(gate, true, NULL, 0);
	while ((call = TAILQ_FIRST(&gate->calls))) {
		TAILQ_REMOVE(&gate->calls, call, entry);
		call_release(call);
	}
	review_finish(gate);
	resolver_free(gate->resolver);
	denied_finish(&gate->denied);
	denied_finish(&gate->broken);
	upstream_finish(&gate->upstream);
	free(gate->complaint);
	free(gate->hosts);
	free(gate);
}

void gate_set_lookup(struct gate *gate, const struct lookup *lookup) {
	resolver_free(gate->resolver);
	gate->resolver = resolver_new(gate->base, lookup);
}

static bool gate_host_parse(const struct view_pair *pair, struct gate_host *ret_host) {
	struct host name, value;
	struct addresses addresses = {0};
	struct in6_addr address;

	if (host_parse(pair->name, strlen(pair->name), &name, NULL) < 0) return false;
	if (host_parse(pair->value, strlen(pair->value), &value, NULL) < 0 || value.class == HOST_NAME) return false;
	if (inet_pton(AF_INET, pair->value, &address) == 1)
		addresses_add_ipv4(&addresses, (const uint8_t *)&address);
	else if (inet_pton(AF_INET6, pair->value, &address) == 1)
		addresses_add_ipv6(&addresses, address.s6_addr);
	else
		return false;
	memcpy(ret_host->name, name.name, sizeof name.name);
	ret_host->address = addresses.items[0];
	return true;
}

void gate_set_hosts(struct gate *gate, const struct view_pair *hosts, size_t count) {
	free(gate->hosts);
	gate->hosts = count ? mem_array(struct gate_host, count) : NULL;
	gate->host_count = 0;
	/* The broker has checked them; one that is none leaves its name to the resolver, whose answers are checked. */
	for (size_t i = 0; i < count; i++)
		if (gate_host_parse(&hosts[i], &gate->hosts[gate->host_count])) gate->host_count++;
}

void gate_set_upstream(struct gate *gate, const char *upstream) {
	struct error error = ERROR_NONE;

	upstream_finish(&gate->upstream);
	/* The broker has checked it. */
	if (upstream && upstream_parse(upstream, &gate->upstream, &error) < 0)
		log_warning("the policy's `upstream` is not used: %s", error.message);
}

static bool call_is_allowed(const struct gate_call *call) {
	return call->judged && call->verdict.effect == EFFECT_ALLOW;
}

/* Takes an allow back, and the verdict over. The requester is told from the loop, as always. */
static void call_stop(struct gate_call *call, struct verdict verdict) {
	if (call->dial) dial_cancel(STEAL(call->dial));
	verdict_finish(&call->verdict);
	call->verdict = verdict;
	event_active(call->step, EV_TIMEOUT, 0);
}

size_t gate_cut(struct gate *gate, const int64_t *grants, size_t count) {
	denied_release(&gate->denied, grants, count);
	size_t cut = leases_cut(gate, false, grants, count);
	struct gate_call *call;

	/* A call on its way rests on its grant too. */
	TAILQ_FOREACH(call, &gate->calls, entry) {
		if (!call_is_allowed(call) || !grants_contain(grants, count, call->verdict.grant)) continue;
		call_stop(call, (struct verdict){.module = "grants", .why = string_copy("the grant has ended")});
		cut++;
	}
	return cut;
}

void calls_mark(struct gate *gate) {
	struct gate_call *call;

	TAILQ_FOREACH(call, &gate->calls, entry) {
		call->due = call_is_allowed(call);
		if (call->dial) dial_doubt(call->dial);
	}
}

const char *calls_due(const struct gate *gate) {
	const struct gate_call *call;

	TAILQ_FOREACH(call, &gate->calls, entry) {
		if (call->due) return call->target;
	}
	return NULL;
}

/* One that holds may rest on something else from now on, or be `direct` no more. */
static void call_renew(struct gate_call *call, const struct verdict *verdict) {
	if (!verdict_lasts(verdict)) return;
	verdict_finish(&call->verdict);
	call->verdict = verdict_copy(verdict);
}

/* What a call is denied by whose right the verdict doesn't hold. */
static struct verdict denial_by(const struct verdict *verdict) {
	if (verdict_lasts(verdict))
		return (struct verdict){.module = "private",
					.why = string_copy("what allows it no longer says `private: true`")};
	if (verdict->effect == EFFECT_ALLOW)
		return (struct verdict){.module = "grants", .why = string_copy("what allowed it has ended")};
	return verdict_copy(verdict);
}

void calls_judge(struct gate *gate, const char *target, const struct verdict *verdict) {
	struct gate_call *call;

	TAILQ_FOREACH(call, &gate->calls, entry) {
		struct right right = right_of(&call->verdict);

		if (!call->due || !string_equal(call->target, target)) continue;
		call->due = false;
		if (right_holds(&right, verdict))
			call_renew(call, verdict);
		else
			call_stop(call, denial_by(verdict));
	}
}

void gate_add_denied(struct gate *gate, const char *target, const struct verdict *verdict) {
	if (!denied_has(&gate->denied, target)) denied_add(&gate->denied, target, verdict);
}

void gate_each_denied(const struct gate *gate, void (*each)(void *argument, const struct denied_target *item),
		      void *argument) {
	for (size_t i = 0; i < gate->denied.count; i++) each(argument, &gate->denied.items[i]);
}

void gate_add_broken(struct gate *gate, const char *target, const char *how) {
	const struct verdict verdict = {.why = (char *)how}; /* borrowed */

	denied_add(&gate->broken, target, &verdict);
}

void gate_each_broken(const struct gate *gate,
		      void (*each)(void *argument, const char *target, unsigned count, const char *how),
		      void *argument) {
	for (size_t i = 0; i < gate->broken.count; i++) {
		const struct denied_target *item = &gate->broken.items[i];

		each(argument, item->target, item->count, item->verdict.why);
	}
}
