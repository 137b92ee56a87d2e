/*
 * session: one run of `sbx run`, as listings show it (JSON keys of design section 9).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"

enum { SESSION_RUNNING = -1, SESSION_LOST = -2 };

struct session_record {
	int64_t id;
	char *profile, *project, *command; /* owned */
	int64_t pid;
	int64_t started_ms, ended_ms; /* wall clock; 0 = not ended */
	int exit;                     /* status, SESSION_RUNNING, or SESSION_LOST: the runner vanished */
	bool hung_up;                 /* that ended it: for the history's row alone */
	struct strings published;     /* of one that runs: "PORT:HOSTPORT" (publication.h); owned */
};

void session_record_finish(struct session_record *record);
json_t *session_record_to_json(const struct session_record *record);
int session_record_from_json(const json_t *json, struct session_record *ret_record, struct error *error);
#define CLEANUP_SESSION __attribute__((cleanup(session_record_finish)))
