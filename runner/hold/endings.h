/*
 * endings: what the broker says has ended (`ended`) waits here until its connections are cut, which may take questions
 * to the broker and looks at the sandbox's processes, before it is handed on to who answers `settled`.
 *
 * Promises: they are handed on in their order, each once; at once where nothing is to be waited for.
 */
#pragma once

#include <event2/event.h>

#include "keeper.h"
#include "network/network.h"

struct endings;

struct endings_options {
	struct event_base *base;
	const struct network *network; /* borrowed: cuts what has ended */
	struct keeper *keeper;         /* borrowed: keeper_ended, when nothing of it is connected any more */
};

struct endings *endings_new(const struct endings_options *options);
void endings_free(struct endings *endings);

void endings_add(struct endings *endings, const struct session_ended *ended); /* copied */
void endings_flush(struct endings *endings); /* the broker is gone: nobody is answered, and nobody can judge */
