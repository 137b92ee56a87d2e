/*
 * Theory of operation. The first datagram of a source opens the gate and waits, with some more of its kind, for the
 * answer; then a socket of the host's, connected to what was allowed, stands for that source. What the host's kernel
 * learns of a closed port comes back as an error of that socket, and is a refusal, too.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "flows_private.h"

static void flow_set_stage(struct flow *flow, enum flow_stage stage) {
	struct flows *flows = flow->listener->flows;

	if (flow->stage == FLOW_ASKING) flows->asking--;
	if (stage == FLOW_ASKING) flows->asking++;
	flow->stage = stage;
	flow->used_ms = flows_now();
}

static void flow_touch(struct flow *flow) {
	struct flows *flows = flow->listener->flows;

	flow->used_ms = flows_now();
	TAILQ_REMOVE(&flows->all, flow, entry);
	TAILQ_INSERT_HEAD(&flows->all, flow, entry);
	TAILQ_REMOVE(&flow->listener->sources, flow, near);
	TAILQ_INSERT_HEAD(&flow->listener->sources, flow, near);
	listener_touch(flow->listener);
}

static void flow_drop_waiting(struct flow *flow) {
	for (size_t i = 0; i < flow->waiting_count; i++) free(flow->waiting[i].bytes);
	flow->waiting_count = flow->waiting_bytes = 0;
}

static void flow_close(struct flow *flow, const char *error) {
	if (flow->call) gate_cancel(STEAL(flow->call));
	if (flow->lease) gate_lease_end(STEAL(flow->lease), flow->sent, flow->received, error);
	if (flow->readable) event_free(STEAL(flow->readable));
	fd_close(fd_steal(&flow->fd));
	flow_drop_waiting(flow);
	flow->sent = flow->received = 0;
}

void flow_release(struct flow *flow, const char *error) {
	struct flows *flows = flow->listener->flows;

	flow_close(flow, error);
	if (flow->stage == FLOW_ASKING) flows->asking--;
	flows->flow_count--;
	TAILQ_REMOVE(&flows->all, flow, entry);
	free(flow);
}

void flow_free(struct flow *flow, const char *error) {
	TAILQ_REMOVE(&flow->listener->sources, flow, near);
	flow_release(flow, error);
}

/* Nothing more goes that way. True: the listener is there still, for others. */
static bool flow_refuse(struct flow *flow, const char *error) {
	struct listener *listener = flow->listener;
	const struct flow *other;

	flow_close(flow, error);
	flow_set_stage(flow, FLOW_REFUSED);
	TAILQ_FOREACH(other, &listener->sources, near) {
		if (other->stage != FLOW_REFUSED) return true;
	}
	listener_free(listener, NULL);
	return false;
}

/* What the host's socket doesn't take is lost; that an earlier one met a closed port is told by the next call on it. */
static bool flow_send(struct flow *flow, const void *bytes, size_t size) {
	ssize_t n = send(flow->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ECONNREFUSED) return flow_refuse(flow, strerror(ECONNREFUSED));
	if (n > 0) flow->sent += (size_t)n;
	return true;
}

static void flow_readable(evutil_socket_t fd, short what, void *argument) {
	struct flow *flow = argument;
	struct listener *listener = flow->listener;
	uint8_t *buffer = listener->flows->buffer;

	(void)what;
	for (int i = 0; i < FLOW_TURN; i++) {
		ssize_t n = recv(fd, buffer, DATAGRAM_MAX, MSG_DONTWAIT);

		if (n < 0) {
			if (errno == ECONNREFUSED) flow_refuse(flow, strerror(ECONNREFUSED));
			return;
		}
		flow_touch(flow);
		n = sendto(listener->fd, buffer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL, &flow->source.any,
			   flow->source.size);
		if (n > 0) flow->received += (size_t)n;
	}
}

static void flow_cut(void *argument) {
	flow_refuse(argument, "the grant has ended");
}

static void flow_open(struct flow *flow, const struct gate_result *result) {
	const struct flows_options *options = &flow->listener->flows->options;

	flow_set_stage(flow, FLOW_OPEN);
	flow->fd = result->fd;
	flow->lease = gate_lease_new(options->gate, result, "udp", flow_cut, flow);
	flow->readable = event_new(options->base, flow->fd, EV_READ | EV_PERSIST, flow_readable, flow);
	if (!flow->readable || event_add(flow->readable, NULL) < 0) mem_exhausted();
	for (size_t i = 0; i < flow->waiting_count; i++)
		if (!flow_send(flow, flow->waiting[i].bytes, flow->waiting[i].size)) return;
	flow_drop_waiting(flow);
}

static void flow_answered(void *argument, const struct gate_result *result) {
	struct flow *flow = argument;

	flow->call = NULL;
	if (result->outcome == GATE_CONNECTED)
		flow_open(flow, result);
	else
		flow_refuse(flow, NULL);
}

static void flow_ask(struct flow *flow) {
	const struct listener *listener = flow->listener;
	const struct gate_caller caller = {.process = listener->process, .parents = &listener->parents};

	flow_set_stage(flow, FLOW_ASKING);
	flow->call = gate_open_datagrams(listener->flows->options.gate, &listener->host, listener->port, &caller,
					 flow_answered, flow);
}

static void flow_wait(struct flow *flow, const void *bytes, size_t size) {
	if (flow->waiting_count == LIMIT_FLOW_WAITING || flow->waiting_bytes + size > LIMIT_FLOW_BYTES) return;
	flow->waiting[flow->waiting_count++] = (struct datagram){mem_copy(bytes, size ? size : 1), size};
	flow->waiting_bytes += size;
}

static struct flow *flow_find(const struct listener *listener, const struct address *source) {
	struct flow *flow;

	TAILQ_FOREACH(flow, &listener->sources, near) {
		if (address_equal(&flow->source, source)) return flow;
	}
	return NULL;
}

static struct flow *flow_new(struct listener *listener, const struct address *source) {
	struct flows *flows = listener->flows;
	struct flow *flow = mem_new(struct flow);

	if (flows->flow_count == LIMIT_FLOWS)
		flow_free(TAILQ_LAST(&flows->all, flow_list), "other datagrams needed its place");
	*flow = (struct flow){.listener = listener, .source = *source, .stage = FLOW_REFUSED, .fd = -1};
	TAILQ_INSERT_HEAD(&flows->all, flow, entry);
	TAILQ_INSERT_HEAD(&listener->sources, flow, near);
	flows->flow_count++;
	return flow;
}

bool flow_take(struct listener *listener, const struct address *source, const void *bytes, size_t size) {
	struct flow *flow = flow_find(listener, source);

	if (!flow || (flow->stage == FLOW_REFUSED && flows_now() - flow->used_ms >= LIMIT_FLOW_REFUSED_MS)) {
		if (listener->flows->asking == LIMIT_FLOWS_ASKING) return true;
		if (!flow) flow = flow_new(listener, source);
		flow_ask(flow);
	}
	if (flow->stage == FLOW_REFUSED) return true;
	flow_touch(flow);
	if (flow->stage == FLOW_OPEN) return flow_send(flow, bytes, size);
	flow_wait(flow, bytes, size);
	return true;
}
