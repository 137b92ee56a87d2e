/*
 * Theory of operation. Each kind has what is here, fetches that are under way (each of a whole batch, so that counting
 * them is enough), and who waits. Wanted is one for each who waits and a reserve; what is missing is fetched at once in
 * as many batches as it takes. A reserve starts when a kind is first wanted and doubles whenever somebody had to wait;
 * after a quiet while it is back at one batch, and the surplus is closed.
 *
 * Who waits is called from an event of its own, so never from within a call of ours or of the portal's.
 */
#include "spares.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "schema/limits.h"

enum { QUIET_S = 10, AGAIN_MS = 50 };

const struct spare_shape spare_shapes[SPARE_COUNT] = {
	[SPARE_TCP4] = {AF_INET, SOCK_STREAM, 0},
	[SPARE_TCP6] = {AF_INET6, SOCK_STREAM, 0},
	[SPARE_UDP4] = {AF_INET, SOCK_DGRAM, 0},
	[SPARE_UDP6] = {AF_INET6, SOCK_DGRAM, 0},
	[SPARE_DIAG] = {AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG},
};

/* Of each kind: what one fetch brings, and what is kept in reserve at least (one is made on demand). */
static const struct {
	unsigned batch, reserve;
} sizes[SPARE_COUNT] = {
	[SPARE_TCP4] = {SPARES_FETCH_MAX, SPARES_FETCH_MAX / 2},
	[SPARE_TCP6] = {SPARES_FETCH_MAX, SPARES_FETCH_MAX / 2},
	[SPARE_UDP4] = {4, 2},
	[SPARE_UDP6] = {4, 2},
	[SPARE_DIAG] = {1, 0},
};

struct spares_wait {
	struct spares *spares;
	enum spare kind;
	struct spares_wait *next, **back; /* what points here */
	void (*ready)(void *argument);
	void *argument;
};

struct stock {
	int *fds;
	size_t count, under_way /* fetches */, reserve;
	struct spares_wait *first, **end;
	size_t waiting;
};

struct spares {
	struct spares_options options;
	struct stock stocks[SPARE_COUNT];
	struct event *serve, *quiet, *again;
	bool serving; /* who waits is being called */
	uint64_t cookie;
};

static void fetch_missing(struct spares *spares, enum spare kind) {
	struct stock *stock = &spares->stocks[kind];
	const unsigned batch = sizes[kind].batch;
	const size_t wanted = stock->waiting + stock->reserve;
	while (stock->count + stock->under_way * batch < wanted) {
		stock->under_way++;
		spares->options.fetch(spares->options.context, kind, batch);
	}
}

static void unlink_wait(struct spares_wait *wait) {
	struct stock *stock = &wait->spares->stocks[wait->kind];
	*wait->back = wait->next;
	if (wait->next)
		wait->next->back = wait->back;
	else
		stock->end = wait->back;
	stock->waiting--;
}

static struct spares_wait *take_first(struct stock *stock) {
	struct spares_wait *wait = stock->first;
	stock->first = wait->next;
	if (wait->next)
		wait->next->back = &stock->first;
	else
		stock->end = &stock->first;
	stock->waiting--;
	return wait;
}

static void on_serve(evutil_socket_t fd, short what, void *argument) {
	struct spares *spares = argument;
	(void)fd, (void)what;
	for (size_t kind = 0; kind < SPARE_COUNT; kind++) {
		struct stock *stock = &spares->stocks[kind];
		while (stock->count > 0 && stock->first) {
			struct spares_wait *wait = take_first(stock);
			spares->serving = true;
			wait->ready(wait->argument);
			spares->serving = false;
			free(wait);
		}
		fetch_missing(spares, (enum spare)kind);
	}
}

static void on_again(evutil_socket_t fd, short what, void *argument) {
	struct spares *spares = argument;
	(void)fd, (void)what;
	for (size_t kind = 0; kind < SPARE_COUNT; kind++)
		if (spares->stocks[kind].first) fetch_missing(spares, (enum spare)kind);
}

static void on_quiet(evutil_socket_t fd, short what, void *argument) {
	struct spares *spares = argument;
	(void)fd, (void)what;
	for (size_t kind = 0; kind < SPARE_COUNT; kind++) {
		struct stock *stock = &spares->stocks[kind];
		if (stock->reserve > sizes[kind].reserve) stock->reserve = sizes[kind].reserve;
		while (stock->count > stock->reserve + sizes[kind].batch) fd_close(stock->fds[--stock->count]);
	}
}

/* Somebody had to wait: the next shall not. */
static void grow(struct spares *spares, enum spare kind) {
	static const struct timeval quiet = {.tv_sec = QUIET_S};
	struct stock *stock = &spares->stocks[kind];
	if (stock->reserve < sizes[kind].reserve)
		stock->reserve = sizes[kind].reserve;
	else if (stock->reserve * 2 <= LIMIT_SPARES)
		stock->reserve *= 2;
	evtimer_add(spares->quiet, &quiet);
}

struct spares *spares_new(const struct spares_options *options) {
	struct spares *spares = mem_new(struct spares);
	*spares = (struct spares){.options = *options};
	for (size_t i = 0; i < SPARE_COUNT; i++) spares->stocks[i].end = &spares->stocks[i].first;
	spares->serve = mem_expect(evtimer_new(options->base, on_serve, spares));
	spares->quiet = mem_expect(evtimer_new(options->base, on_quiet, spares));
	spares->again = mem_expect(evtimer_new(options->base, on_again, spares));
	return spares;
}

void spares_free(struct spares *spares) {
	if (!spares) return;
	for (size_t i = 0; i < SPARE_COUNT; i++) {
		struct stock *stock = &spares->stocks[i];
		while (stock->first) free(take_first(stock));
		for (size_t j = 0; j < stock->count; j++) fd_close(stock->fds[j]);
		free(stock->fds);
	}
	event_free(spares->serve);
	event_free(spares->quiet);
	event_free(spares->again);
	free(spares);
}

void spares_add(struct spares *spares, enum spare kind, const int *fds, size_t count) {
	static const struct timeval again = {.tv_usec = AGAIN_MS * 1000};
	struct stock *stock = &spares->stocks[kind];
	if (stock->under_way > 0) stock->under_way--;
	for (size_t i = 0; i < count; i++) {
		stock->fds = array_grow(stock->fds, stock->count, sizeof *stock->fds);
		stock->fds[stock->count++] = fds[i];
	}
	socklen_t size = sizeof spares->cookie;
	if (count > 0 && spares->cookie == 0 &&
	    getsockopt(fds[0], SOL_SOCKET, SO_NETNS_COOKIE, &spares->cookie, &size) < 0)
		spares->cookie = 0;
	if (count == 0)
		evtimer_add(spares->again, &again);
	else if (stock->first)
		event_active(spares->serve, EV_TIMEOUT, 1);
}

int spares_take(struct spares *spares, enum spare kind) {
	struct stock *stock = &spares->stocks[kind];
	if (stock->count == 0 || (stock->first && !spares->serving)) {
		grow(spares, kind);
		fetch_missing(spares, kind);
		return -EAGAIN;
	}
	int fd = stock->fds[--stock->count];
	if (stock->reserve < sizes[kind].reserve) stock->reserve = sizes[kind].reserve;
	if (!spares->serving) fetch_missing(spares, kind);
	return fd;
}

struct spares_wait *spares_when(struct spares *spares, enum spare kind, void (*ready)(void *argument), void *argument) {
	struct stock *stock = &spares->stocks[kind];
	struct spares_wait *wait = mem_new(struct spares_wait);
	*wait = (struct spares_wait){
		.spares = spares, .kind = kind, .back = stock->end, .ready = ready, .argument = argument};
	*stock->end = wait;
	stock->end = &wait->next;
	stock->waiting++;
	if (stock->count > 0)
		event_active(spares->serve, EV_TIMEOUT, 1);
	else
		fetch_missing(spares, kind);
	return wait;
}

void spares_cancel(struct spares_wait *wait) {
	if (!wait) return;
	unlink_wait(wait);
	free(wait);
}

uint64_t spares_cookie(const struct spares *spares) {
	return spares->cookie;
}
