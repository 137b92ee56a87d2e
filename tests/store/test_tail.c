/* What is noted outlives the process, in order and unchanged, wherever that ended; what can't be noted isn't (B19). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "store/history.h"
#include "support/cmocka.h"
#include "support/home.h"

struct world {
	char *path, *tail;
	struct store *store;
	struct history *history;
};

static void open_world(struct world *world) {
	assert_int_equal(store_open(world->path, &world->store, NULL), 0);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
}

/* As the end of the process leaves it: nothing is written that wasn't. */
static void close_world(struct world *world) {
	history_free(world->history);
	store_free(world->store);
}

static int setup(void **state) {
	static unsigned number;
	struct world *world = mem_new(struct world);
	CLEANUP_FREE char *name = string_format("tail%u/sbx.db", number++);
	world->path = home_path(name);
	world->tail = string_format("%s-tail", world->path);
	open_world(world);
	*state = world;
	return 0;
}

static int teardown(void **state) {
	struct world *world = *state;
	close_world(world);
	free(world->path);
	free(world->tail);
	free(world);
	return 0;
}

static struct event event_about(const char *target) {
	return (struct event){.time_ms = 1700000000000,
			      .kind = EVENT_DECISION,
			      .session = 7,
			      .profile = (char *)"npm",
			      .permission = (char *)"net:access",
			      .target = (char *)target,
			      .verdict = 2,
			      .by = (char *)"grants",
			      .grant = 3};
}

static int note(struct world *world, const char *target) {
	struct event event = event_about(target);
	return history_note(world->history, &event, NULL);
}

/* A transaction with an event of its own. */
static void append(struct world *world, const char *target) {
	struct event event = event_about(target);
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
}

static void write_out(struct world *world) {
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_keep_head(world->history, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
}

/* The targets of all rows in the table, and the chain checked. */
static char *table(struct world *world) {
	struct string all = {0};
	struct history_check check = {0};
	struct history_walk walk = {0};
	const struct history_filter any = {0};
	json_t *items = json_array();
	int64_t next = 0;
	assert_int_equal(history_list(world->history, &any, false, 0, items, &next, NULL), 0);
	for (size_t i = 0; i < json_array_size(items); i++)
		string_appendf(&all, "%s ", json_string_value(json_object_get(json_array_get(items, i), "target")));
	json_decref(items);
	assert_int_equal(history_verify(world->history, &walk, 0, &check, NULL), 0);
	if (history_waiting(world->history) == 0) assert_int_equal(check.bad, 0);
	return string_steal(&all);
}

#define assert_table(world, expected)                                                                                  \
	do {                                                                                                           \
		CLEANUP_FREE char *listed = table(world);                                                              \
		assert_string_equal(listed, expected);                                                                 \
	} while (0)

static void read_tail(const struct world *world, char **ret_bytes, size_t *ret_size) {
	assert_int_equal(file_read(world->tail, 1 << 20, ret_bytes, ret_size, NULL), 0);
}

static void write_tail(const struct world *world, const char *bytes, size_t size) {
	assert_int_equal(file_write(world->tail, bytes, size, 0600, NULL), 0);
}

static void a_note_waits_for_the_next_transaction(void **state) {
	struct world *world = *state;
	append(world, "a");
	assert_int_equal(note(world, "b"), 0);
	assert_int_equal(note(world, "c"), 0);
	assert_int_equal(history_waiting(world->history), 2);
	assert_table(world, "a b c "); /* what waits is listed, too */
	append(world, "d");
	assert_int_equal(history_waiting(world->history), 0);
	assert_table(world, "a b c d ");
	assert_int_equal(note(world, "e"), 0);
	write_out(world);
	assert_table(world, "a b c d e ");
	struct stat status;
	assert_int_equal(stat(world->tail, &status), 0);
	assert_int_equal(status.st_size, 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void a_note_outlives_the_process(void **state) {
	struct world *world = *state;
	append(world, "a");
	assert_int_equal(note(world, "b"), 0);
	for (int i = 0; i < 3; i++) { /* also one that writes nothing */
		close_world(world);
		open_world(world);
		assert_int_equal(history_waiting(world->history), 1);
	}
	assert_int_equal(note(world, "c"), 0);
	write_out(world);
	assert_table(world, "a b c ");
}

static void where_the_table_ends_must_be_read(void **state) {
	struct world *world = *state;
	append(world, "a");
	assert_int_equal(note(world, "b"), 0);
	close_world(world);
	assert_int_equal(store_open(world->path, &world->store, NULL), 0);
	sqlite3 *database = sqlite3_db_handle(store_statement(world->store, STORE_STATE_READ));
	/* In the place of a disk that fails just then. */
	assert_int_equal(sqlite3_exec(database, "ALTER TABLE events RENAME TO away", NULL, NULL, NULL), SQLITE_OK);
	assert_true(history_open(world->store, &world->history, NULL) < 0);
	assert_int_equal(sqlite3_exec(database, "ALTER TABLE away RENAME TO events", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
	write_out(world);
	assert_table(world, "a b ");
}

static void every_byte_comes_back(void **state) {
	struct world *world = *state;
	char bytes[256] = "";
	for (int i = 1; i < 256; i++) bytes[i - 1] = (char)i;
	struct event event = {.time_ms = -5,
			      .kind = EVENT_CONNECTION,
			      .verdict = -1,
			      .project = bytes,
			      .target = (char *)"",
			      .why = (char *)"\\\"\\u0041 null,]\n",
			      .detail = json_pack("{s:s, s:[i]}", "te]xt", "\"]\n\\ \u00e9", "list", 12)};
	assert_int_equal(history_note(world->history, &event, NULL), 0);
	write_out(world);
	sqlite3_stmt *row = store_statement(world->store, STORE_EVENT_READ);
	store_bind_integer(row, 1, 1);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(row, 1), -5);
	assert_null(store_column(row, 4));
	assert_string_equal(store_column(row, 5), bytes);
	assert_string_equal(store_column(row, 8), "");
	assert_string_equal(store_column(row, 11), event.why);
	CLEANUP_FREE char *detail = json_dumps(event.detail, JSON_COMPACT | JSON_ENSURE_ASCII);
	assert_string_equal(store_column(row, 14), detail);
	sqlite3_reset(row);
	json_decref(event.detail);
	struct history_check check;
	assert_int_equal(history_verify(world->history, &(struct history_walk){0}, 0, &check, NULL), 0);
	assert_int_equal(check.bad, 0);
	assert_int_equal(check.checked, 1);
}

static void attack_broker_19_a_line_cut_anywhere_is_dropped_alone(void **state) {
	struct world *world = *state;
	append(world, "a");
	assert_int_equal(note(world, "b"), 0);
	CLEANUP_FREE char *one = NULL, *two = NULL;
	size_t one_size, two_size;
	read_tail(world, &one, &one_size);
	assert_int_equal(note(world, "c"), 0);
	read_tail(world, &two, &two_size);
	for (size_t cut = one_size; cut <= two_size; cut++) {
		close_world(world);
		write_tail(world, two, cut);
		open_world(world);
		assert_int_equal(history_waiting(world->history), cut == two_size ? 2 : 1);
	}
	/* What comes next lies where the half line was. */
	close_world(world);
	write_tail(world, two, two_size - 5);
	open_world(world);
	assert_int_equal(note(world, "d"), 0);
	write_out(world);
	assert_table(world, "a b d ");
}

static void attack_broker_18_a_line_that_was_edited_ends_the_tail(void **state) {
	struct world *world = *state;
	assert_int_equal(note(world, "a"), 0);
	assert_int_equal(note(world, "b"), 0);
	CLEANUP_FREE char *bytes = NULL;
	size_t size;
	read_tail(world, &bytes, &size);
	size_t first = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	for (size_t i = first; i < size; i++) {
		bytes[i] ^= 1;
		close_world(world);
		write_tail(world, bytes, size);
		open_world(world);
		assert_int_equal(history_waiting(world->history), 1);
		bytes[i] ^= 1;
	}
	write_out(world);
	assert_table(world, "a ");
}

static void an_end_between_commit_and_cut_doubles_nothing(void **state) {
	struct world *world = *state;
	assert_int_equal(note(world, "a"), 0);
	assert_int_equal(note(world, "b"), 0);
	CLEANUP_FREE char *bytes = NULL;
	size_t size;
	read_tail(world, &bytes, &size);
	append(world, "c");
	close_world(world);
	write_tail(world, bytes, size);
	open_world(world);
	assert_int_equal(history_waiting(world->history), 0);
	assert_int_equal(note(world, "d"), 0);
	write_out(world);
	assert_table(world, "a b c d ");
}

static void a_roll_back_leaves_the_notes_waiting(void **state) {
	struct world *world = *state;
	assert_int_equal(note(world, "a"), 0);
	struct event event = event_about("lost");
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	store_rollback(world->store);
	history_rolled_back(world->history);
	assert_int_equal(history_waiting(world->history), 1);
	assert_int_equal(note(world, "b"), 0);
	append(world, "c");
	assert_table(world, "a b c ");
}

static void attack_broker_19_a_full_disk_notes_nothing_and_keeps_what_was(void **state) {
	struct world *world = *state;
	struct rlimit all, little;
	struct stat status;
	assert_int_equal(note(world, "a"), 0);
	assert_int_equal(stat(world->tail, &status), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	signal(SIGXFSZ, SIG_IGN);
	/* Nothing more fits, then a part of a line. */
	for (rlim_t room = 0; room <= 60; room += 60) {
		little = (struct rlimit){(rlim_t)status.st_size + room, all.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
		assert_true(note(world, "lost") < 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
		struct stat after;
		assert_int_equal(stat(world->tail, &after), 0);
		assert_int_equal(after.st_size, status.st_size);
	}
	assert_int_equal(history_waiting(world->history), 1);
	assert_int_equal(note(world, "b"), 0);
	write_out(world);
	assert_table(world, "a b ");
}

static void attack_broker_18_a_tail_changed_underneath_is_not_believed(void **state) {
	struct world *world = *state;
	assert_int_equal(note(world, "a"), 0);
	int fd = open(world->tail, O_WRONLY);
	assert_int_equal(pwrite(fd, "0000", 4, 0), 4);
	close(fd);
	struct event event = event_about("b");
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), -EUCLEAN);
	store_rollback(world->store);
	history_rolled_back(world->history);
}

static void attack_broker_11_a_link_or_a_fifo_is_refused(void **state) {
	struct world *world = *state;
	struct history *history = NULL;
	struct error error = ERROR_NONE;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unlink(world->tail), 0);
		assert_int_equal(i == 0 ? symlink("elsewhere", world->tail) : mkfifo(world->tail, 0600), 0);
		assert_true(history_open(world->store, &history, &error) < 0);
		assert_non_null(strstr(error.message, "-tail"));
	}
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_note_waits_for_the_next_transaction, setup, teardown),
		cmocka_unit_test_setup_teardown(a_note_outlives_the_process, setup, teardown),
		cmocka_unit_test_setup_teardown(where_the_table_ends_must_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(every_byte_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_19_a_line_cut_anywhere_is_dropped_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_a_line_that_was_edited_ends_the_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_between_commit_and_cut_doubles_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_roll_back_leaves_the_notes_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_19_a_full_disk_notes_nothing_and_keeps_what_was, setup,
						teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_a_tail_changed_underneath_is_not_believed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(attack_broker_11_a_link_or_a_fifo_is_refused, setup, teardown),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
