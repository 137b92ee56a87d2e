/*
 * Theory of operation, when the disk fails.
 *
 * A commit is frames at the end of the log, the last of which says that it is one, and with STORE_FULL a sync. When
 * that sync fails, SQLite rolls back in its memory, but the frames may be in the file, and whoever
 * opens it next finds them committed. And after a sync that failed, one that succeeds says nothing of what was written
 * before the failure: Linux has marked those pages clean ("PostgreSQL's fsync() surprise", LWN 752063), so a later
 * answer would be durable only if what it follows in the log was. So the store believes nothing any more: it is
 * doubtful, every transaction from then on is refused, and the broker leaves. Who opens the file anew reads what the
 * kernel has of it, copies the log back into the database with a sync of its own, and is told when that fails as well.
 * The same holds when copying back fails in between (sqlite.org/wal.html, checkpointing).
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/migrations.h"

#define GRANT_COLUMNS                                                                                                  \
	"id, permission, pattern, effect, profile, project, session, lifetime, created_ms, expires_ms, "               \
	"expires_boot_ms, boot_id, origin, prompt, reason, uses, last_used_ms, revoked_ms, revoked_by, resolved"
#define EVENT_COLUMNS                                                                                                  \
	"seq, time_ms, kind, session, profile, project, process, permission, target, verdict, by, why, grant_id, "     \
	"prompt, detail, hash"
/* One way or the other through a table: ids between ?1 and ?2, both excluded. */
#define BETWEEN(id, way) " WHERE " id " > ?1 AND " id " < ?2 ORDER BY " id way
/* Those of effect ?3 among the first ?2 of permission ?1: of the others no row is made. */
#define GRANTS_AMONG(keys)                                                                                             \
	"SELECT " GRANT_COLUMNS " FROM (SELECT id AS found, effect AS said FROM grants"                                \
	" WHERE active = 1 AND permission = ?1" keys " LIMIT ?2) CROSS JOIN grants ON id = found WHERE said = ?3"
#define SESSION_COLUMNS "id, profile, project, command, pid, started_ms, ended_ms, exit"

static const char *const statements[] = {
	[STORE_BEGIN] = "BEGIN IMMEDIATE",
	[STORE_COMMIT] = "COMMIT",
	[STORE_ROLLBACK] = "ROLLBACK",
	[STORE_STATE_READ] = "SELECT head_seq, head_hash, anchor_seq, anchor_hash, last_prompt FROM state WHERE id = 1",
	[STORE_STATE_LAST] = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1",
	[STORE_STATE_HEAD] = "UPDATE state SET head_seq = ?1, head_hash = ?2 WHERE id = 1",
	[STORE_STATE_PROMPT] = "UPDATE state SET last_prompt = ?1 WHERE id = 1",
	[STORE_SESSION_OF_PROJECT] = "SELECT 1 FROM sessions WHERE project = ?1 AND id < ?2 LIMIT 1",
	[STORE_SESSION_INSERT] =
		"INSERT INTO sessions (profile, project, command, pid, started_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
	[STORE_SESSION_VIEW] = "UPDATE sessions SET view = ?2 WHERE id = ?1",
	[STORE_VIEW_INSERT] = "INSERT OR IGNORE INTO views (hash, text) VALUES (?1, ?2)",
	[STORE_SESSION_END] = "UPDATE sessions SET ended_ms = ?2, exit = ?3 WHERE id = ?1 AND ended_ms = 0",
	[STORE_SESSION_LIST] = "SELECT " SESSION_COLUMNS " FROM sessions" BETWEEN("id", ""),
	[STORE_SESSION_LIST_BACK] = "SELECT " SESSION_COLUMNS " FROM sessions" BETWEEN("id", " DESC"),
	[STORE_SESSION_UNENDED] = "SELECT " SESSION_COLUMNS " FROM sessions WHERE ended_ms = 0",
	[STORE_SESSION_LOST] = "SELECT " SESSION_COLUMNS ", max(id) FROM sessions WHERE exit = ?1 GROUP BY pid",
	[STORE_GRANT_INSERT] =
		"INSERT INTO grants (active, permission, key, pattern, effect, profile, project, session, lifetime,"
		" created_ms, expires_ms, expires_boot_ms, boot_id, origin, prompt, reason, uses, last_used_ms, "
		"resolved)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
	[STORE_GRANT_KEY] = "SELECT 1 FROM grants WHERE active = 1 AND permission = ?1 AND key = ?2 LIMIT 1",
	[STORE_GRANT_KEY_BEFORE] = "SELECT key FROM grants WHERE active = 1 AND permission = ?1 AND key <= ?2"
				   " ORDER BY key DESC LIMIT 1",
	[STORE_GRANT_PATTERNS] = "SELECT pattern FROM grants WHERE active = 1 AND permission = ?1"
				 " AND key >= ?2 AND key < ?3 LIMIT ?4",
	[STORE_GRANT_LOOKUP] = "SELECT " GRANT_COLUMNS " FROM grants WHERE active = 1 AND permission = ?1 AND key = ?2"
			       " AND project = ?3 AND profile = ?4 AND session IS ?5"
			       " AND (?6 IS NULL OR effect = ?6) LIMIT ?7",
	[STORE_GRANT_ALIKE] = "SELECT 1 FROM grants WHERE active = 1 AND permission = ?1 AND key = ?2"
			      " AND project = ?3 AND profile = ?4 AND session IS ?5 LIMIT 1 OFFSET ?6",
	[STORE_GRANT_READ] = "SELECT " GRANT_COLUMNS ", active FROM grants WHERE id = ?1",
	[STORE_GRANT_LAST] = "SELECT max(id) FROM grants",
	[STORE_GRANT_OF_PERMISSION] = "SELECT " GRANT_COLUMNS " FROM grants INDEXED BY grants_lookup"
				      " WHERE active = 1 AND permission = ?1",
	[STORE_GRANT_AT] = GRANTS_AMONG(" AND key = ?4"),
	[STORE_GRANT_BETWEEN] = GRANTS_AMONG(" AND key >= ?4 AND key < ?5"),
	[STORE_GRANT_ANYWHERE] = GRANTS_AMONG(""),
	[STORE_GRANT_OF_SUBJECT] =
		"SELECT " GRANT_COLUMNS
		" FROM grants WHERE active = 1 AND project = ?1 AND profile = ?2 AND session IS ?3"
		" AND effect = ?4 AND permission <> 'net:access' AND lifetime <> 'once' ORDER BY id DESC",
	[STORE_GRANT_OF_SESSION] = "SELECT " GRANT_COLUMNS " FROM grants WHERE active = 1 AND session IS NOT NULL"
				   " AND session = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4",
	[STORE_GRANT_DENIED_IN] = "SELECT " GRANT_COLUMNS " FROM grants"
				  " WHERE session = ?1 AND effect = 'deny' AND ifnull(revoked_ms, 0) = 0 ORDER BY id",
	[STORE_GRANT_OF_SESSIONS] = "SELECT " GRANT_COLUMNS " FROM grants WHERE active = 1 AND session IS NOT NULL"
				    " AND id <= ?3 LIMIT ?4",
	[STORE_GRANT_OF_PROFILE] = "SELECT " GRANT_COLUMNS " FROM grants WHERE active = 1 AND profile = ?1"
				   " AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4",
	[STORE_GRANT_IN_FORCE] = "SELECT " GRANT_COLUMNS ", active FROM grants INDEXED BY grants_in_force"
				 " WHERE active = 1 AND id > ?1 AND id < ?2 ORDER BY id",
	[STORE_GRANT_IN_FORCE_BACK] = "SELECT " GRANT_COLUMNS ", active FROM grants INDEXED BY grants_in_force"
				      " WHERE active = 1 AND id > ?1 AND id < ?2 ORDER BY id DESC",
	[STORE_GRANT_SPENT] = "SELECT " GRANT_COLUMNS " FROM grants WHERE active = 0 AND lifetime = 'once'"
			      " AND effect = 'allow' AND uses > 0 AND (ifnull(revoked_ms, 0) <> 0) = ?2"
			      " ORDER BY id DESC LIMIT ?1",
	[STORE_GRANT_LIST] = "SELECT " GRANT_COLUMNS ", active FROM grants" BETWEEN("id", ""),
	[STORE_GRANT_LIST_BACK] = "SELECT " GRANT_COLUMNS ", active FROM grants" BETWEEN("id", " DESC"),
	[STORE_GRANT_NETWORKS] = "SELECT key FROM grants"
				 " WHERE active = 1 AND permission = 'net:access' AND instr(key, '/') > 0",
	[STORE_GRANT_EXPIRED_WALL] = "SELECT " GRANT_COLUMNS " FROM grants"
				     " WHERE active = 1 AND expires_ms > 0 AND expires_ms <= ?1 LIMIT ?2",
	/* What has ended by both clocks is found by the other. */
	[STORE_GRANT_EXPIRED_BOOT] =
		"SELECT " GRANT_COLUMNS " FROM grants"
		" WHERE active = 1 AND expires_boot_ms > 0 AND boot_id = ?3"
		" AND expires_boot_ms <= ?4 AND NOT (expires_ms > 0 AND expires_ms <= ?1) LIMIT ?2",
	[STORE_GRANT_NEXT_WALL] = "SELECT min(expires_ms) FROM grants WHERE active = 1 AND expires_ms > 0",
	[STORE_GRANT_NEXT_BOOT] = "SELECT min(expires_boot_ms) FROM grants"
				  " WHERE active = 1 AND expires_boot_ms > 0 AND boot_id = ?1",
	[STORE_GRANT_USE] = "UPDATE grants SET uses = uses + ?2, last_used_ms = ?3 WHERE id = ?1",
	[STORE_GRANT_END] = "UPDATE grants SET active = 0 WHERE id = ?1 AND active = 1",
	[STORE_GRANT_REVOKE] = "UPDATE grants SET active = 0, revoked_ms = ?2, revoked_by = ?3 WHERE id = ?1"
			       " AND (active = 1 OR (lifetime = 'once' AND ifnull(revoked_ms, 0) = 0))",
	[STORE_REVOCATION_INSERT] = "INSERT INTO revocations (what, profile, session, last_id, revoked_by)"
				    " VALUES (?1, ?2, ?3, ?4, ?5)",
	[STORE_REVOCATION_LIST] = "SELECT id, what, profile, session, last_id, revoked_by FROM revocations ORDER BY id",
	[STORE_REVOCATION_DELETE] = "DELETE FROM revocations WHERE id = ?1",
	[STORE_WRITABLE_FIND] = "SELECT 1 FROM writable WHERE path = ?1",
	[STORE_WRITABLE_INSERT] = "INSERT OR IGNORE INTO writable (path) VALUES (?1)",
	[STORE_ROOTS_OF] = "SELECT path FROM roots WHERE project = ?1 ORDER BY id LIMIT ?2",
	[STORE_ROOTS_INSERT] = "INSERT OR IGNORE INTO roots (project, path) SELECT ?1, ?2"
			       " WHERE (SELECT count(*) FROM roots WHERE project = ?1) < ?3",
	[STORE_ROOTS_DELETE] = "DELETE FROM roots WHERE project = ?1 AND path = ?2",
	[STORE_TRUST_FIND] = "SELECT 1 FROM trusts WHERE project = ?1 AND hash = ?2",
	[STORE_TRUST_INSERT] = "INSERT OR IGNORE INTO trusts (project, hash, trusted_ms) VALUES (?1, ?2, ?3)",
	[STORE_TRUST_DELETE] = "DELETE FROM trusts WHERE project = ?1",
	[STORE_EVENT_INSERT] = "INSERT INTO events (" EVENT_COLUMNS
			       ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
	[STORE_EVENT_READ] = "SELECT " EVENT_COLUMNS " FROM events WHERE seq = ?1",
	[STORE_EVENT_LIST] = "SELECT " EVENT_COLUMNS " FROM events" BETWEEN("seq", ""),
	[STORE_EVENT_LIST_BACK] = "SELECT " EVENT_COLUMNS " FROM events" BETWEEN("seq", " DESC"),
	[STORE_EVENT_VERIFY] = "SELECT " EVENT_COLUMNS " FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
	[STORE_EVENT_DIGEST] =
		"SELECT seq, time_ms, kind, session, profile, project, permission, verdict,"
		" CASE WHEN kind = 'prompt' OR (kind = 'decision' AND permission IS NULL) THEN detail END,"
		" grant_id FROM events"
		" WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
	[STORE_EVENT_REMOVE] = "DELETE FROM events WHERE seq > ?1 AND seq <= ?2",
	[STORE_STATE_ANCHOR] = "UPDATE state SET anchor_seq = ?1, anchor_hash = ?2 WHERE id = 1",
	[STORE_UPKEEP_READ] =
		"SELECT indexed_seq, tallied_seq, removed, clock_ms, seen_ms, run_ms FROM upkeep WHERE id = 1",
	[STORE_UPKEEP_DIGEST] = "UPDATE upkeep SET indexed_seq = ?1, tallied_seq = ?2 WHERE id = 1",
	[STORE_UPKEEP_REMOVED] = "UPDATE upkeep SET removed = ?1 WHERE id = 1",
	[STORE_UPKEEP_CLOCK] = "UPDATE upkeep SET clock_ms = ?1, seen_ms = ?2, run_ms = ?3 WHERE id = 1",
	[STORE_POSTING_WRITE] = "INSERT OR REPLACE INTO postings (key, block, rows) VALUES (?1, ?2, ?3)",
	[STORE_POSTING_READ] = "SELECT rows FROM postings WHERE key = ?1 AND block = ?2",
	[STORE_POSTING_NEXT] = "SELECT block, rows FROM postings WHERE key = ?1 AND block >= ?2 ORDER BY block LIMIT 1",
	[STORE_POSTING_PREVIOUS] =
		"SELECT block, rows FROM postings WHERE key = ?1 AND block <= ?2 ORDER BY block DESC LIMIT 1",
	[STORE_POSTING_REMOVE] = "DELETE FROM postings WHERE key = ?1 AND block = ?2",
	[STORE_ZONE_WRITE] = "INSERT INTO zones (level, number, first_ms, last_ms, keys) VALUES (?1, ?2, ?3, ?4, ?5)"
			     " ON CONFLICT (level, number) DO UPDATE SET first_ms = min(first_ms, excluded.first_ms),"
			     " last_ms = max(last_ms, excluded.last_ms), keys = excluded.keys",
	[STORE_ZONE_READ] = "SELECT first_ms, last_ms, keys FROM zones WHERE level = ?1 AND number = ?2",
	[STORE_ZONE_REMOVE] = "DELETE FROM zones WHERE level = ?1 AND number = ?2",
	[STORE_SUBJECT_INSERT] = "INSERT INTO subjects (profile, project) VALUES (?1, ?2)",
	[STORE_SUBJECT_FIND] = "SELECT id FROM subjects WHERE profile = ?1 AND project = ?2",
	[STORE_TALLY_ADD] = "INSERT INTO tallies (session, quarter, subject, sessions, decisions, asked, denied)"
			    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session, quarter, subject) DO UPDATE SET"
			    " sessions = sessions + excluded.sessions, decisions = decisions + excluded.decisions,"
			    " asked = asked + excluded.asked, denied = denied + excluded.denied",
	[STORE_TALLY_REMOVE] = "DELETE FROM tallies WHERE session = ?1 AND quarter = ?2 AND subject = ?3"
			       " AND sessions = 0 AND decisions = 0 AND asked = 0 AND denied = 0",
	[STORE_TALLY_SUM] =
		"SELECT s.id, s.profile, s.project, sum(t.sessions), sum(t.decisions), sum(t.asked), sum(t.denied)"
		" FROM tallies t JOIN subjects s ON s.id = t.subject"
		" WHERE t.session = ?1 AND t.quarter >= ?2 AND t.quarter < ?3 AND t.subject > ?4"
		" AND (?5 IS NULL OR s.profile = ?5) AND (?6 IS NULL OR s.project = ?6) GROUP BY s.id ORDER BY s.id",
	[STORE_TALLY_BEFORE] = "SELECT max(quarter) FROM tallies WHERE session = ?1 AND quarter < ?2",
	[STORE_TALLY_WALK] =
		"SELECT t.session, t.quarter, t.subject, s.profile, s.project, t.sessions, t.decisions, t.asked,"
		" t.denied FROM tallies t LEFT JOIN subjects s ON s.id = t.subject"
		" WHERE (t.session, t.quarter, t.subject) > (?1, ?2, ?3)"
		" ORDER BY t.session, t.quarter, t.subject LIMIT ?4",
	[STORE_TALLY_FORGET] = "DELETE FROM tallies",
	[STORE_GRANT_REMOVE] = "DELETE FROM grants WHERE id = ?1 AND active = 0"
			       " AND (?2 = 0 OR (lifetime = 'once' AND last_used_ms < ?2))",
	[STORE_SESSION_REMOVE] = "DELETE FROM sessions WHERE id = ?1 AND ended_ms > 0 AND (?2 = 0 OR ended_ms < ?2)"
				 " AND NOT EXISTS (SELECT 1 FROM grants WHERE session = ?1)",
};
static_assert(ARRAY_LENGTH(statements) == STORE_STATEMENT_COUNT, "every statement has its SQL");

enum { LOG_PAGES = 1000 }; /* SQLITE_DEFAULT_WAL_AUTOCHECKPOINT */

struct store {
	sqlite3 *db;
	sqlite3_stmt *prepared[STORE_STATEMENT_COUNT];
	enum store_sync sync;
	bool in_transaction;
	bool doubtful;
};

/* SQLite's result codes as errno; the rest are -EIO. */
static const struct {
	int sqlite, code;
	const char *hint;
} results[] = {
	{SQLITE_CORRUPT, EUCLEAN, "it is damaged; move it away to start anew, or restore it from a backup"},
	{SQLITE_NOTADB, EUCLEAN, "it is no database of sbx; move it away"},
	{SQLITE_READONLY, EROFS, "it can't be written"},
	{SQLITE_BUSY, EBUSY, "another program has it locked (an sbxd that was started with another XDG_RUNTIME_DIR?)"},
	{SQLITE_CANTOPEN, EACCES, "it can't be opened"},
	{SQLITE_PERM, EACCES, "it can't be opened"},
};

static int full_error(const struct store *store, struct error *error, const char *what) {
	CLEANUP_FREE char *folder = path_parent(store_path(store));
	return error_set(error, ENOSPC, "%s: the disk of %s is full: free some space there", what, folder);
}

int store_error(struct store *store, struct error *error, const char *what) {
	int code = store->db ? sqlite3_errcode(store->db) : SQLITE_NOMEM;
	/* it may quote what it found in a damaged file */
	CLEANUP_FREE char *message = text_visible(store->db ? sqlite3_errmsg(store->db) : "out of memory");
	if ((code & 0xff) == SQLITE_FULL) return full_error(store, error, what);
	for (size_t i = 0; i < ARRAY_LENGTH(results); i++)
		if (results[i].sqlite == (code & 0xff))
			return error_set(error, results[i].code, "%s: the database: %s (%s)", what, results[i].hint,
					 message);
	return error_set(error, EIO, "%s: the database: %s", what, message);
}

static int execute(struct store *store, const char *sql, struct error *error, const char *what) {
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK) return store_error(store, error, what);
	return 0;
}

static int read_version(struct store *store, int *ret_version, struct error *error) {
	sqlite3_stmt *statement = NULL;
	int r = 0;
	if (sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	else
		r = store_error(store, error, "reading its version");
	sqlite3_finalize(statement);
	return r;
}

static int migrate_step(struct store *store, const struct migration *step, struct error *error) {
	CLEANUP_FREE char *stamp = string_format("PRAGMA user_version = %d", step->version);
	int r = execute(store, "BEGIN IMMEDIATE", error, "bringing it to a newer form");
	if (r == 0) r = execute(store, step->sql, error, "bringing it to a newer form");
	if (r == 0) r = execute(store, stamp, error, "bringing it to a newer form");
	if (r == 0) r = execute(store, "COMMIT", error, "bringing it to a newer form");
	if (r < 0 && !sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int migrate(struct store *store, struct error *error) {
	int version = 0;
	int r = read_version(store, &version, error);
	if (r < 0) return r;
	if (version < 0 || version > migrations_newest())
		return error_set(error, ENOTSUP,
				 "it was made by a newer sbx (form %d, this one knows up to %d); nothing was changed, "
				 "install that version again",
				 version, migrations_newest());
	size_t count;
	const struct migration *steps = migrations(&count);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (steps[i].version > version) r = migrate_step(store, &steps[i], error);
	return r;
}

/* Of what a sync that failed was to bring to the disk all, a part or nothing may be there; and without memory SQLite
 * may fail to enter into its index a commit that is in the log already. A write that failed leaves no commit. */
static void doubt(struct store *store) {
	static const int codes[] = {SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC, SQLITE_NOMEM, SQLITE_IOERR_NOMEM};
	int code = sqlite3_extended_errcode(store->db);
	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
		if (codes[i] == code) store->doubtful = true;
}

/* In the place of SQLite's own hook, which copies the log back just so but tells nobody when the disk fails. */
static int on_logged(void *argument, sqlite3 *db, const char *name, int pages) {
	struct store *store = argument;
	if (pages >= LOG_PAGES &&
	    sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) != SQLITE_OK)
		doubt(store);
	return SQLITE_OK;
}

/* What another broker left in the log is copied back and synced first. */
static int settle_log(struct store *store, struct error *error) {
	int code = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	/* On a full disk it stays in the log, as good as before. */
	return (code & 0xff) == SQLITE_IOERR ? store_error(store, error, "copying its log back") : 0;
}

static int configure(struct store *store, struct error *error) {
	sqlite3_extended_result_codes(store->db, 0);
	sqlite3_busy_timeout(store->db, 2000);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	/* Without it a new value for a parameter that the planner compared with a partial index prepares anew. */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
	/* Before the first look at the file, so that the shared index is never used. There is one broker anyway, and
	 * without locks a commit is a third of the system calls (bench/check.sh). */
	int version = 0;
	int r = execute(store, "PRAGMA locking_mode = EXCLUSIVE", error, "setting it up");
	if (r == 0) r = read_version(store, &version, error);
	/* A newer form is refused before anything is written: journal_mode would write. EXTRA, since it does so with a
	 * rollback journal: one that is back after a power cut, its folder not synced, would undo all that came later.
	 */
	if (r == 0 && version <= migrations_newest())
		r = execute(store,
			    "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
			    "PRAGMA synchronous = NORMAL;"
			    "PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY",
			    error, "setting it up");
	return r;
}

/* SQLite makes its files with the umask's mode, so the first is made here; the others take after it. */
static int make_file(const char *path, struct error *error) {
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FD int directory = file_open_private_directory(folder, error);
	if (directory < 0) return directory;
	CLEANUP_FD int fd = openat(directory, path_name(path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) return error_errno(error, "opening it");
	struct stat status;
	if (fstat(fd, &status) < 0) return error_errno(error, "looking at it");
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return error_set(error, EPERM, "it must be a file of your own");
	if (fchmod(fd, 0600) < 0) return error_errno(error, "making it private");
	return 0;
}

static int prepare(struct store *store, struct error *error) {
	for (int i = 0; i < STORE_STATEMENT_COUNT; i++)
		if (sqlite3_prepare_v3(store->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &store->prepared[i],
				       NULL) != SQLITE_OK)
			return store_error(store, error, "preparing a statement");
	return 0;
}

int store_open(const char *path, struct store **ret_store, struct error *error) {
	struct store *store = mem_new(struct store);
	/* One thread, so no locks; and no accounts of memory, which nobody reads. Too late (SQLITE_MISUSE) is fine. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int r = make_file(path, error);
	if (r == 0 &&
	    sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK)
		r = store_error(store, error, "opening it");
	if (r == 0) sqlite3_wal_hook(store->db, on_logged, store);
	if (r == 0) r = configure(store, error);
	if (r == 0) r = migrate(store, error);
	if (r == 0) r = settle_log(store, error);
	if (r == 0) r = prepare(store, error);
	if (r < 0) {
		store_free(store);
		return error_prefix(error, "the database %s", path);
	}
	*ret_store = store;
	return 0;
}

void store_free(struct store *store) {
	if (!store) return;
	store_rollback(store);
	for (int i = 0; i < STORE_STATEMENT_COUNT; i++) sqlite3_finalize(store->prepared[i]);
	sqlite3_close(store->db);
	free(store);
}

const char *store_path(const struct store *store) {
	return sqlite3_db_filename(store->db, "main");
}

sqlite3_stmt *store_statement(struct store *store, enum store_statement number) {
	sqlite3_stmt *statement = store->prepared[number];
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return statement;
}

void store_bind_text(sqlite3_stmt *statement, int number, const char *text) {
	sqlite3_bind_text(statement, number, text, -1, SQLITE_STATIC);
}

void store_bind_blob(sqlite3_stmt *statement, int number, const void *bytes, size_t size) {
	/* sqlite3_bind_blob takes NULL for SQL's null. */
	sqlite3_bind_blob64(statement, number, size > 0 ? bytes : "", size, SQLITE_STATIC);
}

void store_bind_integer(sqlite3_stmt *statement, int number, int64_t value) {
	sqlite3_bind_int64(statement, number, value);
}

const char *store_column(sqlite3_stmt *statement, int column) {
	return (const char *)sqlite3_column_text(statement, column);
}

int store_run(struct store *store, sqlite3_stmt *statement, struct error *error, const char *what) {
	/* An error of any statement, even of one that reads, may have rolled back (sqlite.org/lang_transaction.html):
	 * what the caller writes after it would each be a transaction of its own. */
	if (store->in_transaction && sqlite3_get_autocommit(store->db))
		return error_set(error, EIO, "%s: the database has rolled back after an error", what);
	int r = sqlite3_step(statement) == SQLITE_DONE ? 0 : store_error(store, error, what);
	sqlite3_reset(statement);
	return r;
}

int64_t store_last_id(const struct store *store) {
	return sqlite3_last_insert_rowid(store->db);
}

int store_begin(struct store *store, enum store_sync sync, struct error *error) {
	int r = store_check(store, error);
	if (r == 0 && sync != store->sync) {
		r = execute(store, sync == STORE_FULL ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			    error, "setting how it is written");
		if (r == 0) store->sync = sync;
	}
	if (r < 0) return r;
	r = store_run(store, store_statement(store, STORE_BEGIN), error, "beginning to write");
	if (r == 0) store->in_transaction = true;
	return r;
}

int store_commit(struct store *store, struct error *error) {
	int r = store_run(store, store_statement(store, STORE_COMMIT), error, "writing");
	if (r < 0) doubt(store);
	if (r < 0)
		store_rollback(store);
	else
		store->in_transaction = false;
	return r;
}

void store_rollback(struct store *store) {
	if (!store->in_transaction) return;
	store->in_transaction = false;
	/* Some errors have rolled back already (sqlite.org/lang_transaction.html); then there is nothing to do. */
	if (!sqlite3_get_autocommit(store->db))
		store_run(store, store_statement(store, STORE_ROLLBACK), NULL, "rolling back");
}

bool store_is_doubtful(const struct store *store) {
	return store->doubtful;
}

int store_check(const struct store *store, struct error *error) {
	if (!store->doubtful) return 0;
	return error_set(error, EIO,
			 "the disk failed while the database was written; try again, another sbxd takes over");
}
