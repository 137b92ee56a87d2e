/*
 * socket_calls: connect(2), sendto(2) with an address, and where they are wanted bind(2) and listen(2), held by the
 * filter.
 *
 * Promises: what a handler is given was copied once and is never read again (attack N9): our duplicate of the very
 * socket, the address, the data. A handler carries the call out on the duplicate, or refuses it; it is never continued,
 * since the tool could put another socket or another address in their place meanwhile. A socket of another network than
 * the sandbox's (one that was handed in from outside) is refused with EACCES, a wrong descriptor as the kernel would.
 * Signals with a handler, the freezer and death of the thread end a held call (K9, K6). Bounded; nothing but
 * socket_take and the closing of what was taken can block.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "call.h"

struct socket_calls;

enum socket_call_kind { SOCKET_CALL_CONNECT, SOCKET_CALL_SEND, SOCKET_CALL_BIND, SOCKET_CALL_LISTEN };

/* Read-only for handlers. */
struct socket_call {
	enum socket_call_kind kind;
	pid_t thread;
	int fd;     /* our duplicate, of the sandbox's network; gone with the call */
	int number; /* the tool's descriptor */
	int domain, type, protocol;
	bool blocking;                   /* neither O_NONBLOCK nor MSG_DONTWAIT */
	struct sockaddr_storage address; /* as long as address_size says, zeroes behind; not of listen(2) */
	socklen_t address_size;
	void *data; /* of sends: the one copy */
	size_t size;
	int flags;        /* of sends */
	int backlog;      /* of listen(2) */
	bool comes_again; /* it is interrupted by a signal with a handler: mostly it is made anew after that */
};

struct socket_calls_options {
	struct event_base *base;
	int listener;    /* of the filter; borrowed */
	uint64_t cookie; /* SO_NETNS_COOKIE of the sandbox's network (socket(7)); 0: not known, all are refused */
	/* Each call that it is given is ended exactly once, now or later. */
	void (*handle)(void *context, struct socket_call *call);
	void *context;
};

struct socket_calls *socket_calls_new(const struct socket_calls_options *options);

/* Which one a system call is; false: none of them. */
bool socket_call_kind(int number, enum socket_call_kind *ret_kind);

/* Whose descriptors were looked at last; one for each thread that takes. Zeroed: nobody's. */
struct socket_caller {
	pid_t thread; /* 0: nobody */
	int pidfd;
};
void socket_caller_finish(struct socket_caller *caller);

/* A call's descriptor and data, taken from the tool. */
struct socket_taken {
	struct socket_call call;
	uint64_t cookie; /* of the socket's network */
	int code;        /* what the call fails with, or 0 */
};

/* `arguments` as seccomp_data(2) has them. In any thread: it waits for as long as the tool's memory makes it wait.
 * False: nothing is taken, the call is an AF_UNIX socket's bind(2), which makes a name (call_table.h), or listen(2),
 * whose caller is the peer that others see (unix(7), SO_PEERCRED). */
bool socket_take(struct socket_caller *caller, enum socket_call_kind kind, pid_t thread,
		 const uint64_t arguments[CALL_ARGUMENTS], struct socket_taken *ret_taken);
void socket_taken_finish(struct socket_taken *taken); /* of one that isn't added */

/* The call that was taken is held from now on; `taken` is taken over. */
void socket_calls_add(struct socket_calls *calls, uint64_t id, struct socket_taken *taken);

/* The machine or the sandbox is about to sleep: all are interrupted. */
void socket_calls_interrupt(struct socket_calls *calls);
size_t socket_calls_count(const struct socket_calls *calls);

/* Handlers that hold calls are gone by then: what still waits gets EINTR. */
void socket_calls_free(struct socket_calls *calls);
DEFINE_CLEANUP(struct socket_calls *, socket_calls_free);

/* The ends; the call is gone after each. `result`: what the call returns, >= 0, or -errno. */
void socket_call_answer(struct socket_call *call, int64_t result);

/* The call returns 0 and the tool's descriptor is another socket from then on (borrowed): in one step where nothing
 * else of the tool's can come between. Only for `direct: true`. Negative errno: answered with EACCES instead. */
int socket_call_replace(struct socket_call *call, int fd);

/* Called at most once while the call is held, when it must come back: the handler gives up what it does, or lets it go
 * on without the tool, and answers from within, with -EINTR. Without one -EINTR is answered. */
void socket_call_on_interrupt(struct socket_call *call, void (*interrupted)(void *argument), void *argument);

/* Carries the connect(2) out on the duplicate without waiting, whatever its mode. 0, or -errno: -EINPROGRESS,
 * -EALREADY: once the duplicate is writable call it again, which says how it ended, as connect(2) says it to a tool;
 * -EINTR: the tool made it wait all the same, and it was broken off. */
int socket_call_connect(const struct socket_call *call, const struct sockaddr *address, socklen_t size);
