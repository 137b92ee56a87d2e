/*
 * Theory of operation.
 *
 * grants: `key` is the one index key under which a lookup finds the pattern (broker/store): a path's literal
 * folder, a host, ".domain", a network or "*", with one port also that. `profile` and `project` are '' for any, so that
 * a lookup names both exactly. `active` is 1 until the grant expired, was revoked, used up or its session ended; the
 * partial indexes hold active rows only, so ended grants cost a lookup nothing. Rows go when retention takes their last
 * event.
 *
 * events: append-only; `hash` is SHA-256 over the hash of the row before and this row's canonical JSON
 * (broker/store/history.c). No index of SQLite's: a row costs one page. What finds rows by their values and by time is
 * derived from them a block (1,024 rows) at a time (broker/store/history_block.c): `postings` say for a value which
 * rows of a block have it, `zones` between which times a block's rows lie (level 0) and those of 32, 32², … blocks
 * (levels above). `tallies` (broker/store/history_tally.c) count by quarter of an hour and subject: of session 0 all,
 * and of each session its own. All of these can be made anew from the rows; `upkeep` says how far they reach, and what
 * retention needs to know: rows removed and not yet recorded, its own clock and when that last looked at the wall's,
 * and when it last ran.
 *
 * state: one row. The chain's head (the event that must be there at least, so that a cut shows), its anchor (what
 * the first event follows; retention moves it), and the last prompt's id.
 *
 * trusts: contents (SHA-256) of project files that the user trusts, for each project.
 *
 * writable: every tree that a sandbox of this user was ever shown writable, also long ago and by a grant that has
 * ended: a link that lies in one may be a tool's work (broker/store/include/store/writable.h). Rows are never removed.
 *
 * revocations: those of more grants than go into one transaction, from the first until the last of them is written
 * (broker/endings/endings.h): `last_id` is the youngest grant that is meant.
 */
#include "schema/migrations.h"

#include <assert.h>

#include "base/memory.h"

static const struct migration table[] = {
	{1,
	 "CREATE TABLE sessions ("
	 "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	 "  profile TEXT NOT NULL,"
	 "  project TEXT NOT NULL,"
	 "  command TEXT NOT NULL,"
	 "  pid INTEGER NOT NULL,"
	 "  started_ms INTEGER NOT NULL,"
	 "  ended_ms INTEGER NOT NULL DEFAULT 0,"
	 "  exit INTEGER NOT NULL DEFAULT -1,"
	 "  view TEXT NOT NULL DEFAULT ''"
	 ") STRICT;"
	 "CREATE INDEX sessions_running ON sessions (id) WHERE ended_ms = 0;"

	 "CREATE TABLE grants ("
	 "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	 "  active INTEGER NOT NULL CHECK (active IN (0, 1)),"
	 "  permission TEXT NOT NULL,"
	 "  key TEXT NOT NULL,"
	 "  pattern TEXT NOT NULL,"
	 "  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),"
	 "  profile TEXT NOT NULL,"
	 "  project TEXT NOT NULL,"
	 "  session INTEGER REFERENCES sessions (id),"
	 "  lifetime TEXT NOT NULL,"
	 "  created_ms INTEGER NOT NULL,"
	 "  expires_ms INTEGER NOT NULL,"
	 "  expires_boot_ms INTEGER NOT NULL,"
	 "  boot_id TEXT NOT NULL,"
	 "  origin TEXT NOT NULL,"
	 "  prompt INTEGER NOT NULL DEFAULT 0,"
	 "  reason TEXT,"
	 "  uses INTEGER NOT NULL DEFAULT 0,"
	 "  last_used_ms INTEGER NOT NULL DEFAULT 0,"
	 "  revoked_ms INTEGER NOT NULL DEFAULT 0,"
	 "  revoked_by TEXT"
	 ") STRICT;"
	 "CREATE INDEX grants_lookup ON grants (permission, key, project, profile) WHERE active = 1;"
	 "CREATE INDEX grants_subject ON grants (project, profile) WHERE active = 1;"
	 "CREATE INDEX grants_session ON grants (session) WHERE active = 1 AND session IS NOT NULL;"
	 "CREATE INDEX grants_expiry ON grants (expires_ms) WHERE active = 1 AND expires_ms > 0;"
	 "CREATE INDEX grants_expiry_boot ON grants (boot_id, expires_boot_ms) WHERE active = 1 AND expires_boot_ms > "
	 "0;"

	 "CREATE INDEX grants_networks ON grants (key)"
	 "  WHERE active = 1 AND permission = 'net:access' AND instr(key, '/') > 0;"

	 "CREATE TABLE events ("
	 "  seq INTEGER PRIMARY KEY,"
	 "  time_ms INTEGER NOT NULL,"
	 "  kind TEXT NOT NULL,"
	 "  session INTEGER NOT NULL,"
	 "  profile TEXT,"
	 "  project TEXT,"
	 "  process TEXT,"
	 "  permission TEXT,"
	 "  target TEXT,"
	 "  verdict TEXT,"
	 "  by TEXT,"
	 "  why TEXT,"
	 "  grant_id INTEGER NOT NULL,"
	 "  prompt INTEGER NOT NULL,"
	 "  detail TEXT,"
	 "  hash TEXT NOT NULL"
	 ") STRICT;"
	 "CREATE TRIGGER events_are_final BEFORE UPDATE ON events BEGIN SELECT raise(ABORT, 'events are final'); END;"

	 "CREATE TABLE state ("
	 "  id INTEGER PRIMARY KEY CHECK (id = 1),"
	 "  head_seq INTEGER NOT NULL,"
	 "  head_hash TEXT NOT NULL,"
	 "  anchor_seq INTEGER NOT NULL,"
	 "  anchor_hash TEXT NOT NULL,"
	 "  last_prompt INTEGER NOT NULL"
	 ") STRICT;"
	 "INSERT INTO state VALUES (1, 0, '', 0, '', 0);"},
	{2,
	 "CREATE TABLE trusts ("
	 "  project TEXT NOT NULL,"
	 "  hash TEXT NOT NULL,"
	 "  trusted_ms INTEGER NOT NULL,"
	 "  PRIMARY KEY (project, hash)"
	 ") STRICT, WITHOUT ROWID;"
	 "CREATE TABLE postings ("
	 "  key INTEGER NOT NULL,"
	 "  block INTEGER NOT NULL,"
	 "  rows BLOB NOT NULL,"
	 "  PRIMARY KEY (key, block)"
	 ") STRICT, WITHOUT ROWID;"
	 "CREATE TABLE zones ("
	 "  level INTEGER NOT NULL,"
	 "  number INTEGER NOT NULL,"
	 "  first_ms INTEGER NOT NULL,"
	 "  last_ms INTEGER NOT NULL,"
	 "  keys BLOB,"
	 "  PRIMARY KEY (level, number)"
	 ") STRICT, WITHOUT ROWID;"
	 "CREATE TABLE subjects ("
	 "  id INTEGER PRIMARY KEY,"
	 "  profile TEXT NOT NULL,"
	 "  project TEXT NOT NULL,"
	 "  UNIQUE (profile, project)"
	 ") STRICT;"
	 "CREATE TABLE tallies ("
	 "  session INTEGER NOT NULL,"
	 "  quarter INTEGER NOT NULL,"
	 "  subject INTEGER NOT NULL,"
	 "  sessions INTEGER NOT NULL,"
	 "  decisions INTEGER NOT NULL,"
	 "  asked INTEGER NOT NULL,"
	 "  denied INTEGER NOT NULL,"
	 "  PRIMARY KEY (session, quarter, subject)"
	 ") STRICT, WITHOUT ROWID;"
	 "CREATE TABLE upkeep ("
	 "  id INTEGER PRIMARY KEY CHECK (id = 1),"
	 "  indexed_seq INTEGER NOT NULL,"
	 "  tallied_seq INTEGER NOT NULL,"
	 "  removed INTEGER NOT NULL,"
	 "  clock_ms INTEGER NOT NULL,"
	 "  seen_ms INTEGER NOT NULL,"
	 "  run_ms INTEGER NOT NULL"
	 ") STRICT;"
	 "INSERT INTO upkeep SELECT 1, anchor_seq, anchor_seq, 0, 0, 0, 0 FROM state;"
	 "CREATE TABLE revocations ("
	 "  id INTEGER PRIMARY KEY,"
	 "  what TEXT NOT NULL CHECK (what IN ('all', 'profile', 'session')),"
	 "  profile TEXT NOT NULL,"
	 "  session INTEGER NOT NULL,"
	 "  last_id INTEGER NOT NULL,"
	 "  revoked_by TEXT NOT NULL"
	 ") STRICT;"
	 /* A session's row goes when nothing refers to it; without this each would look through all grants. */
	 "CREATE INDEX grants_of_session ON grants (session) WHERE session IS NOT NULL;"
	 /* Lookups and views find what is a subject's by equality alone, listings and endings what is in force. */
	 "DROP INDEX grants_lookup;"
	 "CREATE INDEX grants_lookup ON grants (permission, key, project, profile, session) WHERE active = 1;"
	 "DROP INDEX grants_subject;"
	 "CREATE INDEX grants_view ON grants (project, profile, session, effect)"
	 "  WHERE active = 1 AND permission <> 'net:access' AND lifetime <> 'once';"
	 "CREATE INDEX grants_profile ON grants (profile) WHERE active = 1;"
	 "CREATE INDEX grants_in_force ON grants (id) WHERE active = 1;"
	 /* The key of a host with one port has the port: "example.org 443" (broker/store). */
	 "UPDATE grants SET key = key || ' ' || CASE WHEN substr(pattern, 1, 1) = '['"
	 "    THEN substr(pattern, instr(pattern, ']:') + 2) ELSE substr(pattern, instr(pattern, ':') + 1) END"
	 "  WHERE active = 1 AND permission = 'net:access' AND pattern GLOB '*:[0-9]*'"
	 "    AND pattern NOT GLOB '*:*[0-9]-[0-9]*' AND (substr(pattern, 1, 1) <> '[' OR instr(pattern, ']:') > 0);"},
	{3,
	 "ALTER TABLE grants ADD COLUMN resolved TEXT;"
	 "CREATE INDEX sessions_project ON sessions (project);"
	 "CREATE TABLE writable (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"
	 /* What is known of the time before: projects, and what grants gave (of a pattern the folder that it begins
	    with). */
	 "INSERT OR IGNORE INTO writable SELECT project FROM sessions;"
	 "INSERT OR IGNORE INTO writable SELECT key FROM grants WHERE permission = 'fs:write' AND effect = 'allow';"},
	{4, "CREATE TABLE roots ("
	    "  id INTEGER PRIMARY KEY,"
	    "  project TEXT NOT NULL,"
	    "  path TEXT NOT NULL,"
	    "  UNIQUE (project, path)"
	    ") STRICT;"
	    /* A session's view is in its row by the SHA-256 of its text, which many sessions have in common; older rows
	       have the text itself. */
	    "CREATE TABLE views (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	    "CREATE INDEX sessions_view ON sessions (view) WHERE length(view) = 64;"
	    "CREATE TRIGGER views_unused AFTER DELETE ON sessions WHEN length(old.view) = 64 BEGIN"
	    "  DELETE FROM views WHERE hash = old.view AND NOT EXISTS"
	    "    (SELECT 1 FROM sessions WHERE view = old.view AND length(view) = 64);"
	    "END;"},
};

const struct migration *migrations(size_t *ret_count) {
	*ret_count = ARRAY_LENGTH(table);
	return table;
}

int migrations_newest(void) {
	static_assert(ARRAY_LENGTH(table) > 0, "a database has at least one form");
	return table[ARRAY_LENGTH(table) - 1].version;
}
