/*
 * hangup: the end of the terminal that we were started in (its window or its ssh connection is closed, tmux is killed,
 * its shell has ended), and SIGHUP.
 *
 * Promises: that the terminal is gone is told by the terminal itself: SIGHUP reaches neither a background process nor
 * one whose question has the foreground (setpgid(2), tty_hangup in drivers/tty/tty_io.c). Nothing is told to a user who
 * wants it to go on: SIGHUP was ignored at the start, as nohup(1) does, or, but for the signal, there is no controlling
 * terminal, as after setsid(1).
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

struct hangup;

/* Early: a terminal that is gone can't be told from none. SIGHUP is left as it is until hangup_watch. */
struct hangup *hangup_new(struct event_base *base);

/* `told`: the terminal is `gone`, or it is only the signal. NULL: nobody is told, and the signal does nothing. */
void hangup_watch(struct hangup *hangup, void (*told)(void *context, bool gone), void *context);

bool hangup_has_come(const struct hangup *hangup); /* the terminal is gone, also before it is told; NULL: it isn't */
void hangup_free(struct hangup *hangup);

bool hangup_of(int terminal); /* this descriptor leads nowhere any more */
