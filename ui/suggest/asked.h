/*
 * asked: the rows of a history as what was asked, each thing once with its counts.
 *
 * Promises: bounded by LIMIT_SUGGEST_ASKED; what has no room any more is counted; denials stay, and
 * then the newest: an allow without the denial that lies in it would be too wide.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "schema/event.h"
#include "schema/grant.h"

enum asked_outcome {
	ASKED_GRANTED,   /* a grant answered, made by the answer or before */
	ASKED_DENIED,    /* the user said no to this once: there is no grant */
	ASKED_RECORDED,  /* --record said no */
	ASKED_OPEN,      /* nobody answered, or nobody was there */
	ASKED_UNDECIDED, /* no rule speaks of it, so nobody was asked: only --record learns from it */
};

struct asked {
	enum asked_outcome outcome;
	char *profile, *project, *target; /* owned */
	struct permission permission;
	int64_t grant;   /* 0: none */
	int64_t session; /* of what --record denied, or might have; else 0 */
	bool denied;
	int64_t asked, used, last_ms;
};

struct asked_list {
	struct asked *items;
	size_t count;
	size_t left; /* rows about things that had no room */
};

/* Does the row tell of something asked? Then *ret_asked is filled; its texts are borrowed. */
bool asked_of_event(const struct event *event, struct asked *ret_asked);

void asked_list_add(struct asked_list *list, const struct asked *asked);
void asked_list_settle(struct asked_list *list); /* each once, in a fixed order */
void asked_list_finish(struct asked_list *list);
