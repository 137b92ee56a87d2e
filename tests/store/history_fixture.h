/*
 * history_fixture: a store with a history in a database of its own, for tests that see the room's private headers.
 *
 * Promises: times and values of rows are what the test says; a failing step fails the test. Needs home_make.
 */
#pragma once

#include "store/history.h"
#include "support/cmocka.h"

enum { FIXTURE_START_S = 1700000000 };
#define FIXTURE_START_MS (INT64_C(1000) * FIXTURE_START_S) /* 2023-11-14T22:13:20Z */

struct world {
	char *path;
	struct store *store;
	struct history *history;
	int64_t time_ms; /* of the next row */
};

int world_setup(void **state);
int world_teardown(void **state);
void world_reopen(struct world *world); /* as the next sbxd would */

/* One row in a transaction of its own; texts may be NULL, verdict -1. */
void world_append(struct world *world, enum event_kind kind, int64_t session, const char *profile, const char *project,
		  const char *permission, int verdict);
void world_digest(struct world *world); /* until nothing is due */

/* As somebody with the file and a copy of sqlite3 would. */
void world_tamper(struct world *world, const char *sql);
int64_t world_number(struct world *world, const char *sql); /* the first column of the first row */

struct history_check world_verify(struct world *world);
