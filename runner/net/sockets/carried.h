/*
 * carried: a connect(2) or sendto(2) that is carried out on the duplicate, with the one copy, and may take its time.
 *
 * Promises: ends as the kernel would have ended the tool's own: at once, or for a socket that blocks when it is done,
 * after its time-out (SO_SNDTIMEO, socket(7)), or by a signal. We never wait.
 */
#pragma once

#include <event2/event.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct carried;
struct socket_call;

TAILQ_HEAD(carried_list, carried);

/* To `address`, which may be another one than the call's. The call is taken over; while it waits it is in the list. */
void carried_out(struct event_base *base, struct carried_list *list, struct socket_call *call,
		 const struct sockaddr *address, socklen_t size);
void carried_end_all(struct carried_list *list); /* with EINTR */
