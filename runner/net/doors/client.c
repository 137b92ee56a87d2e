#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "net/streams/socket_abort.h"

/* Who connected to the Unix socket, for the prompt; a loopback connection doesn't tell. */
static char *peer_process(int fd) {
	struct ucred peer;
	socklen_t size = sizeof peer;
	char path[64];
	CLEANUP_FREE char *name = NULL;
	int family = 0;
	socklen_t family_size = sizeof family;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size) < 0 || family != AF_UNIX) return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0) return NULL;
	snprintf(path, sizeof path, "/proc/%d/comm", peer.pid);
	if (file_read(path, 64, &name, NULL, NULL) < 0) return NULL;
	name[strcspn(name, "\n")] = '\0';
	return string_format("%s (%d)", name, peer.pid);
}

/* Told by the first byte (design section 7): SOCKS versions are 4 and 5, HTTP methods are letters. */
static const struct door *door_for(unsigned char first) {
	return first == 4 || first == 5 ? &DOOR_SOCKS : &DOOR_HTTP;
}

static void client_wake(void *argument) {
	struct client *client = argument;
	unsigned char first;

	if (client->ended) return;
	if (!client->door) {
		if (!stream_fill(&client->stream, 1) || (stream_unread(&client->stream) == 0 && client->stream.ended)) {
			client_end(client);
			return;
		}
		if (evbuffer_copyout(client->stream.in, &first, 1) < 1) return;
		client->door = door_for(first);
		client->state = client->door->begin(client);
	}
	client->door->run(client);
}

/* Some milliseconds' precision will do, and it costs no system call. */
static int64_t coarse_ms(void) {
	return clock_ms(CLOCK_MONOTONIC_COARSE);
}

static void client_arm(struct client *client, int64_t ms) {
	const struct timeval after = clock_timeval(ms);

	event_add(client->deadline, &after);
	client->armed_ms = coarse_ms() + ms;
}

/* Phases change with every request, so the timer is not moved each time: it is put off when it fires too early. */
static void client_timed_out(evutil_socket_t fd, short what, void *argument) {
	struct client *client = argument;
	int64_t left = client->due_ms - coarse_ms();

	(void)fd, (void)what;
	client->armed_ms = 0;
	if (client->due_ms == 0) return;
	if (left > 0)
		client_arm(client, left);
	else
		client_end(client);
}

void client_set_phase(struct client *client, enum client_phase phase) {
	const struct proxy_limits *limits = &client->proxy->limits;
	const int milliseconds[CLIENT_PHASES] = {[CLIENT_OPENING] = limits->handshake_ms,
						 [CLIENT_IDLE] = limits->idle_ms,
						 [CLIENT_LEAVING] = limits->leaving_ms,
						 [CLIENT_CLOSING] = limits->closing_ms};
	int ms = milliseconds[phase];

	client->phase = phase;
	client->due_ms = ms ? coarse_ms() + ms : 0;
	if (ms && (client->armed_ms == 0 || client->due_ms < client->armed_ms)) client_arm(client, ms);
}

void client_new(struct proxy *proxy, int fd) {
	struct client *client = mem_new(struct client);

	*client = (struct client){.proxy = proxy};
	stream_open(&client->stream, proxy->base, fd, client_wake, client);
	if (!(client->deadline = evtimer_new(proxy->base, client_timed_out, client))) mem_exhausted();
	TAILQ_INSERT_TAIL(&proxy->clients, client, entry);
	proxy->client_count++;
	client_set_phase(client, CLIENT_OPENING);
}

static void client_leave_door(struct client *client) {
	if (client->state) client->door->finish(STEAL(client->state));
}

static void client_close(struct client *client, bool in_order) {
	struct proxy *proxy = client->proxy;

	if (client->ended) return;
	client->ended = true;
	if (client->call) gate_cancel(STEAL(client->call));
	tunnel_free(STEAL(client->tunnel));
	client_leave_door(client);
	if (in_order)
		stream_close(&client->stream);
	else
		stream_abort(&client->stream);
	event_free(client->deadline);
	TAILQ_REMOVE(&proxy->clients, client, entry);
	TAILQ_INSERT_TAIL(&proxy->ended, client, entry);
	proxy->client_count--;
	event_active(proxy->reaper, EV_TIMEOUT, 0);
}

void client_end(struct client *client) {
	client_close(client, true);
}

void client_abort(struct client *client) {
	client_close(client, false);
}

static void client_tunnel_ended(void *argument) {
	client_close(argument, false);
}

static void client_answered(void *argument, const struct gate_result *result) {
	struct client *client = argument;

	client->call = NULL;
	client_set_phase(client, CLIENT_BUSY);
	client->answered(client, result);
}

void client_open_gate(struct client *client, const struct host *host, uint16_t port,
		      void (*answered)(struct client *client, const struct gate_result *result)) {
	if (!client->process) client->process = peer_process(client->stream.fd);
	client_set_phase(client, CLIENT_BUSY);
	client->answered = answered;
	client->host = *host;
	client->port = port;
	const struct gate_caller caller = {.process = client->process};
	client->call = gate_open(client->proxy->gate, host, port, &caller, client_answered, client);
	if (client->stream.hung_up) client_set_phase(client, CLIENT_LEAVING);
}

void client_watch_held(struct client *client) {
	if (stream_is_reset(&client->stream))
		client_end(client);
	else if (client->stream.hung_up && client->phase != CLIENT_LEAVING)
		client_set_phase(client, CLIENT_LEAVING);
}

void client_tunnel(struct client *client, int far, struct gate_lease *lease, bool heard) {
	(void)stream_flush(&client->stream); /* a failure shows in the relay, too */
	struct tunnel_options options = {
		.base = client->proxy->base,
		.gate = client->proxy->gate,
		.pipes = &client->proxy->pipes,
		.ends = {.far = far, .near_pending = client->stream.in, .far_pending = client->stream.out},
		.lease = lease,
		.host = heard ? &client->host : NULL,
		.port = client->port,
		.ended = client_tunnel_ended,
		.argument = client};

	client_leave_door(client);
	client_set_phase(client, CLIENT_BUSY);
	options.ends.near = stream_detach(&client->stream);
	client->tunnel = tunnel_new(&options);
}

void client_free(struct client *client) {
	free(client->process);
	free(client);
}
