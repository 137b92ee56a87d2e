/*
 * A thousand grants or many, in a long run a million: a lookup takes as many steps of SQLite's virtual machine
 * (sqlite.org/c3ref/c_stmtstatus_counter.html), in the cases that would be worst if it scanned.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "schema/limits.h"
#include "store/grants.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/long_run.h"

static const struct moment now = {.wall_ms = 1000000, .boot_ms = 5000, .boot_id = "boot"};

static void read_still(const struct clock *clock, struct moment *ret_now) {
	(void)clock;
	*ret_now = now;
}
static const struct clock still = {.read = read_still};

struct world {
	struct store *store;
	struct grants *grants;
	sqlite3 *db;
};

static int setup(void **state) {
	static unsigned number;
	CLEANUP_FREE char *name = string_format("steps%u/sbx.db", number++);
	CLEANUP_FREE char *path = home_path(name);
	struct world *world = mem_new(struct world);
	assert_int_equal(store_open(path, &world->store, NULL), 0);
	assert_int_equal(grants_open(world->store, &still, &world->grants, NULL), 0);
	world->db = sqlite3_db_handle(store_statement(world->store, STORE_GRANT_KEY));
	*state = world;
	return 0;
}

static int teardown(void **state) {
	struct world *world = *state;
	grants_free(world->grants);
	store_free(world->store);
	free(world);
	return 0;
}

/* Rows `first` … `last` - 1 of a kind; `i` is the row's number in the expressions. */
static void fill(struct world *world, const char *permission, const char *key, const char *pattern, const char *profile,
		 int first, int last) {
	CLEANUP_FREE char *sql = string_format(
		"WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO grants (active, permission, key, pattern, effect, profile, project, lifetime, created_ms,"
		" expires_ms, expires_boot_ms, boot_id, origin)"
		" SELECT 1, '%s', %s, %s, iif(i %% 10, 'allow', 'deny'), %s, '/p', 'always', 1, 0, 0, '', 'cli' FROM n",
		first, last - 1, permission, key, pattern, profile);
	char *message = NULL;
	if (sqlite3_exec(world->db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", message, sql);
}

/* All kinds: one subject's deep paths; one host's ports; one host's profiles; names of many labels; networks of every
 * length; grants of others' sessions. */
static void fill_all(struct world *world, int first, int last) {
	assert_int_equal(sqlite3_exec(world->db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	fill(world, "fs:read", "'/p/a/b/c/d/e/' || i", "'/p/a/b/c/d/e/' || i", "'npm'", first, last);
	fill(world, "net:access", "'svc.test ' || (i % 65535 + 1)", "'svc.test:' || (i % 65535 + 1)",
	     "'p' || (i / 65535)", first, last);
	fill(world, "net:access", "'one.test 443'", "'one.test:443'", "'p' || i", first, last);
	fill(world, "net:access", "'h' || i || '.a.b.c.d.e.test 443'", "'h' || i || '.a.b.c.d.e.test:443'", "'npm'",
	     first, last);
	fill(world, "net:access", "printf('%d.%d.%d.0/%d', i / 65536 % 256, i / 256 % 256, i % 256, i % 33)",
	     "printf('%d.%d.%d.0/%d', i / 65536 % 256, i / 256 % 256, i % 256, i % 33)", "'p' || (i % 1000)", first,
	     last);
	assert_int_equal(sqlite3_exec(world->db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	grants_free(world->grants);
	assert_int_equal(grants_open(world->store, &still, &world->grants, NULL), 0);
}

static int take_steps(struct world *world, int counter) {
	int steps = 0;
	for (sqlite3_stmt *one = sqlite3_next_stmt(world->db, NULL); one; one = sqlite3_next_stmt(world->db, one))
		steps += sqlite3_stmt_status(one, counter, 1);
	return steps;
}

static int steps_of(struct world *world, const char *permission, const char *target) {
	struct request request = {.session = 7, .subject = {(char *)"npm", (char *)"/p"}, .target = (char *)target};
	CLEANUP_GRANT struct grant grant = {0};
	struct pattern_rank rank;
	assert_int_equal(permission_parse(permission, &request.permission, NULL), 0);
	grants_changed(world->grants); /* nothing is remembered */
	take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
	take_steps(world, SQLITE_STMTSTATUS_FULLSCAN_STEP);
	grants_find(world->grants, &request, &grant, &rank);
	assert_int_equal(take_steps(world, SQLITE_STMTSTATUS_FULLSCAN_STEP), 0);
	return take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
}

static const struct {
	const char *permission, *target;
} asked[] = {
	{"fs:read", "/p/a/b/c/d/e/77/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"},
	{"fs:write", "/p/a/b/c/d/e/78"},
	{"fs:read", "/nowhere"},
	{"net:access", "svc.test:77"},
	{"net:access", "one.test:443"},
	{"net:access", "h7.a.b.c.d.e.test:443"},
	{"net:access", "x.y.z.h7.a.b.c.d.e.test:443"},
	{"net:access", "0.0.77.1:80"},
	{"net:access", "[2001:db8::1]:80"},
	{"net:access", "localhost:80"},
};

/* A name that is looked up: of which ports do grants speak? Two are granted more often than is looked at. */
static const char *const names[] = {"h7.a.b.c.d.e.test", "x.y.z.h7.a.b.c.d.e.test", "nowhere.test", "svc.test",
				    "one.test"};
enum { CROWDED = 2 /* of them, the last */, OF_A_ROW = 40 };

static void count_port(void *context, uint16_t first, uint16_t last) {
	(void)first, (void)last;
	++*(int *)context;
}

static int steps_of_name(struct world *world, const char *name, int *ret_ports) {
	*ret_ports = 0;
	take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
	take_steps(world, SQLITE_STMTSTATUS_FULLSCAN_STEP);
	const int r = grants_visit_ports(world->grants, name, count_port, ret_ports, NULL);
	assert_true(r == 0 || r == -E2BIG);
	assert_int_equal(r == -E2BIG, *ret_ports == LIMIT_GRANTS_ALIKE);
	assert_int_equal(take_steps(world, SQLITE_STMTSTATUS_FULLSCAN_STEP), 0);
	return take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
}

enum { FEW = 1000, KINDS = 5 };

static int many_grants(void) {
	return how_often(20 * 1000, 1000 * 1000);
}

static void lookups_take_as_many_steps_at_a_thousand_as_at_many(void **state) {
	struct world *world = *state;
	int few[ARRAY_LENGTH(asked)];
	fill_all(world, 0, FEW / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) few[i] = steps_of(world, asked[i].permission, asked[i].target);
	fill_all(world, FEW / KINDS, many_grants() / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
		int many = steps_of(world, asked[i].permission, asked[i].target);
		printf("%-10s %-60.60s %5d steps at %d grants, %5d at %d\n", asked[i].permission, asked[i].target,
		       few[i], FEW, many, many_grants());
		if (many > few[i] * 5 / 4)
			fail_msg("%s %s: %d steps, then %d", asked[i].permission, asked[i].target, few[i], many);
	}
}

static void a_name_takes_as_many_steps_at_a_thousand_as_at_many(void **state) {
	struct world *world = *state;
	int few[ARRAY_LENGTH(names)], ports;
	fill_all(world, 0, FEW / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) few[i] = steps_of_name(world, names[i], &ports);
	fill_all(world, FEW / KINDS, many_grants() / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const int many = steps_of_name(world, names[i], &ports);
		const bool crowded = i >= ARRAY_LENGTH(names) - CROWDED;
		printf("%-30s %5d steps at %d grants, %5d at %d\n", names[i], few[i], FEW, many, many_grants());
		if (many > (crowded ? LIMIT_GRANTS_ALIKE * OF_A_ROW : few[i] * 5 / 4))
			fail_msg("%s: %d steps, then %d", names[i], few[i], many);
		assert_int_equal(ports, crowded ? LIMIT_GRANTS_ALIKE : i == 0 ? 1 : 0);
	}
}

/* As deep as a path can be, where nothing is granted, and where a folder on the way and one beside it are. */
static void a_deep_path_takes_no_more_steps_than_a_shallow_one(void **state) {
	struct world *world = *state;
	CLEANUP_STRING struct string deep = {0};
	string_append(&deep, "/p/a/b");
	while (deep.size + 2 < PATH_MAX) string_append(&deep, "/x");
	fill_all(world, 0, FEW / KINDS);
	int shallow = steps_of(world, "fs:write", "/p/a/b/x");
	assert_in_range(steps_of(world, "fs:write", deep.data), 1, shallow * 2);
	fill(world, "fs:read", "'/p/a/b/x/x'", "'/p/a/b/x/x'", "'npm'", 0, 1);
	fill(world, "fs:read", "'/p/a/b/x-y'", "'/p/a/b/x-y'", "'npm'", 0, 1);
	shallow = steps_of(world, "fs:write", "/p/a/b/x/x/x");
	assert_in_range(steps_of(world, "fs:write", deep.data), 1, shallow * 2);
}

/* What a grant just made is compared with: for one place that is a matter of index keys, else of a bound. */
static const struct {
	const char *permission, *pattern;
	bool wide;
} made[] = {
	{"fs:read", "/p/a/b/c/d/e/77", false},
	{"fs:write", "/p/a/b/c/d/e/78", false},
	{"fs:read", "/nowhere/*.c", false},
	{"net:access", "new.a.b.c.d.e.test:443", false},
	{"net:access", "h7.a.b.c.d.e.test", false},
	{"net:access", "h7.a.b.c.d.e.test:1-500", false},
	{"net:access", "[2001:db8::1]:80", false},
	{"env:read", "HOME", false},
	{"fs:read", "/p", true},
	{"fs:read", "/", true},
	{"net:access", "one.test:443", true}, /* of any profile */
	{"net:access", "svc.test", true},     /* of any port */
	{"net:access", "*.d.e.test", true},
	{"net:access", "0.0.0.0/8", true},
};

static int steps_of_comparing(struct world *world, const char *permission_name, const char *text, enum effect effect) {
	CLEANUP_GRANT_LIST struct grant_list covering = {0}, near = {0};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	struct permission permission;
	assert_int_equal(permission_parse(permission_name, &permission, NULL), 0);
	assert_int_equal(pattern_compile(&permission, text, &(struct pattern_scope){.home = NULL}, &pattern, NULL), 0);
	take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
	assert_int_equal(grants_covering(world->grants, &permission, pattern, effect, &covering, NULL), 0);
	assert_int_equal(grants_near(world->grants, &permission, pattern, effect, &near, NULL), 0);
	return take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
}

static void a_new_grant_is_compared_in_as_many_steps_at_any_size(void **state) {
	static const enum effect effects[] = {EFFECT_ALLOW, EFFECT_DENY};
	const int more = how_often(10 * 1000, 100 * 1000);
	enum { OF_ONE = 60 };
	struct world *world = *state;
	int few[ARRAY_LENGTH(made)][ARRAY_LENGTH(effects)];
	fill_all(world, 0, FEW / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(made); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(effects); j++)
			few[i][j] = steps_of_comparing(world, made[i].permission, made[i].pattern, effects[j]);
	fill_all(world, FEW / KINDS, more / KINDS);
	for (size_t i = 0; i < ARRAY_LENGTH(made); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(effects); j++) {
			int many = steps_of_comparing(world, made[i].permission, made[i].pattern, effects[j]);
			printf("%-10s %-5s %-30s %5d steps at %d grants, %6d at %d\n", made[i].permission,
			       effect_name(effects[j]), made[i].pattern, few[i][j], FEW, many, more);
			if (many > (made[i].wide ? GRANTS_NEAR_MAX * OF_ONE : few[i][j] * 5 / 4))
				fail_msg("%s %s: %d steps, then %d", made[i].permission, made[i].pattern, few[i][j],
					 many);
		}
	}
}

static bool want_profile(const void *context, const struct grant *grant) {
	return !context || string_equal(grant->profile, context);
}

static int steps_of_page(struct world *world, bool newest, bool ended_too, const char *profile, int64_t *ret_next) {
	json_t *items = json_array();
	take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
	assert_int_equal(grants_list(world->grants, newest, ended_too, 0, want_profile, profile, items, ret_next, NULL),
			 0);
	assert_true(json_array_size(items) <= LIMIT_PAGE);
	json_decref(items);
	return take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
}

/* Also where nearly all have ended, and where a filter fits none. */
static void a_page_of_a_listing_takes_as_many_steps_at_any_size(void **state) {
	struct world *world = *state;
	int64_t next;
	fill_all(world, 0, 1000);
	int few = steps_of_page(world, false, false, NULL, &next), back = steps_of_page(world, true, true, NULL, &next);
	fill_all(world, 1000, 20000);
	assert_in_range(steps_of_page(world, false, false, NULL, &next), few / 2, few * 5 / 4);
	assert_in_range(steps_of_page(world, true, true, NULL, &next), back / 2, back * 5 / 4);
	int unfit = steps_of_page(world, false, false, "nobody's", &next);
	assert_true(next != 0 && unfit < LIMIT_SCAN * 40);
	assert_int_equal(sqlite3_exec(world->db, "UPDATE grants SET active = 0 WHERE id % 1000", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_in_range(steps_of_page(world, false, false, NULL, &next), few / 2, few * 5 / 4);
}

static void a_view_of_too_many_grants_is_cut_and_of_too_many_denials_refused(void **state) {
	struct world *world = *state;
	const struct subject subject = {(char *)"npm", (char *)"/p"};
	CLEANUP_GRANT_LIST struct grant_list list = {0}, denied = {0};
	bool cut = false;
	fill_all(world, 0, LIMIT_VIEW_PATHS / 2);
	assert_int_equal(grants_of_subject(world->grants, &subject, 7, &list, &cut, NULL), 0);
	assert_false(cut);
	assert_int_equal(list.count, LIMIT_VIEW_PATHS / 2);
	assert_int_equal(list.items[0].effect, EFFECT_DENY);
	fill_all(world, LIMIT_VIEW_PATHS / 2, 20000);
	take_steps(world, SQLITE_STMTSTATUS_VM_STEP);
	grant_list_finish(&list);
	assert_int_equal(grants_of_subject(world->grants, &subject, 7, &list, &cut, NULL), 0);
	assert_true(cut);
	assert_int_equal(list.count, LIMIT_VIEW_PATHS);
	assert_true(take_steps(world, SQLITE_STMTSTATUS_VM_STEP) < LIMIT_VIEW_PATHS * 60);
	fill_all(world, 20000, 50000);
	assert_int_equal(grants_of_subject(world->grants, &subject, 7, &denied, &cut, NULL), -E2BIG);
}

static void there_is_an_end_to_grants_that_are_alike(void **state) {
	struct world *world = *state;
	struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	struct error error = ERROR_NONE;
	int r = 0;
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	for (int i = 0; i <= LIMIT_GRANTS_ALIKE; i++) {
		CLEANUP_FREE char *text = string_format("svc.test:%d-%d", i + 1, i + 2);
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		CLEANUP_GRANT struct grant grant = {.permission = permission,
						    .effect = EFFECT_ALLOW,
						    .lifetime = LIFETIME_ALWAYS,
						    .origin = GRANT_ORIGIN_CLI};
		assert_int_equal(pattern_compile(&permission, text, &(struct pattern_scope){0}, &pattern, NULL), 0);
		assert_int_equal(r, 0);
		r = grants_insert(world->grants, &grant, pattern, true, &error);
	}
	assert_int_equal(r, -E2BIG);
	assert_non_null(strstr(error.message, "revoke some"));
	assert_int_equal(store_commit(world->store, NULL), 0);
}

/* From the start of a mass ending on nobody finds what is named, page by page it is handed out, and what is younger or
 * not named stays. */
static void a_mass_ending_hides_what_it_names_at_once(void **state) {
	struct world *world = *state;
	struct grant_mass mass = {.what = GRANT_MASS_ALLOWS};
	struct request request = {.subject = {(char *)"npm", (char *)"/p"},
				  .permission = permission_of(PERMISSION_FS_READ),
				  .target = (char *)"/p/a/b/c/d/e/77"};
	CLEANUP_GRANT struct grant before = {0}, during = {0}, denied = {0}, after = {0};
	struct pattern_rank rank;
	fill_all(world, 0, 500);
	assert_true(grants_find(world->grants, &request, &before, &rank));
	assert_int_equal(grants_last_id(world->grants, &mass.last, NULL), 0);
	grants_mass_begin(world->grants, &mass);
	assert_false(grants_find(world->grants, &request, &during, &rank));
	request.target = (char *)"/p/a/b/c/d/e/70";
	assert_true(grants_find(world->grants, &request, &denied, &rank));
	assert_int_equal(denied.effect, EFFECT_DENY);
	fill(world, "fs:read", "'/young'", "'/young'", "'npm'", 1, 2);
	request.target = (char *)"/young";
	assert_true(grants_find(world->grants, &request, &after, &rank));
	int64_t cursor = 0;
	size_t count = 0;
	do {
		CLEANUP_GRANT_LIST struct grant_list page = {0};
		assert_int_equal(grants_mass_page(world->grants, &mass, &cursor, &page, NULL), 0);
		assert_true(page.count <= LIMIT_ENDING);
		for (size_t i = 0; i < page.count; i++) assert_int_equal(page.items[i].effect, EFFECT_ALLOW);
		count += page.count;
	} while (cursor != 0);
	assert_int_equal(count, KINDS * 500 * 9 / 10);
	grants_mass_end(world->grants, &mass);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lookups_take_as_many_steps_at_a_thousand_as_at_many, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_takes_as_many_steps_at_a_thousand_as_at_many, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deep_path_takes_no_more_steps_than_a_shallow_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_grant_is_compared_in_as_many_steps_at_any_size, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_of_too_many_grants_is_cut_and_of_too_many_denials_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_page_of_a_listing_takes_as_many_steps_at_any_size, setup, teardown),
		cmocka_unit_test_setup_teardown(there_is_an_end_to_grants_that_are_alike, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mass_ending_hides_what_it_names_at_once, setup, teardown),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
