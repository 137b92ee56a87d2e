/*
 * fault_migrate: each golden database is brought to the newest form: all of its rows are there unchanged; and when the
 * disk fails, the process ends or the power goes at any call of it, what is there is the old form or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "disk.h"
#include "schema/migrations.h"
#include "store/store.h"
#include "story.h"

enum { SIZE_MAX_READ = 64 * 1024 * 1024 };

static const struct disk_case {
	const char *what;
	enum disk_fault fault;
	unsigned calls;
} cases[] = {
	{"sbxd ends in the middle of the n-th call of a migration", DISK_DIES, DISK_CHANGES},
	{"the power goes at the n-th call of a migration", DISK_LOSES_POWER, DISK_CHANGES},
	{"the n-th call of a migration fails", DISK_FAILS, DISK_ALL},
	{"the disk is gone from the n-th call of a migration on", DISK_BREAKS, DISK_ALL},
};

struct golden {
	char *bytes; /* the file as its sbxd left it */
	size_t size;
	char *old_form, *new_form; /* tables and indexes, as SQL */
	char *columns;             /* one SELECT a line, of all that the old form had */
	char *rows;                /* what these give */
	int version;
};

static struct disk *disk;

static void demand(bool holds, const char *what) {
	if (holds) return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static sqlite3 *open_plain(void) {
	sqlite3 *db;
	demand(sqlite3_open_v2(story_database(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix") == SQLITE_OK,
	       "opening the database");
	return db;
}

/* All rows of a query, every value quoted. NULL on an error. */
static char *query(sqlite3 *db, const char *sql) {
	struct string all = {0};
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return NULL;
	int r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			string_append_bytes(&all, sqlite3_column_blob(statement, i),
					    (size_t)sqlite3_column_bytes(statement, i));
			string_append_bytes(&all, "|", 1);
		}
		string_append_bytes(&all, "\n", 1);
	}
	sqlite3_finalize(statement);
	string_append_bytes(&all, "", 1);
	if (r == SQLITE_DONE) return all.data;
	free(all.data);
	return NULL;
}

static char *form_of(sqlite3 *db) {
	return query(
		db, "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name");
}

static int version_of(sqlite3 *db) {
	CLEANUP_FREE char *text = query(db, "PRAGMA user_version");
	return text ? (int)strtol(text, NULL, 10) : -1;
}

static char *rows_of(sqlite3 *db, const char *selects) {
	struct string all = {0};
	CLEANUP_FREE char *copy = string_copy(selects);
	char *rest = copy, *select;
	while ((select = strsep(&rest, "\n")) && *select) {
		CLEANUP_FREE char *rows = query(db, select);
		if (!rows) continue;
		string_append_bytes(&all, rows, strlen(rows));
	}
	string_append_bytes(&all, "", 1);
	return all.data;
}

static void load(const char *dump, struct golden *golden) {
	CLEANUP_FREE char *sql = NULL;
	demand(file_read(dump, SIZE_MAX_READ, &sql, NULL, NULL) == 0, dump);
	story_reset();
	sqlite3 *db = open_plain();
	char *message = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", dump, message);
		exit(1);
	}
	golden->version = version_of(db);
	golden->old_form = form_of(db);
	/* Not the key: it is how a pattern is found, and a form may find it otherwise (golden.py asks for verdicts). */
	golden->columns =
		query(db, "SELECT 'SELECT ' || group_concat(c.name) || ' FROM ' || t.name || ' ORDER BY 1'"
			  " FROM sqlite_master t, pragma_table_info(t.name) c"
			  " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.name <> 'key' GROUP BY t.name");
	/* The separators of query() end each line. */
	for (char *bar; (bar = strstr(golden->columns, "|\n"));) memmove(bar, bar + 1, strlen(bar));
	golden->rows = rows_of(db, golden->columns);
	demand(strlen(golden->rows) > 100000, "a golden database with few rows");
	sqlite3_close(db);
	demand(file_read(story_database(), SIZE_MAX_READ, &golden->bytes, &golden->size, NULL) == 0, "reading it back");
}

/* The store, opened in a process of its own; waitpid's status: exit 0 opened, 1 refused. */
static int migrate(bool faulty) {
	int status;
	pid_t child = fork();
	if (child == 0) {
		struct store *store;
		if (faulty) disk_install(disk);
		int r = store_open(story_database(), &store, NULL);
		if (r == 0) store_free(store);
		_exit(r < 0);
	}
	while (waitpid(child, &status, 0) < 0) demand(errno == EINTR, "waitpid");
	return status;
}

static void put_back(const struct golden *golden) {
	story_reset();
	demand(file_write(story_database(), golden->bytes, golden->size, 0600, NULL) == 0, "putting it back");
}

/* The old form, one of those between (each step is a transaction) or the new one, and every old row. */
static bool is_whole(const struct golden *golden, bool must_be_new) {
	sqlite3 *db = open_plain();
	CLEANUP_FREE char *form = form_of(db);
	CLEANUP_FREE char *rows = rows_of(db, golden->columns);
	int version = version_of(db);
	sqlite3_close(db);
	bool is_new = version == migrations_newest() && string_equal(form, golden->new_form);
	bool is_old = !must_be_new && version == golden->version && string_equal(form, golden->old_form);
	bool is_between = !must_be_new && version > golden->version && version < migrations_newest();
	if ((is_new || is_old || is_between) && string_equal(rows, golden->rows)) return true;
	fprintf(stderr, "form %d, %s, rows %s\n", version,
		is_new || is_old || is_between ? "whole" : "neither old nor new",
		string_equal(rows, golden->rows) ? "unchanged" : "changed");
	return false;
}

static int run_case(const struct golden *golden, const struct disk_case *what) {
	int times = 0, lost = 0;
	for (long at = 1;; at++, times++) {
		*disk = (struct disk){.fault = what->fault, .calls = what->calls, .at = at, .seed = (unsigned)at};
		put_back(golden);
		int status = migrate(true);
		if (disk->count < at) break;
		bool good = !WIFSIGNALED(status) && is_whole(golden, false) && migrate(false) == 0 &&
			    is_whole(golden, true);
		if (!good) fprintf(stderr, "%s: n = %ld, status %x\n", what->what, at, (unsigned)status);
		lost += !good;
	}
	printf("claim %d %d %s (form %d)\n", times, lost, what->what, golden->version);
	fflush(stdout);
	return lost;
}

static int run_golden(const char *dump) {
	struct golden golden = {0};
	load(dump, &golden);
	put_back(&golden);
	demand(migrate(false) == 0, "migrating");
	sqlite3 *db = open_plain();
	golden.new_form = form_of(db);
	sqlite3_close(db);
	int lost = !is_whole(&golden, true);
	printf("claim 1 %d the golden database of form %d is brought to form %d with all its rows\n", lost,
	       golden.version, migrations_newest());
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) lost += run_case(&golden, &cases[i]);
	free(golden.bytes);
	free(golden.old_form);
	free(golden.new_form);
	free(golden.columns);
	free(golden.rows);
	return lost;
}

int main(int argc, char **argv) {
	int lost = 0;
	disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	demand(disk != MAP_FAILED && argc > 1, "usage: fault_migrate DUMP…");
	story_begin();
	CLEANUP_FREE char *folder =
		string_format("%.*s", (int)(strrchr(story_database(), '/') - story_database()), story_database());
	demand(file_make_directories(folder, NULL) == 0 && chmod(folder, 0700) == 0, folder);
	for (int i = 1; i < argc; i++) lost += run_golden(argv[i]);
	story_end();
	return lost > 0;
}
