/*
 * Theory of operation. A call whose address is no path is carried out on the duplicate with our copy: what it can reach
 * is in the sandbox's own network. So is one to a socket of the sandbox's own. For a path the duplicate is aimed at
 * "/proc/self/fd/N", N being the descriptor of the inode that was found (unix(7): a path is followed to an inode, and
 * the socket bound there is the peer), so that nothing that is put in its place meanwhile is met.
 *
 *     ipc_call ──► target ──own──────────────────────────► CARRYING ──► answer
 *                    └─host──► ASKED ──allowed────────────►    ▲ │ EAGAIN of a blocking call: after a pause
 *                                └─denied──► answer            └─┘
 *
 * A call that isn't to block is held all the same while somebody is asked: there is no half-open state of a Unix socket
 * to leave it in, and a program that gets EAGAIN here gives up (unix(7): a full backlog).
 *
 * The peer sees who carries the call out, this process, as who connected (SO_PEERCRED): of the same user, in the host's
 * namespaces. Nobody else could: the sandbox's first process is the tool's to impersonate, and the portal is no other
 * than we are.
 */
#include "ipc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "base/clock.h"
#include "ipc_links.h"
#include "ipc_target.h"
#include "net/gate/denied.h"
#include "schema/limits.h"
#include "schema/patterns.h"

enum { IPC_PAUSE_FIRST_MS = 2, IPC_PAUSE_MAX_MS = 50 };

/* A socket of the host that datagrams may go to. */
struct known {
	char *path;
	dev_t device;
	ino_t inode;
};

/* A call that waits. Its thread may be away, in a signal's handler: then the question stays for LIMIT_HELD_AWAY_MS, and
 * the same call of that thread takes it over (held.c has it likewise). */
struct wait {
	TAILQ_ENTRY(wait) entry;
	struct ipc *ipc;
	struct socket_call *call; /* NULL: it is away */
	pid_t thread;
	enum socket_call_kind kind;
	struct ipc_target target;
	struct sockaddr_storage address; /* that it is carried out with */
	socklen_t address_size;
	bool asked; /* `ticket` is the question's */
	uint64_t ticket;
	struct verdict verdict; /* that allowed it, or came while it was away */
	struct event *pause;
	int pause_ms;
	int64_t until_ms; /* 0: as long as it takes */
};

struct ipc {
	struct ipc_options options;
	struct ipc_sight sight;
	struct ipc_links *links;
	struct patterns asked; /* of the view */
	struct known known[LIMIT_IPC_KNOWN];
	size_t known_count;
	TAILQ_HEAD(, wait) waits;
	size_t count, away; /* of them */
};

/* Datagrams that were allowed */

static void forget_known(struct ipc *ipc) {
	while (ipc->known_count > 0) free(ipc->known[--ipc->known_count].path);
}

static bool is_known(const struct ipc *ipc, const struct ipc_target *target) {
	for (size_t i = 0; i < ipc->known_count; i++)
		if (ipc->known[i].inode == target->inode && ipc->known[i].device == target->device &&
		    string_equal(ipc->known[i].path, target->path))
			return true;
	return false;
}

static void remember(struct ipc *ipc, const struct ipc_target *target) {
	if (ipc->known_count == LIMIT_IPC_KNOWN) forget_known(ipc);
	ipc->known[ipc->known_count++] =
		(struct known){.path = string_copy(target->path), .device = target->device, .inode = target->inode};
}

/* Waiting */

static void wait_free(struct wait *wait) {
	struct ipc *ipc = wait->ipc;
	if (wait->asked) ipc->options.cancel(ipc->options.context, wait->ticket);
	TAILQ_REMOVE(&ipc->waits, wait, entry);
	ipc->count--;
	if (!wait->call) ipc->away--;
	event_free(wait->pause);
	ipc_target_finish(&wait->target);
	verdict_finish(&wait->verdict);
	free(wait);
}

static void wait_answer(struct wait *wait, int64_t result) {
	struct socket_call *call = wait->call;
	wait_free(wait);
	socket_call_answer(call, result);
}

static void wait_leave(struct wait *wait) {
	const struct timeval limit = {.tv_sec = LIMIT_HELD_AWAY_MS / 1000, .tv_usec = LIMIT_HELD_AWAY_MS % 1000 * 1000};
	socket_call_answer(STEAL(wait->call), -EINTR);
	wait->ipc->away++;
	evtimer_add(wait->pause, &limit);
}

static void on_interrupted(void *argument) {
	struct wait *wait = argument;
	if (wait->asked && wait->call->comes_again && wait->ipc->away < LIMIT_IPC_CALLS)
		wait_leave(wait);
	else
		wait_answer(wait, -EINTR);
}

/* Carrying out */

static int64_t carry_out(const struct wait *wait) {
	const struct socket_call *call = wait->call;
	const struct sockaddr *address = (const struct sockaddr *)&wait->address;
	if (call->kind == SOCKET_CALL_CONNECT) return socket_call_connect(call, address, wait->address_size);
	const ssize_t sent = sendto(call->fd, call->data, call->size, call->flags | MSG_DONTWAIT | MSG_NOSIGNAL,
				    address, wait->address_size);
	return sent < 0 ? -errno : sent;
}

/* There are so many connections, or nothing is left to watch one with: not the user's verdict, but shown as one. */
static void tell_too_many(const struct wait *wait) {
	CLEANUP_VERDICT struct verdict verdict = {
		.module = "limits",
		.why = string_format("the sandbox has %d connections to sockets of this machine, or your user has no "
				     "watches of epoll left",
				     LIMIT_IPC_LINKS)};
	const struct ipc_options *options = &wait->ipc->options;
	if (options->refused) options->refused(options->context, wait->target.path, &verdict);
}

/* What was allowed is kept in mind. */
static int64_t note_allowed(struct wait *wait, int64_t result) {
	struct ipc *ipc = wait->ipc;
	const bool host = wait->target.kind == IPC_TARGET_HOST;
	if (result >= 0 && !host && wait->call->kind == SOCKET_CALL_CONNECT)
		ipc_links_forget(ipc->links, wait->call->fd);
	if (result < 0 || !host) return result;
	if (wait->call->kind == SOCKET_CALL_SEND) {
		if (!wait->verdict.once && !is_known(ipc, &wait->target)) remember(ipc, &wait->target);
		return result;
	}
	const int r = ipc_links_add(ipc->links, wait->call->fd, wait->target.path, &wait->verdict);
	if (r == 0) return result;
	if (r == -ENOSPC) tell_too_many(wait);
	shutdown(wait->call->fd, SHUT_RDWR);
	return -ECONNREFUSED;
}

static void pause_for(struct wait *wait) {
	wait->pause_ms = wait->pause_ms == 0 ? IPC_PAUSE_FIRST_MS : wait->pause_ms * 2;
	if (wait->pause_ms > IPC_PAUSE_MAX_MS) wait->pause_ms = IPC_PAUSE_MAX_MS;
	const struct timeval delay = {.tv_usec = wait->pause_ms * 1000};
	evtimer_add(wait->pause, &delay);
}

/* EAGAIN: the peer's backlog or queue is full, and a blocking call waits as long as its socket says (SO_SNDTIMEO). */
static void wait_carry(struct wait *wait) {
	const int64_t result = carry_out(wait);
	const bool waits = result == -EAGAIN && wait->call->blocking;
	if (waits && (wait->until_ms == 0 || clock_ms(CLOCK_MONOTONIC) < wait->until_ms))
		pause_for(wait);
	else
		wait_answer(wait, note_allowed(wait, result));
}

static void on_pause_over(evutil_socket_t fd, short what, void *argument) {
	struct wait *wait = argument;
	(void)fd, (void)what;
	if (wait->call)
		wait_carry(wait);
	else
		wait_free(wait);
}

static void begin_carrying(struct wait *wait) {
	struct timeval most = {0};
	socklen_t size = sizeof most;
	if (wait->until_ms == 0 && getsockopt(wait->call->fd, SOL_SOCKET, SO_SNDTIMEO, &most, &size) == 0 &&
	    (most.tv_sec > 0 || most.tv_usec > 0))
		wait->until_ms = clock_ms(CLOCK_MONOTONIC) + most.tv_sec * 1000 + most.tv_usec / 1000;
	wait_carry(wait);
}

static void aim_at_target(struct wait *wait) {
	struct sockaddr_un *address = (struct sockaddr_un *)&wait->address;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d", wait->target.fd);
	wait->address_size = sizeof *address;
}

/* Asking */

/* What a rule denies, or none allows, looks as it would if nobody listened there, or nothing were there. */
static int denial(const struct wait *wait, const struct verdict *verdict) {
	static const char *const quiet[] = {"rules", "protect", "none"};
	for (size_t i = 0; !verdict->asked_user && i < ARRAY_LENGTH(quiet); i++)
		if (string_equal(verdict->module, quiet[i])) return wait->target.code;
	return EACCES;
}

/* The verdict is kept. */
static void settle(struct wait *wait) {
	const struct ipc_options *options = &wait->ipc->options;
	const struct verdict *verdict = &wait->verdict;
	if (verdict->effect == EFFECT_ALLOW) {
		begin_carrying(wait);
		return;
	}
	if (options->refused) options->refused(options->context, wait->target.path, verdict);
	wait_answer(wait, -denial(wait, verdict));
}

/* Without a broker there is no verdict. */
static void on_verdict(void *argument, const struct verdict *verdict) {
	struct wait *wait = argument;
	wait->asked = false;
	if (verdict) wait->verdict = verdict_copy(verdict);
	if (wait->call && verdict)
		settle(wait);
	else if (wait->call)
		wait_answer(wait, -EACCES);
	else if (!verdict)
		wait_free(wait);
}

/* The one whose thread was away, and has come back with the same call. */
static struct wait *find_away(const struct wait *wait) {
	struct wait *other;
	TAILQ_FOREACH(other, &wait->ipc->waits, entry) {
		if (!other->call && other->thread == wait->thread && other->kind == wait->kind &&
		    other->target.inode == wait->target.inode && other->target.device == wait->target.device &&
		    string_equal(other->target.path, wait->target.path))
			return other;
	}
	return NULL;
}

/* Takes the call from `fresh`, which is the one without a call then, and gone. */
static void wait_return(struct wait *wait, struct wait *fresh) {
	evtimer_del(wait->pause);
	wait->call = STEAL(fresh->call);
	wait_free(fresh);
	socket_call_on_interrupt(wait->call, on_interrupted, wait);
	if (!wait->asked) settle(wait);
}

static void ask(struct wait *wait) {
	const struct ipc_options *options = &wait->ipc->options;
	if (wait->call->kind == SOCKET_CALL_SEND && is_known(wait->ipc, &wait->target)) {
		begin_carrying(wait);
		return;
	}
	wait->asked = true;
	uint64_t ticket = options->check(options->context, wait->call->thread, wait->target.path, on_verdict, wait);
	if (ticket > 0) wait->ticket = ticket; /* else it is answered, and gone */
}

static struct wait *wait_new(struct ipc *ipc, struct socket_call *call) {
	struct wait *wait = mem_new(struct wait);
	*wait = (struct wait){.ipc = ipc,
			      .call = call,
			      .thread = call->thread,
			      .kind = call->kind,
			      .target = {.fd = -1},
			      .address = call->address,
			      .address_size = call->address_size};
	wait->pause = evtimer_new(ipc->options.base, on_pause_over, wait);
	TAILQ_INSERT_TAIL(&ipc->waits, wait, entry);
	ipc->count++;
	socket_call_on_interrupt(call, on_interrupted, wait);
	return wait;
}

/* A stream or a sequence of packets takes no address with its data: the kernel says so, or passes it over. */
static bool has_target(const struct socket_call *call) {
	return call->kind == SOCKET_CALL_CONNECT || call->type == SOCK_DGRAM;
}

void ipc_call(struct ipc *ipc, struct socket_call *call) {
	if (ipc->count - ipc->away >= LIMIT_IPC_CALLS) {
		socket_call_answer(call, -EAGAIN);
		return;
	}
	struct wait *wait = wait_new(ipc, call);
	CLEANUP_FREE char *path = has_target(call) ? ipc_target_path(call) : NULL;
	if (!path) {
		begin_carrying(wait);
		return;
	}
	ipc_target_find(&ipc->sight, call->thread, path, &wait->target);
	if (wait->target.kind == IPC_TARGET_NONE) {
		wait_answer(wait, -wait->target.code);
		return;
	}
	aim_at_target(wait);
	struct wait *away = wait->target.kind == IPC_TARGET_HOST ? find_away(wait) : NULL;
	if (away)
		wait_return(away, wait);
	else if (wait->target.kind == IPC_TARGET_OWN)
		begin_carrying(wait);
	else
		ask(wait);
}

/* The broker's pushes */

static bool is_asked(void *context, const char *path) {
	const struct ipc *ipc = context;
	return patterns_match(&ipc->asked, path);
}

void ipc_set_view(struct ipc *ipc, const struct view *view) {
	const struct pattern_scope scope = {.home = NULL}; /* the broker has made them absolute */
	patterns_finish(&ipc->asked);
	forget_known(ipc);
	for (size_t i = 0; i < view->sockets_asked.count; i++)
		patterns_add(&ipc->asked, PERMISSION_IPC_CONNECT, view->sockets_asked.items[i], &scope, NULL);
}

void ipc_cut(struct ipc *ipc, const int64_t *grants, size_t count) {
	forget_known(ipc);
	ipc_links_cut(ipc->links, grants, count);
}

static void ask_anew(struct wait *wait) {
	evtimer_del(wait->pause);
	verdict_finish(&wait->verdict);
	ask(wait);
}

/* What was allowed and waits for a full backlog is asked for anew, and so is what was allowed to one that is away. */
static void ask_again(struct ipc *ipc) {
	for (struct wait *wait = TAILQ_FIRST(&ipc->waits), *next; wait; wait = next) {
		next = TAILQ_NEXT(wait, entry);
		if (!wait->call && !wait->asked && wait->verdict.effect == EFFECT_ALLOW)
			wait_free(wait);
		else if (wait->call && wait->target.kind == IPC_TARGET_HOST && evtimer_pending(wait->pause, NULL))
			ask_anew(wait);
	}
}

void ipc_review(struct ipc *ipc) {
	forget_known(ipc);
	ask_again(ipc);
	ipc_links_review(ipc->links);
}

bool ipc_is_cut(const struct ipc *ipc) {
	return ipc_links_are_cut(ipc->links);
}

static bool is_own(void *context, dev_t device, ino_t inode, char **ret_name) {
	const struct ipc *ipc = context;
	return ipc->options.is_own(ipc->options.context, device, inode, ret_name);
}

struct ipc *ipc_new(const struct ipc_options *options) {
	struct ipc *ipc = mem_new(struct ipc);
	*ipc = (struct ipc){
		.options = *options,
		.sight = {.curtain = options->curtain, .is_own = is_own, .asked = is_asked, .context = ipc}};
	TAILQ_INIT(&ipc->waits);
	ipc->links = ipc_links_new(options);
	return ipc;
}

void ipc_free(struct ipc *ipc) {
	if (!ipc) return;
	for (struct wait *wait = TAILQ_FIRST(&ipc->waits), *next; wait; wait = next) {
		next = TAILQ_NEXT(wait, entry);
		if (wait->call)
			wait_answer(wait, -EINTR);
		else
			wait_free(wait);
	}
	ipc_links_free(ipc->links);
	patterns_finish(&ipc->asked);
	forget_known(ipc);
	free(ipc);
}
