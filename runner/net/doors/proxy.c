#include "proxy.h"

#include <errno.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "client.h"

enum { RESUME_MS = 50, LEAVING_MS = 500, CLOSING_MS = 2000, FDS_FOR_OTHERS = 64, FDS_A_CLIENT = 3 };

struct proxy_listener {
	struct proxy_listener *next;
	struct evconnlistener *events;
};

static void listeners_enable(struct proxy *proxy, bool on) {
	for (struct proxy_listener *item = proxy->listeners; item; item = item->next) {
		if (on)
			evconnlistener_enable(item->events);
		else
			evconnlistener_disable(item->events);
	}
}

/* The queue of the listening sockets holds newcomers meanwhile. */
static void proxy_pause(struct proxy *proxy) {
	const struct timeval after = {.tv_usec = RESUME_MS * 1000};

	listeners_enable(proxy, false);
	event_add(proxy->resume, &after);
}

static void proxy_resume(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	listeners_enable(argument, true);
}

static void proxy_reap(evutil_socket_t fd, short what, void *argument) {
	struct proxy *proxy = argument;
	struct client *client;

	(void)fd, (void)what;
	while ((client = TAILQ_FIRST(&proxy->ended))) {
		TAILQ_REMOVE(&proxy->ended, client, entry);
		client_free(client);
	}
}

/* The oldest that has nothing under way leaves. False when all are busy. */
static bool proxy_make_room(struct proxy *proxy) {
	struct client *client;

	TAILQ_FOREACH(client, &proxy->clients, entry) {
		if (client->phase == CLIENT_BUSY) continue;
		client_end(client);
		return true;
	}
	return false;
}

static void proxy_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size,
			 void *argument) {
	struct proxy *proxy = argument;

	(void)listener, (void)address, (void)size;
	if (proxy->client_count >= proxy->limits.connections && !proxy_make_room(proxy)) {
		fd_close((int)fd);
		proxy_pause(proxy);
		return;
	}
	client_new(proxy, (int)fd);
}

/* Out of descriptors, most likely: don't spin on a listener that stays readable. */
static void proxy_accept_failed(struct evconnlistener *listener, void *argument) {
	(void)listener;
	proxy_make_room(argument);
	proxy_pause(argument);
}

static size_t connections_for_descriptors(void) {
	struct rlimit limit;
	rlim_t usable;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return LIMIT_CONNECTIONS;
	usable = limit.rlim_cur > 2 * FDS_FOR_OTHERS ? limit.rlim_cur - FDS_FOR_OTHERS : FDS_FOR_OTHERS;
	return usable / FDS_A_CLIENT < LIMIT_CONNECTIONS ? (size_t)(usable / FDS_A_CLIENT) : LIMIT_CONNECTIONS;
}

struct proxy *proxy_new(struct event_base *base, struct gate *gate, const char *profile) {
	struct proxy *proxy = mem_new(struct proxy);

	*proxy = (struct proxy){.base = base, .gate = gate, .profile = string_copy(profile)};
	proxy->limits = (struct proxy_limits){.connections = connections_for_descriptors(),
					      .handshake_ms = LIMIT_HANDSHAKE_MS,
					      .idle_ms = LIMIT_IDLE_MS,
					      .leaving_ms = LEAVING_MS,
					      .closing_ms = CLOSING_MS};
	TAILQ_INIT(&proxy->clients);
	TAILQ_INIT(&proxy->ended);
	pipes_init(&proxy->pipes);
	proxy->reaper = evtimer_new(base, proxy_reap, proxy);
	proxy->resume = evtimer_new(base, proxy_resume, proxy);
	if (!proxy->reaper || !proxy->resume) mem_exhausted();
	return proxy;
}

int proxy_listen(struct proxy *proxy, int listener, struct error *error) {
	CLEANUP_FD int fd = listener;
	struct proxy_listener *item;
	struct evconnlistener *events;
	const int on = 1;
	int r;

	/* Accepted connections inherit it: answers go out as they come. On a Unix socket it fails and isn't needed. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if ((r = fd_nonblocking(fd, true, error)) < 0) return r;
	events = evconnlistener_new(proxy->base, proxy_accept, proxy, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0,
				    fd);
	if (!events) return error_set(error, EINVAL, "the proxy can't listen on descriptor %d", fd);
	(void)fd_steal(&fd); /* it is the events' now */
	evconnlistener_set_error_cb(events, proxy_accept_failed);
	item = mem_new(struct proxy_listener);
	*item = (struct proxy_listener){.next = proxy->listeners, .events = events};
	proxy->listeners = item;
	return 0;
}

void proxy_free(struct proxy *proxy) {
	struct proxy_listener *item;
	struct client *client;

	if (!proxy) return;
	while ((item = proxy->listeners)) {
		proxy->listeners = item->next;
		evconnlistener_free(item->events);
		free(item);
	}
	while ((client = TAILQ_FIRST(&proxy->clients))) client_abort(client);
	proxy_reap(-1, 0, proxy);
	event_free(proxy->reaper);
	event_free(proxy->resume);
	pipes_finish(&proxy->pipes);
	free(proxy->profile);
	free(proxy);
}

void proxy_set_limits(struct proxy *proxy, const struct proxy_limits *limits) {
	proxy->limits = *limits;
}

size_t proxy_client_count(const struct proxy *proxy) {
	return proxy->client_count;
}
