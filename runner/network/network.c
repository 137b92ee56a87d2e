/*
 * Theory of operation. Who needs whom:
 *
 *     socket_calls ─┬─ INET ──► connects ─┬─► native ─┬─► gate ──► the broker (session.h)
 *                   │                     └─► flows ──┤
 *                   └─ UNIX ──► ipc                   │
 *     proxy (its own listeners) ──────────────────────┘
 *     spares: sockets of the sandbox's network, from the portal, for all that listens inside
 *
 * What has to be there before the tool's first instruction is asked for in one go with the rest of the portal's work:
 * a loopback that takes every address, and one socket of each kind that a tool meets at once. The spares' other sockets
 * come while it runs, from its first call about a socket on.
 */
#include "network.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "calls/process.h"
#include "calls/socket_calls.h"
#include "net/dns/standins.h"
#include "net/dns/stub.h"
#include "net/doors/proxy.h"
#include "net/sockets/connects.h"
#include "net/sockets/diag.h"
#include "net/sockets/direct.h"
#include "net/sockets/flows.h"
#include "net/sockets/ipc.h"
#include "net/sockets/native.h"
#include "net/streams/spares.h"
#include "sandbox/bwrap.h"
#include "sandbox/environment.h"

/* Whose the portal's answer is. */
struct fetch {
	struct network *network;
	enum spare kind;
};

struct network {
	struct network_options options;
	struct fetch fetches[SPARE_COUNT];
	pid_t init;
	struct processes *processes;
	struct gate *gate;
	struct proxy *proxy;
	struct spares *spares;
	struct standins *standins;
	struct stub *stub;
	struct native *native;
	struct flows *flows;
	struct diag *inside, *outside;
	struct connects *connects;
	struct direct *direct;
	struct ipc *ipc;
	struct socket_calls *calls;
	bool warm;           /* spares for connections were asked for */
	struct error failed; /* in a callback while it is opened */
};

/* What the gate asks */

static uint64_t judge_check(void *context, const char *target, const struct gate_caller *caller,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	const struct session_wish wish = {.permission = "net:access",
					  .target = target,
					  .process = caller->process,
					  .parents = caller->parents,
					  .name = caller->says};
	return session_check(network->options.session, &wish, done, argument);
}

static uint64_t judge_check_unasked(void *context, const char *target,
				    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	const struct session_wish wish = {.permission = "net:access", .target = target, .unasked = true};
	return session_check(network->options.session, &wish, done, argument);
}

static uint64_t judge_check_again(void *context, const char *target,
				  void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	return session_check_again(network->options.session, "net:access", target, done, argument);
}

static uint64_t judge_check_address(void *context, const char *target,
				    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	return session_check_address(network->options.session, target, done, argument);
}

static void judge_cancel(void *context, uint64_t ticket) {
	struct network *network = context;
	session_cancel(network->options.session, ticket);
}

static json_t *json_bytes(uint64_t bytes) {
	return bytes == GATE_BYTES_UNKNOWN ? json_null() : json_integer((json_int_t)bytes);
}

static void judge_report(void *context, const char *target, int64_t grant, const char *door, uint64_t sent,
			 uint64_t received, int64_t duration_ms, const char *error) {
	struct network *network = context;
	json_t *detail = json_pack("{s:s, s:o, s:o, s:I, s:s*}", "door", door, "sent", json_bytes(sent), "received",
				   json_bytes(received), "duration_ms", (json_int_t)duration_ms, "error", error);
	session_event(network->options.session, "connection", "net:access", target, grant, NULL, detail);
}

static void judge_refuse(void *context, const char *target, int64_t grant, const char *why) {
	struct network *network = context;
	session_event(network->options.session, "connection", "net:access", target, grant, why, json_object());
}

static void judge_complain(void *context, const char *sentence) {
	(void)context;
	log_warning("%s", sentence);
}

/* What the stub asks */

static uint64_t stub_name(void *context, const char *host, void (*done)(void *argument, const struct verdict *verdict),
			  void *argument) {
	struct network *network = context;
	return session_name(network->options.session, host, done, argument);
}

static void stub_denied(void *context, const char *host, const struct verdict *verdict) {
	struct network *network = context;
	gate_add_denied(network->gate, host, verdict);
}

/* What ipc asks */

static bool ipc_is_own(void *context, dev_t device, ino_t inode, char **ret_name) {
	struct network *network = context;
	return network->inside && diag_bound(network->inside, device, inode, ret_name);
}

static uint64_t ipc_check(void *context, pid_t thread, const char *path,
			  void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	CLEANUP_FREE char *process = NULL;
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(network->processes, thread, network->init, &process, &parents);
	const struct session_wish wish = {
		.permission = "ipc:connect", .target = path, .process = process, .parents = &parents};
	return session_check(network->options.session, &wish, done, argument);
}

static uint64_t ipc_check_again(void *context, const char *path,
				void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct network *network = context;
	return session_check_again(network->options.session, "ipc:connect", path, done, argument);
}

static void ipc_refused(void *context, const char *path, const struct verdict *verdict) {
	struct network *network = context;
	denied_add(&network->options.denied[PERMISSION_IPC_CONNECT], path, verdict);
}

static void ipc_report(void *context, const char *path, int64_t grant, int64_t duration_ms, const char *error) {
	struct network *network = context;
	json_t *detail =
		json_pack("{s:s, s:I, s:s*}", "door", "unix", "duration_ms", (json_int_t)duration_ms, "error", error);
	session_event(network->options.session, "connection", "ipc:connect", path, grant, NULL, detail);
}

/* Spares */

static void on_fetched(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	const struct fetch *fetch = argument;
	struct spares *spares = fetch->network->spares;
	if (code != 0) log_debug("sockets of the sandbox's network: %s", text);
	if (spares) spares_add(spares, fetch->kind, fds, fd_count);
	for (size_t i = 0; i < fd_count && !spares; i++) fd_close(fds[i]);
}

static void on_fetch(void *context, enum spare kind, unsigned count) {
	struct network *network = context;
	struct portal *portal = *network->options.portal;
	network->fetches[kind] = (struct fetch){.network = network, .kind = kind};
	if (portal)
		portal_sockets(portal, kind, count, on_fetched, &network->fetches[kind]);
	else
		spares_add(network->spares, kind, NULL, 0);
}

/* Making */

static void describe(void *context, pid_t thread, char **ret_process, struct strings *ret_parents) {
	const struct network *network = context;
	process_describe(network->processes, thread, network->init, ret_process, ret_parents);
}

static bool hand_over(void *context, struct socket_call *call, const struct gate_result *result) {
	struct network *network = context;
	return direct_hand_over(network->direct, call, result);
}

static void make_gate(struct network *network) {
	const struct view *view = network->options.scene->view;
	const struct gate_judge judge = {.context = network,
					 .check = judge_check,
					 .check_unasked = judge_check_unasked,
					 .check_again = judge_check_again,
					 .check_address = judge_check_address,
					 .cancel = judge_cancel,
					 .refuse = judge_refuse,
					 .complain = judge_complain,
					 .report = judge_report};
	network->gate = gate_new(network->options.base, &judge);
	gate_set_hosts(network->gate, view->hosts, view->host_count);
	gate_set_upstream(network->gate, view->upstream);
	network->proxy = proxy_new(network->options.base, network->gate, view->profile);
}

static void make_native(struct network *network) {
	const struct native_options native = {.base = network->options.base,
					      .gate = network->gate,
					      .spares = network->spares,
					      .describe = describe,
					      .hand_over = scene_is_direct(network->options.scene) ? hand_over : NULL,
					      .context = network};
	const struct stub_judge judge = {
		.context = network, .name = stub_name, .cancel = judge_cancel, .denied = stub_denied};
	network->standins = standins_new();
	network->stub = stub_new(network->options.base, network->standins, network->spares, &judge);
	network->native = native_new(&native);
}

struct network *network_new(const struct network_options *options) {
	struct network *network = mem_new(struct network);
	const struct scene *scene = options->scene;
	*network = (struct network){.options = *options, .processes = processes_new()};
	if (scene_has_gate(scene)) make_gate(network);
	if (scene->view->network == VIEW_NETWORK_HOST) return network;
	const struct spares_options spares = {.base = options->base, .fetch = on_fetch, .context = network};
	network->spares = spares_new(&spares);
	if (scene_is_native(scene)) make_native(network);
	return network;
}

/* Opening */

static void on_door(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct network *network = argument;
	(void)text;
	if (code != 0 || fd_count != 1) return;
	if (network->proxy && network->failed.code == 0)
		proxy_listen(network->proxy, fds[0], &network->failed);
	else
		fd_close(fds[0]);
}

static void serve_names(struct network *network, int code, int *fds, size_t fd_count, struct error *error) {
	if (code != 0 || fd_count != 1) return;
	if (network->stub)
		stub_serve(network->stub, fds[0], error);
	else
		fd_close(fds[0]);
}

static void on_name_server(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct network *network = argument;
	(void)text;
	serve_names(network, code, fds, fd_count, &network->failed);
}

/* Nobody asks over IPv6 where it was turned off. */
static void on_name_server6(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct error error = ERROR_NONE;
	(void)text;
	serve_names(argument, code, fds, fd_count, &error);
	if (error.code != 0) log_debug("%s", error.message);
}

static bool has_ipv6(void) {
	CLEANUP_FD int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0;
}

static void make_direct(struct network *network) {
	const struct direct_options options = {
		.base = network->options.base, .gate = network->gate, .init = network->init};
	network->direct = direct_new(&options);
}

void network_open(struct network *network, pid_t init) {
	struct portal *portal = *network->options.portal;
	network->init = init;
	if (scene_is_direct(network->options.scene)) make_direct(network);
	if (network->proxy) {
		portal_listen_path(portal, BWRAP_RUN "/proxy.sock", SOCK_STREAM, on_door, network);
		portal_listen_port(portal, ENVIRONMENT_PROXY_PORT, on_door, network);
	}
	if (network->native) {
		portal_network(portal, NULL, NULL);
		portal_sockets(portal, SPARE_UDP4, 1, on_name_server, network);
		if (has_ipv6()) portal_sockets(portal, SPARE_UDP6, 1, on_name_server6, network);
	}
	if (network->options.scene->holds_sockets) on_fetch(network, SPARE_DIAG, 1);
}

/* `process`: one of the network that `netlink` was made in. */
static struct diag *make_diag(int netlink, pid_t process) {
	CLEANUP_FREE char *path = string_format("/proc/%d/net", (int)process);
	struct error error = ERROR_NONE;
	struct diag *diag = NULL;
	if (diag_new(netlink, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), &diag, &error) == 0) return diag;
	log_notice("localhost is the sandbox's own alone, as it isn't known who listens there: %s", error.message);
	return NULL;
}

static struct diag *diag_outside(void *context) {
	struct network *network = context;
	const int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	if (!network->outside) network->outside = make_diag(socket(AF_NETLINK, kind, NETLINK_SOCK_DIAG), getpid());
	return network->outside;
}

static void make_flows(struct network *network) {
	const struct flows_options options = {.base = network->options.base,
					      .gate = network->gate,
					      .spares = network->spares,
					      .diag = network->inside};
	network->flows = flows_new(&options);
}

static void make_connects(struct network *network) {
	const struct connects_options options = {.base = network->options.base,
						 .native = network->native,
						 .flows = network->flows,
						 .spares = network->spares,
						 .standins = network->standins,
						 .inside = network->inside,
						 .outside = diag_outside,
						 .describe = describe,
						 .context = network};
	network->connects = connects_new(&options);
}

int network_begin(struct network *network, struct error *error) {
	if (network->failed.code != 0) return error_set(error, network->failed.code, "%s", network->failed.message);
	if (network->options.scene->holds_sockets) {
		network->inside = make_diag(spares_take(network->spares, SPARE_DIAG), network->init);
		if (network->native) make_flows(network);
		make_connects(network);
	}
	const struct servers_options servers = {.session = network->options.session,
						.spares = network->spares,
						.inside = network->inside,
						.view = network->options.scene->view,
						.init = network->init};
	return servers_begin(network->options.servers, &servers, error);
}

/* Held calls */

/* What we may do as who owns the sandbox's user namespace, and a tool in it may not (ip(7)). */
static bool is_reserved(const struct socket_call *call) {
	static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "of both");
	const struct sockaddr_in *four = (const struct sockaddr_in *)&call->address;
	const in_port_t port = ntohs(four->sin_port);
	return call->domain != AF_NETLINK && port > 0 && port < IPPORT_RESERVED; /* AF_UNSPEC is AF_INET to bind(2) */
}

/* A server in the sandbox: free, and it never waits for anybody. */
static void carry_bind(struct socket_call *call) {
	if (is_reserved(call)) {
		socket_call_answer(call, -EACCES);
		return;
	}
	int r = bind(call->fd, (const struct sockaddr *)&call->address, call->address_size);
	socket_call_answer(call, r < 0 ? -errno : 0);
}

static void carry_listen(struct network *network, struct socket_call *call) {
	const pid_t thread = call->thread;
	const int code = listen(call->fd, call->backlog) < 0 ? errno : 0;
	socket_call_answer(call, -code);
	if (code == 0) servers_stir(network->options.servers, thread);
}

static void on_call(void *context, struct socket_call *call) {
	struct network *network = context;
	if (call->domain == AF_UNIX)
		ipc_call(network->ipc, call);
	else if (call->kind == SOCKET_CALL_CONNECT || call->kind == SOCKET_CALL_SEND)
		connects_call(network->connects, call);
	else if (call->kind == SOCKET_CALL_BIND)
		carry_bind(call);
	else
		carry_listen(network, call);
}

static void make_ipc(struct network *network, dev_t curtain) {
	const struct ipc_options options = {.base = network->options.base,
					    .init = network->init,
					    .curtain = curtain,
					    .is_own = ipc_is_own,
					    .check = ipc_check,
					    .check_again = ipc_check_again,
					    .cancel = judge_cancel,
					    .refused = ipc_refused,
					    .report = ipc_report,
					    .context = network};
	network->ipc = ipc_new(&options);
	ipc_set_view(network->ipc, network->options.scene->view);
}

void network_listen(struct network *network, int listener, dev_t curtain) {
	if (!network->connects) return;
	const struct socket_calls_options options = {.base = network->options.base,
						     .listener = listener,
						     .cookie = spares_cookie(network->spares),
						     .handle = on_call,
						     .context = network};
	make_ipc(network, curtain);
	network->calls = socket_calls_new(&options);
}

/* A program that has to do with sockets will connect one: so that the first needn't wait for the portal. */
static void warm_up(struct network *network) {
	network->warm = true;
	if (!network->native) return;
	fd_close(spares_take(network->spares, SPARE_TCP4));
	fd_close(spares_take(network->spares, SPARE_TCP6));
}

bool network_takes(const struct network *network) {
	return network->calls;
}

void network_take(struct network *network, uint64_t id, struct socket_taken *taken) {
	if (!network->calls) {
		socket_taken_finish(taken); /* the end: nobody waits for it */
		return;
	}
	if (!network->warm) warm_up(network);
	socket_calls_add(network->calls, id, taken);
}

/* The broker */

void network_view(struct network *network, const struct view *view) {
	if (network->gate) {
		gate_set_hosts(network->gate, view->hosts, view->host_count);
		gate_set_upstream(network->gate, view->upstream);
		gate_review(network->gate);
	}
	if (network->ipc) {
		ipc_set_view(network->ipc, view);
		ipc_review(network->ipc);
	}
	servers_view(network->options.servers, view);
}

void network_ended(struct network *network, const struct session_ended *ended) {
	if (network->gate) {
		gate_cut(network->gate, ended->grants, ended->count);
		gate_review(network->gate);
	}
	if (network->ipc) {
		ipc_cut(network->ipc, ended->grants, ended->count);
		ipc_review(network->ipc);
	}
	servers_ended(network->options.servers, ended);
}

bool network_is_cut(const struct network *network) {
	return (!network->gate || gate_is_reviewed(network->gate)) &&
	       (!network->direct || direct_is_cut(network->direct)) && (!network->ipc || ipc_is_cut(network->ipc)) &&
	       servers_are_cut(network->options.servers);
}

void network_sleep(struct network *network) {
	if (network->calls) socket_calls_interrupt(network->calls);
}

struct gate *network_gate(const struct network *network) {
	return network->gate;
}

/* End */

void network_stop(struct network *network) {
	if (!network) return;
	proxy_free(STEAL(network->proxy));
	connects_free(STEAL(network->connects));
	native_free(STEAL(network->native));
	direct_free(STEAL(network->direct));
	flows_free(STEAL(network->flows));
	stub_free(STEAL(network->stub));
	ipc_free(STEAL(network->ipc));
	socket_calls_free(STEAL(network->calls));
	servers_stop(network->options.servers);
	spares_free(STEAL(network->spares));
}

void network_free(struct network *network) {
	if (!network) return;
	network_stop(network);
	gate_free(network->gate);
	standins_free(network->standins);
	diag_free(network->inside);
	diag_free(network->outside);
	processes_free(network->processes);
	free(network);
}
