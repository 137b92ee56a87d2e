/*
 * pagers: processes of our own group (a pager in our pipeline) that read or write the terminal while it is a
 * question's. The kernel stops them, and sends the same signal to all of the group, us too: SIGTTIN, SIGTTOU
 * (tty_check_change in drivers/tty/tty_jobctrl.c).
 *
 * Promises: while they are watched such a signal doesn't stop us beside a question that has the terminal, and whoever
 * it has stopped is continued by pagers_continue.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

struct pagers;

struct pagers_options {
	struct event_base *base;
	bool (*beside)(void *context);   /* does a question of ours have the terminal, or are we about to put one? */
	void (*stopped)(void *context);  /* the first of them since pagers_continue has been stopped beside it */
	void (*stopping)(void *context); /* the terminal is somebody else's: we stop, too, as soon as this is back */
	void *context;
};

struct pagers *pagers_new(const struct pagers_options *options);

/* Only while a question stands, when we ourselves neither read nor change the terminal: the kernel would begin such a
 * call of ours again after each signal, for ever. A signal that comes as the question ends is not seen, so whoever
 * watches calls pagers_continue in any case. */
void pagers_watch(struct pagers *pagers, bool watched);
void pagers_continue(struct pagers *pagers); /* all of our group goes on; nothing if they were not watched since */
bool pagers_went_on(struct pagers *pagers);  /* after a stop of all of us: had any been stopped before? */
void pagers_free(struct pagers *pagers);
