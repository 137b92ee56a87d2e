/* The database file: made private, refused when it isn't ours to understand (attack B14). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/migrations.h"
#include "store/grant_key.h"
#include "store/store.h"
#include "support/cmocka.h"
#include "support/home.h"

static char *database;

static int open_database(struct error *error) {
	struct store *store = NULL;
	int r = store_open(database, &store, error);
	store_free(store);
	return r;
}

static int fresh(void **state) {
	(void)state;
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++) {
		CLEANUP_FREE char *path = string_format("%s%s", database, suffixes[i]);
		if (unlink(path) < 0) assert_int_equal(errno, ENOENT);
	}
	return 0;
}

static void execute(const char *sql) {
	sqlite3 *db;
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void a_new_database_is_private_and_of_the_newest_form(void **state) {
	(void)state;
	struct stat status;
	assert_int_equal(open_database(NULL), 0);
	assert_int_equal(stat(database, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(open_database(NULL), 0); /* and opens again */
	sqlite3 *db;
	sqlite3_stmt *version;
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &version, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(version), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(version, 0), migrations_newest());
	sqlite3_finalize(version);
	sqlite3_close(db);
}

static void migrations_count_up_by_one(void **state) {
	(void)state;
	size_t count;
	const struct migration *steps = migrations(&count);
	for (size_t i = 0; i < count; i++) assert_int_equal(steps[i].version, i + 1);
}

static void attack_broker_14_a_newer_form_is_refused_unchanged(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	execute("CREATE TABLE later (x); PRAGMA user_version = 999");
	CLEANUP_FREE char *before = NULL;
	CLEANUP_FREE char *after = NULL;
	size_t size, size_after;
	assert_int_equal(file_read(database, 1 << 20, &before, &size, NULL), 0);
	assert_int_equal(open_database(&error), -ENOTSUP);
	assert_non_null(strstr(error.message, "newer sbx"));
	assert_int_equal(file_read(database, 1 << 20, &after, &size_after, NULL), 0);
	assert_int_equal(size, size_after);
	assert_memory_equal(before, after, size);
}

static void attack_broker_14_garbage_is_refused_unchanged(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	char garbage[8192];
	memset(garbage, 'x', sizeof garbage);
	assert_int_equal(file_write(database, garbage, sizeof garbage, 0600, NULL), 0);
	assert_int_equal(open_database(&error), -EUCLEAN);
	assert_non_null(strstr(error.message, "move it away"));
	CLEANUP_FREE char *after = NULL;
	size_t size;
	assert_int_equal(file_read(database, 1 << 20, &after, &size, NULL), 0);
	assert_int_equal(size, sizeof garbage);
	assert_memory_equal(garbage, after, size);
}

static void attack_broker_14_a_damaged_page_is_refused(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_int_equal(open_database(NULL), 0);
	int fd = open(database, O_RDWR | O_CLOEXEC);
	char noise[4096];
	memset(noise, 0x5a, sizeof noise);
	/* The schema's own page but for the header that says it is SQLite. */
	assert_int_equal(pwrite(fd, noise, sizeof noise - 100, 100), sizeof noise - 100);
	close(fd);
	assert_int_equal(open_database(&error), -EUCLEAN);
}

/* SQLite's words name what it has found in the file. */
static void attack_broker_14_what_a_damaged_file_says_is_escaped(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_int_equal(open_database(NULL), 0);
	execute("PRAGMA writable_schema = ON;"
		"UPDATE sqlite_master SET name = CAST(x'1b5b324acc' AS TEXT), sql = 'CREATE nothing' WHERE rowid = 1");
	assert_true(open_database(&error) < 0);
	assert_non_null(strstr(error.message, "malformed"));
	assert_null(strchr(error.message, '\x1b'));
	assert_true(text_is_utf8(error.message, strlen(error.message)));
}

static void attack_broker_14_read_only_is_refused(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_int_equal(open_database(NULL), 0);
	CLEANUP_FREE char *folder = home_path("db");
	assert_int_equal(chmod(folder, 0500), 0);
	assert_int_equal(chmod(database, 0400), 0);
	int r = open_database(&error);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_true(r < 0);
	assert_true(strlen(error.message) > 0);
}

static void attack_broker_14_a_database_that_somebody_holds_is_refused(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	int ends[2];
	char byte;
	assert_int_equal(open_database(NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid_t child = fork();
	if (child == 0) { /* locks are a process's own */
		sqlite3 *db;
		if (sqlite3_open(database, &db) != SQLITE_OK ||
		    sqlite3_exec(db, "BEGIN; SELECT * FROM state", NULL, NULL, NULL) != SQLITE_OK)
			_exit(1);
		_exit(write(ends[1], "x", 1) != 1 || read(ends[1], &byte, 1) != 1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(open_database(&error), -EBUSY);
	assert_non_null(strstr(error.message, "locked"));
	assert_int_equal(write(ends[0], "x", 1), 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(open_database(NULL), 0);
}

static void while_it_is_open_nobody_else_can_write(void **state) {
	(void)state;
	struct store *store;
	sqlite3 *db;
	assert_int_equal(store_open(database, &store, NULL), 0);
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE state SET last_prompt = 9", NULL, NULL, NULL), SQLITE_BUSY);
	sqlite3_close(db);
	store_free(store);
}

static void a_link_in_its_place_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *elsewhere = home_path("elsewhere.db");
	assert_int_equal(symlink(elsewhere, database), 0);
	assert_true(open_database(NULL) < 0);
	assert_int_equal(access(elsewhere, F_OK), -1);
}

static void a_folder_that_others_may_write_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *folder = home_path("db");
	assert_int_equal(chmod(folder, 0777), 0);
	struct error error = ERROR_NONE;
	int r = open_database(&error);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(r, -EPERM);
}

static void a_transaction_that_is_not_committed_leaves_nothing(void **state) {
	(void)state;
	struct store *store;
	assert_int_equal(store_open(database, &store, NULL), 0);
	assert_int_equal(store_begin(store, STORE_FULL, NULL), 0);
	sqlite3_stmt *update = store_statement(store, STORE_STATE_PROMPT);
	store_bind_integer(update, 1, 77);
	assert_int_equal(store_run(store, update, NULL, "test"), 0);
	store_rollback(store);
	sqlite3_stmt *read = store_statement(store, STORE_STATE_READ);
	assert_int_equal(sqlite3_step(read), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(read, 4), 0);
	store_free(store);
}

/* What form 1 kept under a host is found under the host and its port. */
static void form_2_keeps_grants_where_lookups_look(void **state) {
	static const char *const patterns[][2] = {
		{"svc.test:443", "svc.test"},
		{"svc.test", "svc.test"},
		{"svc.test:80-443", "svc.test"},
		{"a1-2b.test:443", "a1-2b.test"},
		{"*.svc.test:443", ".svc.test"},
		{"*:80", "*"},
		{"*", "*"},
		{"10.0.0.0/8:80", "10.0.0.0/8"},
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"[2001:db8::1]:443", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"[2001:db8::/32]:1-2", "2001:db8::/32"},
		{"[2001:db8::/32]:1", "2001:db8::/32"},
	};
	static const struct pattern_scope scope = {.home = NULL};
	const struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	CLEANUP_FREE char *path = home_path("form1/sbx.db"), *folder = home_path("form1");
	struct store *store;
	sqlite3 *db;
	size_t count;
	(void)state;
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, migrations(&count)[0].sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 1", NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		CLEANUP_FREE char *sql = string_format("INSERT INTO grants (active, permission, key, pattern, effect, "
						       "profile, project, lifetime, created_ms,"
						       " expires_ms, expires_boot_ms, boot_id, origin) VALUES (1, "
						       "'net:access', '%s', '%s', 'allow', '', '',"
						       " 'always', 1, 0, 0, '', 'cli')",
						       patterns[i][1], patterns[i][0]);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	sqlite3_close(db);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(store_open(path, &store, NULL), 0);
	sqlite3_stmt *rows;
	db = sqlite3_db_handle(store_statement(store, STORE_GRANT_KEY));
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT pattern, key FROM grants", -1, &rows, NULL), SQLITE_OK);
	for (count = 0; sqlite3_step(rows) == SQLITE_ROW; count++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		assert_int_equal(pattern_compile(&permission, store_column(rows, 0), &scope, &pattern, NULL), 0);
		CLEANUP_FREE char *key = grant_key_of_pattern(&permission, pattern);
		assert_string_equal(store_column(rows, 1), key);
	}
	assert_int_equal(count, ARRAY_LENGTH(patterns));
	sqlite3_finalize(rows);
	store_free(store);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(form_2_keeps_grants_where_lookups_look),
		cmocka_unit_test_setup(a_new_database_is_private_and_of_the_newest_form, fresh),
		cmocka_unit_test_setup(migrations_count_up_by_one, fresh),
		cmocka_unit_test_setup(attack_broker_14_a_newer_form_is_refused_unchanged, fresh),
		cmocka_unit_test_setup(attack_broker_14_garbage_is_refused_unchanged, fresh),
		cmocka_unit_test_setup(attack_broker_14_a_damaged_page_is_refused, fresh),
		cmocka_unit_test_setup(attack_broker_14_what_a_damaged_file_says_is_escaped, fresh),
		cmocka_unit_test_setup(attack_broker_14_read_only_is_refused, fresh),
		cmocka_unit_test_setup(attack_broker_14_a_database_that_somebody_holds_is_refused, fresh),
		cmocka_unit_test_setup(while_it_is_open_nobody_else_can_write, fresh),
		cmocka_unit_test_setup(a_link_in_its_place_is_refused, fresh),
		cmocka_unit_test_setup(a_folder_that_others_may_write_is_refused, fresh),
		cmocka_unit_test_setup(a_transaction_that_is_not_committed_leaves_nothing, fresh),
	};
	home_make(NULL);
	database = home_path("db/sbx.db");
	CLEANUP_FREE char *folder = home_path("db");
	if (mkdir(folder, 0700) < 0) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(database);
	home_remove();
	return failed;
}
