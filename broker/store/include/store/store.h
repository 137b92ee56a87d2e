/*
 * store: the SQLite database: opening, forms, statements, transactions (design section 6).
 *
 * Promises: 0600 in a private directory; a newer form, a foreign file, a damaged or read-only one is refused with a
 * sentence and nothing is overwritten (attack B14); statements are prepared once; a transaction that was not committed
 * is rolled back. SQL is only in store.c's table, schema/migrations.c and nowhere else.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum store_statement {
	STORE_BEGIN,
	STORE_COMMIT,
	STORE_ROLLBACK,
	STORE_STATE_READ,
	STORE_STATE_LAST,
	STORE_STATE_HEAD,
	STORE_STATE_PROMPT,
	STORE_SESSION_OF_PROJECT,
	STORE_SESSION_INSERT,
	STORE_SESSION_VIEW,
	STORE_VIEW_INSERT,
	STORE_SESSION_END,
	STORE_SESSION_LIST,
	STORE_SESSION_LIST_BACK,
	STORE_SESSION_UNENDED,
	STORE_SESSION_LOST,
	STORE_GRANT_INSERT,
	STORE_GRANT_KEY,
	STORE_GRANT_KEY_BEFORE,
	STORE_GRANT_PATTERNS,
	STORE_GRANT_LOOKUP,
	STORE_GRANT_READ,
	STORE_GRANT_ALIKE,
	STORE_GRANT_LAST,
	STORE_GRANT_OF_PERMISSION,
	STORE_GRANT_AT,
	STORE_GRANT_BETWEEN,
	STORE_GRANT_ANYWHERE,
	STORE_GRANT_OF_SUBJECT,
	STORE_GRANT_OF_SESSION,
	STORE_GRANT_OF_SESSIONS,
	STORE_GRANT_DENIED_IN,
	STORE_GRANT_OF_PROFILE,
	STORE_GRANT_IN_FORCE,
	STORE_GRANT_IN_FORCE_BACK,
	STORE_GRANT_SPENT,
	STORE_GRANT_LIST,
	STORE_GRANT_LIST_BACK,
	STORE_GRANT_NETWORKS,
	STORE_GRANT_EXPIRED_WALL,
	STORE_GRANT_EXPIRED_BOOT,
	STORE_GRANT_NEXT_WALL,
	STORE_GRANT_NEXT_BOOT,
	STORE_GRANT_USE,
	STORE_GRANT_END,
	STORE_GRANT_REVOKE,
	STORE_REVOCATION_INSERT,
	STORE_REVOCATION_LIST,
	STORE_REVOCATION_DELETE,
	STORE_WRITABLE_FIND,
	STORE_WRITABLE_INSERT,
	STORE_ROOTS_OF,
	STORE_ROOTS_INSERT,
	STORE_ROOTS_DELETE,
	STORE_TRUST_FIND,
	STORE_TRUST_INSERT,
	STORE_TRUST_DELETE,
	STORE_EVENT_INSERT,
	STORE_EVENT_READ,
	STORE_EVENT_LIST,
	STORE_EVENT_LIST_BACK,
	STORE_EVENT_VERIFY,
	STORE_EVENT_DIGEST,
	STORE_EVENT_REMOVE,
	STORE_STATE_ANCHOR,
	STORE_UPKEEP_READ,
	STORE_UPKEEP_DIGEST,
	STORE_UPKEEP_REMOVED,
	STORE_UPKEEP_CLOCK,
	STORE_POSTING_WRITE,
	STORE_POSTING_READ,
	STORE_POSTING_NEXT,
	STORE_POSTING_PREVIOUS,
	STORE_POSTING_REMOVE,
	STORE_ZONE_WRITE,
	STORE_ZONE_READ,
	STORE_ZONE_REMOVE,
	STORE_SUBJECT_INSERT,
	STORE_SUBJECT_FIND,
	STORE_TALLY_ADD,
	STORE_TALLY_REMOVE,
	STORE_TALLY_SUM,
	STORE_TALLY_BEFORE,
	STORE_TALLY_WALK,
	STORE_TALLY_FORGET,
	STORE_GRANT_REMOVE,
	STORE_SESSION_REMOVE,
};
enum { STORE_STATEMENT_COUNT = STORE_SESSION_REMOVE + 1 };

/* How much must be on the disk when store_commit returns: PRAGMA synchronous. */
enum store_sync {
	STORE_NORMAL, /* survives the end of the process */
	STORE_FULL,   /* and of the machine */
};

struct store;

int store_open(const char *path, struct store **ret_store, struct error *error);
void store_free(struct store *store);
const char *store_path(const struct store *store); /* of the database; borrowed */

/*
 * A prepared statement, reset and without values; borrowed. The error of a step is told by store_error, which
 * returns the negative errno for SQLite's code (-EIO for most).
 */
sqlite3_stmt *store_statement(struct store *store, enum store_statement statement);
int store_error(struct store *store, struct error *error, const char *what);

/* Bind by number from 1, as sqlite3_bind_* do; the text must live until the statement is run; NULL is SQL's null. */
void store_bind_text(sqlite3_stmt *statement, int number, const char *text);
void store_bind_integer(sqlite3_stmt *statement, int number, int64_t value);
void store_bind_blob(sqlite3_stmt *statement, int number, const void *bytes, size_t size);
const char *store_column(sqlite3_stmt *statement, int column); /* NULL for null; borrowed until the next step */

/* Run a statement that returns no row. */
int store_run(struct store *store, sqlite3_stmt *statement, struct error *error, const char *what);
int64_t store_last_id(const struct store *store);

int store_begin(struct store *store, enum store_sync sync, struct error *error);
int store_commit(struct store *store, struct error *error); /* rolls back when it fails */
void store_rollback(struct store *store);                   /* does nothing outside of a transaction */

/*
 * A write has failed in a way that leaves open what of it is on the disk. Nothing more is written then; only opening
 * the database again can tell. The caller should end.
 */
bool store_is_doubtful(const struct store *store);
int store_check(const struct store *store, struct error *error); /* -EIO when it is */
