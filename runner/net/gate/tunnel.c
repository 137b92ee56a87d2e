/*
 * Theory of operation. The relay tells what the tool says first, piece by piece, and passes each piece on as long as it
 * is no whole hello (hello.h): no server can answer half of one, so nothing ever waits for its second half. Of a hello
 * that asks for another host the last piece stays here while the judge is asked whether that host is allowed, too, as
 * for a connection to it; when it is, the lease rests on both hosts' rights, and when it isn't, the server has half a
 * hello, and then a reset.
 */
#include "tunnel.h"

#include <string.h>

#include "base/memory.h"
#include "gate_private.h"
#include "net/parse/hello.h"

enum tunnel_stage { TUNNEL_HEARS, TUNNEL_ASKS, TUNNEL_REFUSED, TUNNEL_OPEN, TUNNEL_ENDED };

struct tunnel {
	struct gate *gate;
	struct gate_lease *lease;
	struct relay *relay;
	struct host host;
	uint16_t port;
	enum tunnel_stage stage;
	bool heard;        /* is told right now */
	char *says;        /* the other host, with the port */
	uint64_t ticket;   /* TUNNEL_ASKS */
	char *why;         /* TUNNEL_REFUSED */
	struct event *end; /* a refusal, from the loop */
	void (*ended)(void *argument);
	void *argument;
};

static void tunnel_forget_question(struct tunnel *tunnel) {
	const struct gate_judge *judge = &tunnel->gate->judge;

	if (tunnel->stage == TUNNEL_ASKS && judge->cancel) judge->cancel(judge->context, tunnel->ticket);
}

/* Its ends are closed: in order when they have ended so, else with resets. */
static void tunnel_close(struct tunnel *tunnel, const char *error) {
	if (tunnel->stage == TUNNEL_ENDED) return;
	tunnel_forget_question(tunnel);
	tunnel->stage = TUNNEL_ENDED;
	event_del(tunnel->end);
	gate_lease_end(STEAL(tunnel->lease), relay_sent(tunnel->relay), relay_received(tunnel->relay), error);
	relay_free(STEAL(tunnel->relay));
}

static void tunnel_finish(struct tunnel *tunnel, const char *error) {
	tunnel_close(tunnel, error);
	tunnel->ended(tunnel->argument);
}

static void tunnel_cut(void *argument) {
	tunnel_finish(argument, "the grant has ended");
}

static void tunnel_done(void *argument, int code) {
	tunnel_finish(argument, code ? strerror(code) : NULL);
}

static void tunnel_end(evutil_socket_t fd, short what, void *argument) {
	struct tunnel *tunnel = argument;

	(void)fd, (void)what;
	tunnel_finish(tunnel, tunnel->why);
}

/* From the loop: the relay may be telling what it heard right now. */
static void tunnel_refuse(struct tunnel *tunnel, char *why) {
	tunnel->stage = TUNNEL_REFUSED;
	tunnel->why = why;
	event_active(tunnel->end, EV_TIMEOUT, 0);
}

static void tunnel_refuse_ambiguous(struct tunnel *tunnel, const struct error *error) {
	CLEANUP_VERDICT struct verdict verdict = {.effect = EFFECT_DENY, .module = "hello"};

	verdict.why = string_format("it is not certain which host the first bytes ask for: %s", error->message);
	gate_lease_refuse(tunnel->lease, &verdict);
	tunnel_refuse(tunnel, string_copy(verdict.why));
}

/* What isn't allowed is the other host, so that is what is listed, and what a grant would have to name. The broker has
 * recorded it. */
static void tunnel_refuse_other(struct tunnel *tunnel, const struct verdict *judged) {
	CLEANUP_VERDICT struct verdict verdict = verdict_copy(judged);
	CLEANUP_FREE char *reason = STEAL(verdict.why);

	verdict.why = string_format("a connection to %s asks for it by its first bytes, and %s",
				    gate_lease_target(tunnel->lease), reason ? reason : "nothing allows it");
	denied_add(&tunnel->gate->denied, tunnel->says, &verdict);
	tunnel_refuse(tunnel, string_format("its first bytes ask for %s, which is not allowed", tunnel->says));
}

static void tunnel_judged(void *argument, const struct verdict *verdict) {
	struct tunnel *tunnel = argument;

	if (verdict->effect != EFFECT_ALLOW) {
		tunnel_refuse_other(tunnel, verdict);
		return;
	}
	gate_lease_join(tunnel->lease, tunnel->says, verdict);
	tunnel->stage = TUNNEL_OPEN;
	if (!tunnel->heard) relay_release(tunnel->relay);
}

static void tunnel_ask(struct tunnel *tunnel, const struct host *says) {
	const struct gate_judge *judge = &tunnel->gate->judge;

	tunnel->stage = TUNNEL_ASKS;
	tunnel->says = host_port_format(says, tunnel->port);
	tunnel->heard = true;
	tunnel->ticket = judge->check_unasked(judge->context, tunnel->says, tunnel_judged, tunnel);
	tunnel->heard = false;
}

static enum relay_order tunnel_heard(void *argument, const char *said, size_t size, bool ended) {
	struct tunnel *tunnel = argument;
	struct error error = ERROR_NONE;
	struct host says;

	switch ((ended ? hello_read_whole : hello_read)(said, size, &says, &error)) {
	case HELLO_MORE:
		return RELAY_MORE;
	case HELLO_NOTHING:
		return RELAY_PASS;
	case HELLO_AMBIGUOUS:
		tunnel_refuse_ambiguous(tunnel, &error);
		return RELAY_HOLD;
	case HELLO_NAME:
		if (host_equal(&says, &tunnel->host)) return RELAY_PASS;
		tunnel_ask(tunnel, &says);
		return tunnel->stage == TUNNEL_OPEN ? RELAY_PASS : RELAY_HOLD;
	}
	return RELAY_HOLD;
}

struct tunnel *tunnel_new(const struct tunnel_options *options) {
	struct tunnel *tunnel = mem_new(struct tunnel);
	struct relay_ends ends = options->ends;

	*tunnel = (struct tunnel){.gate = options->gate,
				  .lease = options->lease,
				  .port = options->port,
				  .stage = TUNNEL_OPEN,
				  .ended = options->ended,
				  .argument = options->argument};
	if (!(tunnel->end = event_new(options->base, -1, 0, tunnel_end, tunnel))) mem_exhausted();
	if (options->host && options->host->class == HOST_NAME) {
		tunnel->host = *options->host;
		tunnel->stage = TUNNEL_HEARS;
		ends.heard = tunnel_heard;
	}
	gate_lease_rebind(tunnel->lease, tunnel_cut, tunnel);
	tunnel->relay = relay_new(options->base, options->pipes, &ends, tunnel_done, tunnel);
	return tunnel;
}

void tunnel_free(struct tunnel *tunnel) {
	if (!tunnel) return;
	tunnel_close(tunnel, "the sandbox has ended");
	event_free(tunnel->end);
	free(tunnel->says);
	free(tunnel->why);
	free(tunnel);
}
