/*
 * Theory of operation. Nothing here may hold the socket open. So what stays with us is a registration in an epoll
 * instance of our own, which is no reference: it lasts as long as the open file, wherever that is, and is gone with it
 * (epoll(7)). /proc/self/fdinfo lists those that are there ("tfd" lines, proc_pid_fdinfo(5)), under the instance's
 * lock, with what we gave each (epoll_event.data): its inode. No other list will do: /proc/net/unix and sock_diag(7)
 * are read in pieces, and a tool moves its socket past the reader by bind(2).
 *
 * A registration is one of a file by a number. All are made by one number that is ours, `slot`, so that there is one of
 * a file, and it can be taken back.
 */
#include "tethers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "calls/regular.h"
#include "schema/limits.h"

enum {
	AGAIN_MS = 10,          /* between looks for one that was not found */
	LIST_MAX = 1024 * 1024, /* bytes of fdinfo; one line is some 90 */
};

struct tether {
	struct tethers *tethers;
	struct sandbox_socket socket;
	struct gate_lease *lease; /* NULL: it is to be shut down, since: */
	int64_t cut_ms;
};

struct tethers {
	struct tethers_options options;
	struct tether **items;
	size_t count;
	int epoll, slot; /* -1: none could be made */
	struct event *tick;
};

struct inodes {
	ino_t *items; /* in no order */
	size_t count;
};

static void inodes_add(struct inodes *inodes, ino_t inode) {
	inodes->items = array_grow(inodes->items, inodes->count, sizeof *inodes->items);
	inodes->items[inodes->count++] = inode;
}

static int compare_inodes(const void *a, const void *b) {
	const ino_t one = *(const ino_t *)a, other = *(const ino_t *)b;
	return (one > other) - (one < other);
}

static bool has_inode(const struct inodes *sorted, ino_t inode) {
	return sorted->count > 0 &&
	       bsearch(&inode, sorted->items, sorted->count, sizeof *sorted->items, compare_inodes);
}

static void tether_free(struct tether *tether) {
	if (tether->lease) gate_lease_end(tether->lease, GATE_BYTES_UNKNOWN, GATE_BYTES_UNKNOWN, NULL);
	free(tether);
}

/* 0 or -errno. */
static int registration(const struct tethers *tethers, int operation, int fd, ino_t inode) {
	struct epoll_event event = {.events = EPOLLET, .data.u64 = inode};
	if (tethers->slot < 0) return -EMFILE;
	if (dup3(fd, tethers->slot, O_CLOEXEC) < 0) return -errno;
	int r = epoll_ctl(tethers->epoll, operation, tethers->slot, &event) < 0 ? -errno : 0;
	/* The number stays ours. */
	return dup3(tethers->epoll, tethers->slot, O_CLOEXEC) < 0 ? -errno : r;
}

/* The inodes that are still registered. False: it can't be told. */
static bool read_living(const struct tethers *tethers, struct inodes *ret_living) {
	static const char field[] = " data: ";
	CLEANUP_FREE char *path = string_format("/proc/self/fdinfo/%d", tethers->epoll), *text = NULL;
	size_t size = 0;
	if (regular_read(path, LIST_MAX, &text, &size, NULL) < 0 || size >= LIST_MAX) return false;
	for (const char *at = text; (at = strstr(at, field));) {
		at += strlen(field);
		inodes_add(ret_living, strtoull(at, NULL, 16));
	}
	return true;
}

static void drop_ended(struct tethers *tethers) {
	struct inodes living = {0};
	const bool told = read_living(tethers, &living);
	size_t kept = 0;
	if (living.count > 0) qsort(living.items, living.count, sizeof *living.items, compare_inodes);
	for (size_t i = 0; i < tethers->count; i++) {
		struct tether *tether = tethers->items[i];
		if (!told || has_inode(&living, tether->socket.inode))
			tethers->items[kept++] = tether;
		else
			tether_free(tether);
	}
	tethers->count = kept;
	free(living.items);
}

static void end_hidden(const struct tether *tether) {
	const struct tethers_options *options = &tether->tethers->options;
	if (clock_ms(CLOCK_BOOTTIME) - tether->cut_ms < LIMIT_DIRECT_HIDDEN_MS) return;
	log_error("%s whose grant has ended is hidden in a message: the sandbox is ended", options->what);
	kill(options->init, SIGKILL);
}

/* All that were cut are looked for at once. True: some are still to be found. */
static bool shut_cut(struct tethers *tethers) {
	CLEANUP_FREE struct sandbox_socket *sockets = mem_array(struct sandbox_socket, tethers->count + 1);
	CLEANUP_FREE bool *found = mem_array(bool, tethers->count + 1);
	size_t wanted = 0, at = 0, kept = 0;
	bool more = false;
	for (size_t i = 0; i < tethers->count; i++)
		if (!tethers->items[i]->lease) sockets[wanted++] = tethers->items[i]->socket;
	sandbox_sockets_shut(tethers->options.init, sockets, wanted, found);
	for (size_t i = 0; i < tethers->count; i++) {
		struct tether *tether = tethers->items[i];
		const bool cut = !tether->lease, done = cut && found[at++];
		if (done) {
			tether_free(tether);
			continue;
		}
		tethers->items[kept++] = tether;
		more |= cut;
		if (cut) end_hidden(tether);
	}
	tethers->count = kept;
	return more;
}

static void look_in(struct tethers *tethers, int64_t ms) {
	const struct timeval delay = clock_timeval(ms);
	if (tethers->count > 0) evtimer_add(tethers->tick, &delay);
}

static void on_tick(evutil_socket_t fd, short what, void *argument) {
	struct tethers *tethers = argument;
	(void)fd, (void)what;
	drop_ended(tethers);
	look_in(tethers, shut_cut(tethers) ? AGAIN_MS : tethers->options.look_ms);
}

/* Several that are cut are looked for together: in this turn of the loop yet. */
static void on_cut(void *argument) {
	struct tether *tether = argument;
	gate_lease_end(STEAL(tether->lease), GATE_BYTES_UNKNOWN, GATE_BYTES_UNKNOWN, "the grant has ended");
	tether->cut_ms = clock_ms(CLOCK_BOOTTIME);
	event_active(tether->tethers->tick, EV_TIMEOUT, 0);
}

int tethers_add(struct tethers *tethers, int fd, struct gate *gate, const struct gate_result *result,
		struct gate_lease **ret_lease) {
	struct sandbox_socket socket;
	if (tethers->count >= tethers->options.most) drop_ended(tethers);
	if (tethers->count >= tethers->options.most) return -ENOSPC;
	int r = sandbox_socket_know(fd, &socket);
	if (r == 0) r = registration(tethers, EPOLL_CTL_ADD, fd, socket.inode);
	if (r < 0) return r;
	struct tether *tether = mem_new(struct tether);
	*tether = (struct tether){.tethers = tethers, .socket = socket};
	tether->lease = gate_lease_new(gate, result, tethers->options.door, on_cut, tether);
	tethers->items = array_grow(tethers->items, tethers->count, sizeof(struct tether *));
	tethers->items[tethers->count++] = tether;
	if (!evtimer_pending(tethers->tick, NULL)) look_in(tethers, tethers->options.look_ms);
	if (ret_lease) *ret_lease = tether->lease;
	return 0;
}

bool tethers_forget(struct tethers *tethers, int fd) {
	struct sandbox_socket socket;
	if (tethers->count == 0 || sandbox_socket_know(fd, &socket) < 0) return true;
	for (size_t i = 0; i < tethers->count; i++) {
		struct tether *tether = tethers->items[i];
		if (tether->socket.cookie != socket.cookie) continue;
		if (!tether->lease) return false;
		registration(tethers, EPOLL_CTL_DEL, fd, socket.inode);
		tethers->items[i] = tethers->items[--tethers->count];
		tether_free(tether);
		return true;
	}
	return true;
}

bool tethers_are_cut(const struct tethers *tethers) {
	for (size_t i = 0; i < tethers->count; i++)
		if (!tethers->items[i]->lease) return false;
	return true;
}

struct tethers *tethers_new(const struct tethers_options *options) {
	struct tethers *tethers = mem_new(struct tethers);
	tethers->options = *options;
	tethers->epoll = epoll_create1(EPOLL_CLOEXEC);
	tethers->slot = tethers->epoll < 0 ? -1 : fcntl(tethers->epoll, F_DUPFD_CLOEXEC, 0);
	tethers->tick = mem_expect(evtimer_new(options->base, on_tick, tethers));
	return tethers;
}

void tethers_free(struct tethers *tethers) {
	if (!tethers) return;
	for (size_t i = 0; i < tethers->count; i++) tether_free(tethers->items[i]);
	free(tethers->items);
	fd_close(tethers->epoll);
	fd_close(tethers->slot);
	event_free(tethers->tick);
	free(tethers);
}
