/*
 * loop: the event loop that every program here runs in.
 *
 * Promises: it waits by poll(2). The kernel counts the watches of epoll(7) by user (fs.epoll.max_user_watches), in
 * whatever namespace, and no filter can: a sandbox can take all of them, and a program that needs one to serve would
 * serve nobody (attack R6). poll(2) takes nothing that a user could run out of. Nothing in the environment chooses
 * another way. Allocation ends the process (memory.h), so event_new and event_add don't fail for want of memory, and
 * a descriptor that is open can always be waited for.
 *
 * A timer's time begins when it is added, not when the callback that adds it was called (libevent keeps that time
 * otherwise): a deadline doesn't come sooner where the loop is late.
 *
 * poll(2) tells what is so, not what has changed: who waits for a socket to be writable is told at once and again and
 * again until he no longer waits (EV_ET does nothing here).
 */
#pragma once

#include <event2/event.h>

/* Priorities (event_priority_set): of events that are ready at once, those with LOOP_FIRST are served before all
 * others. */
enum { LOOP_FIRST, LOOP_USUAL, LOOP_PRIORITIES };

struct event_base *loop_new(void); /* freed with event_base_free */
