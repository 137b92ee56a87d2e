#include "history_fixture.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/home.h"

static void open_all(struct world *world) {
	assert_int_equal(store_open(world->path, &world->store, NULL), 0);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
}

static void close_all(struct world *world) {
	history_free(world->history);
	store_free(world->store);
}

int world_setup(void **state) {
	static unsigned number;
	struct world *world = mem_new(struct world);
	CLEANUP_FREE char *name = string_format("db%u/sbx.db", number++);
	world->path = home_path(name);
	world->time_ms = FIXTURE_START_MS;
	open_all(world);
	*state = world;
	return 0;
}

int world_teardown(void **state) {
	struct world *world = *state;
	close_all(world);
	free(world->path);
	free(world);
	return 0;
}

void world_reopen(struct world *world) {
	close_all(world);
	open_all(world);
}

void world_append(struct world *world, enum event_kind kind, int64_t session, const char *profile, const char *project,
		  const char *permission, int verdict) {
	struct event event = {.time_ms = world->time_ms,
			      .kind = kind,
			      .session = session,
			      .profile = (char *)profile,
			      .project = (char *)project,
			      .permission = (char *)permission,
			      .target = (char *)"svc.test:443",
			      .verdict = verdict,
			      .by = (char *)"rules",
			      .why = (char *)"\xff\x1b[31m \u202e bytes",
			      .detail = json_pack("{s:s, s:i}", "state", "shown", "bytes", 12)};
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
	json_decref(event.detail);
}

void world_digest(struct world *world) {
	while (history_digest_is_due(world->history)) assert_int_equal(history_digest(world->history, NULL), 0);
}

static sqlite3 *database(struct world *world) {
	return sqlite3_db_handle(store_statement(world->store, STORE_STATE_READ));
}

void world_tamper(struct world *world, const char *sql) {
	assert_int_equal(sqlite3_exec(database(world), "DROP TRIGGER IF EXISTS events_are_final", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(database(world), sql, NULL, NULL, NULL), SQLITE_OK);
}

int64_t world_number(struct world *world, const char *sql) {
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_prepare_v2(database(world), sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

struct history_check world_verify(struct world *world) {
	struct history_check check = {0};
	struct history_walk walk = {0};
	do assert_int_equal(history_verify(world->history, &walk, check.next, &check, NULL), 0);
	while (check.next != 0);
	return check;
}
