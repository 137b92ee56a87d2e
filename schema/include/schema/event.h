/*
 * event: one row of the history (JSON keys of design section 9).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

enum event_kind {
	EVENT_DECISION,
	EVENT_PROMPT,
	EVENT_ANSWER,
	EVENT_GRANT,
	EVENT_USE,
	EVENT_REVOKE,
	EVENT_EXPIRE,
	EVENT_CONNECTION,
	EVENT_REPAIR,
	EVENT_SESSION_START,
	EVENT_SESSION_END,
	EVENT_POLICY,
	EVENT_FINDING,
};
enum { EVENT_KIND_COUNT = EVENT_FINDING + 1 };

const char *event_kind_name(enum event_kind kind);
int event_kind_parse(const char *name, enum event_kind *ret_kind, struct error *error);

struct event {
	int64_t seq;
	int64_t time_ms;
	enum event_kind kind;
	int64_t session;                   /* 0 = none */
	char *profile, *project, *process; /* each may be NULL */
	char *permission, *target;         /* each may be NULL */
	int verdict;                       /* -1 = none, else enum effect (deny or allow) */
	char *by;                          /* module, or NULL */
	char *why;                         /* or NULL */
	int64_t grant, prompt;             /* 0 = none */
	json_t *detail;                    /* object or NULL; owned */
};

void event_finish(struct event *event);
json_t *event_to_json(const struct event *event);
int event_from_json(const json_t *json, struct event *ret_event, struct error *error);
#define CLEANUP_EVENT __attribute__((cleanup(event_finish)))
