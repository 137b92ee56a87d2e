/*
 * Theory of operation. Which connection rests on which grant, and what must be judged again, a gate's leases know
 * (net/gate.h); of the gate nothing else is used. Which sockets live is read from the sandbox's own list of them
 * (/proc/PID/net/unix, proc_net(5)), once for all links.
 */
#include "ipc_links.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "net/gate.h"
#include "regular.h"
#include "sandbox_sockets.h"
#include "schema/limits.h"

enum { IPC_LIST_MAX = 4 * 1024 * 1024, IPC_AGAIN_MS = 10 /* between looks for one that was not found */ };

struct link {
	TAILQ_ENTRY(link) entry;
	struct ipc_links *links;
	struct sandbox_socket socket;
	struct gate_lease *lease; /* NULL: it is to be shut down, since: */
	int64_t cut_ms;
};

struct ipc_links {
	struct ipc_options options;
	struct gate *gate;
	struct event *tick;
	TAILQ_HEAD(, link) list;
	size_t count;
};

static void link_free(struct link *link) {
	TAILQ_REMOVE(&link->links->list, link, entry);
	link->links->count--;
	free(link);
}

static void forget(struct link *link) {
	if (link->lease) gate_lease_end(link->lease, 0, 0, NULL);
	link_free(link);
}

/* Which are alive */

static int compare_inodes(const void *a, const void *b) {
	const ino_t one = *(const ino_t *)a, other = *(const ino_t *)b;
	return (one > other) - (one < other);
}

/* "Num RefCount Protocol Flags Type St Inode Path", all but the last two of them hexadecimal. */
static ino_t inode_of_line(char *line) {
	char *rest, *word = strtok_r(line, " ", &rest);
	for (int i = 0; word && i < 6; i++) word = strtok_r(NULL, " ", &rest);
	return word ? strtoull(word, NULL, 10) : 0;
}

struct inodes {
	ino_t *items;
	size_t count;
};

/* Of all Unix sockets of the sandbox's network, sorted. False: it can't be told. */
static bool read_living(pid_t init, struct inodes *ret_inodes) {
	CLEANUP_FREE char *path = string_format("/proc/%d/net/unix", init), *text = NULL;
	size_t size = 0;
	*ret_inodes = (struct inodes){0};
	if (regular_read(path, IPC_LIST_MAX, &text, &size, NULL) < 0 || size >= IPC_LIST_MAX) return false;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		const ino_t inode = inode_of_line(line);
		if (inode == 0) continue;
		ret_inodes->items = array_grow(ret_inodes->items, ret_inodes->count, sizeof *ret_inodes->items);
		ret_inodes->items[ret_inodes->count++] = inode;
	}
	if (ret_inodes->count > 0)
		qsort(ret_inodes->items, ret_inodes->count, sizeof *ret_inodes->items, compare_inodes);
	return true;
}

static void drop_dead(struct ipc_links *links) {
	struct inodes living;
	struct link *next;
	if (!read_living(links->options.init, &living)) return;
	for (struct link *link = TAILQ_FIRST(&links->list); link; link = next) {
		next = TAILQ_NEXT(link, entry);
		if (living.count > 0 &&
		    bsearch(&link->socket.inode, living.items, living.count, sizeof link->socket.inode, compare_inodes))
			continue;
		forget(link);
	}
	free(living.items);
}

/* Cutting */

static void end_hidden(const struct link *link) {
	if (clock_ms(CLOCK_BOOTTIME) - link->cut_ms < LIMIT_DIRECT_HIDDEN_MS) return;
	log_error("a connection to a socket of this machine whose grant has ended is hidden in a message: the sandbox "
		  "is ended");
	kill(link->links->options.init, SIGKILL);
}

/* All that were cut are looked for at once. True: some are still to be found. */
static bool shut_cut(struct ipc_links *links) {
	CLEANUP_FREE struct sandbox_socket *sockets = mem_array(struct sandbox_socket, links->count + 1);
	CLEANUP_FREE bool *found = mem_array(bool, links->count + 1);
	size_t count = 0, i = 0;
	bool more = false;
	struct link *link, *next;
	TAILQ_FOREACH(link, &links->list, entry) {
		if (!link->lease) sockets[count++] = link->socket;
	}
	if (count == 0) return false;
	sandbox_sockets_shut(links->options.init, sockets, count, found);
	for (link = TAILQ_FIRST(&links->list); link; link = next) {
		next = TAILQ_NEXT(link, entry);
		if (link->lease) continue;
		if (found[i++]) {
			link_free(link);
			continue;
		}
		more = true;
		end_hidden(link);
	}
	return more;
}

static void look_in(struct ipc_links *links, int64_t ms) {
	const struct timeval delay = clock_timeval(ms);
	if (links->count > 0) evtimer_add(links->tick, &delay);
}

static void on_tick(evutil_socket_t fd, short what, void *argument) {
	struct ipc_links *links = argument;
	(void)fd, (void)what;
	drop_dead(links);
	look_in(links, shut_cut(links) ? IPC_AGAIN_MS : LIMIT_IPC_LOOK_MS);
}

/* Several that are cut are looked for together: in this turn of the loop yet. */
static void on_cut(void *argument) {
	struct link *link = argument;
	gate_lease_end(STEAL(link->lease), 0, 0, "the grant has ended");
	link->cut_ms = clock_ms(CLOCK_BOOTTIME);
	event_active(link->links->tick, EV_TIMEOUT, 1);
}

/* The judge */

static uint64_t judge_again(void *context, const char *target,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct ipc_links *links = context;
	return links->options.check_again(links->options.context, target, done, argument);
}

static void judge_cancel(void *context, uint64_t ticket) {
	const struct ipc_links *links = context;
	links->options.cancel(links->options.context, ticket);
}

static void judge_report(void *context, const char *target, int64_t grant, const char *door, uint64_t sent,
			 uint64_t received, int64_t duration_ms, const char *error) {
	const struct ipc_links *links = context;
	(void)door, (void)sent, (void)received;
	if (links->options.report) links->options.report(links->options.context, target, grant, duration_ms, error);
}

struct ipc_links *ipc_links_new(const struct ipc_options *options) {
	struct ipc_links *links = mem_new(struct ipc_links);
	*links = (struct ipc_links){.options = *options};
	TAILQ_INIT(&links->list);
	const struct gate_judge judge = {
		.context = links, .check_again = judge_again, .cancel = judge_cancel, .report = judge_report};
	links->gate = gate_new(options->base, &judge);
	links->tick = evtimer_new(options->base, on_tick, links);
	return links;
}

static struct link *find(struct ipc_links *links, uint64_t cookie) {
	struct link *link = TAILQ_FIRST(&links->list);
	while (link && link->socket.cookie != cookie) link = TAILQ_NEXT(link, entry);
	return link;
}

void ipc_links_forget(struct ipc_links *links, int socket) {
	struct sandbox_socket own;
	if (links->count == 0 || sandbox_socket_know(socket, &own) < 0) return;
	struct link *link = find(links, own.cookie);
	if (link && link->lease) forget(link);
}

int ipc_links_add(struct ipc_links *links, int socket, const char *path, const struct verdict *verdict) {
	struct sandbox_socket own;
	int r = sandbox_socket_know(socket, &own);
	if (r < 0) return r;
	struct link *before = find(links, own.cookie); /* a datagram socket that is aimed elsewhere */
	if (before && !before->lease) return -ECONNREFUSED;
	if (before) forget(before);
	if (links->count >= LIMIT_IPC_LINKS) drop_dead(links);
	if (links->count >= LIMIT_IPC_LINKS) return -ENOSPC;
	struct link *link = mem_new(struct link);
	*link = (struct link){.links = links, .socket = own};
	const struct gate_result result = {.outcome = GATE_CONNECTED, .fd = -1, .verdict = verdict, .target = path};
	link->lease = gate_lease_new(links->gate, &result, "unix", on_cut, link);
	TAILQ_INSERT_TAIL(&links->list, link, entry);
	links->count++;
	if (!evtimer_pending(links->tick, NULL)) look_in(links, LIMIT_IPC_LOOK_MS);
	return 0;
}

void ipc_links_cut(struct ipc_links *links, const int64_t *grants, size_t count) {
	gate_cut(links->gate, grants, count);
}

void ipc_links_review(struct ipc_links *links) {
	gate_review(links->gate);
}

void ipc_links_free(struct ipc_links *links) {
	if (!links) return;
	for (struct link *link = TAILQ_FIRST(&links->list), *next; link; link = next) {
		next = TAILQ_NEXT(link, entry);
		forget(link);
	}
	event_free(links->tick);
	gate_free(links->gate);
	free(links);
}
