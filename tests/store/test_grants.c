/* Lookups: which grant is found, by keys that miss nothing; and both clocks (attack B15). */
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "store/grant_key.h"
#include "store/grants.h"
#include "support/cmocka.h"
#include "support/home.h"

static struct moment fake_now;

static void read_fake(const struct clock *clock, struct moment *ret_now) {
	(void)clock;
	*ret_now = fake_now;
}
static const struct clock fake_clock = {.read = read_fake};

struct world {
	struct store *store;
	struct grants *grants;
};

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app"};

static int setup(void **state) {
	static unsigned number;
	CLEANUP_FREE char *name = string_format("db%u/sbx.db", number++);
	CLEANUP_FREE char *path = home_path(name);
	struct world *world = mem_new(struct world);
	fake_now = (struct moment){.wall_ms = 1000000, .boot_ms = 5000, .boot_id = "boot-a"};
	assert_int_equal(store_open(path, &world->store, NULL), 0);
	assert_int_equal(grants_open(world->store, &fake_clock, &world->grants, NULL), 0);
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

struct spec {
	const char *permission, *pattern;
	enum effect effect;
	const char *profile, *project;
	enum lifetime lifetime;
	int64_t ttl_ms;
};

static int64_t add(struct world *world, struct spec spec) {
	struct permission permission;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	assert_int_equal(permission_parse(spec.permission, &permission, NULL), 0);
	assert_int_equal(pattern_compile(&permission, spec.pattern, &scope, &pattern, NULL), 0);
	CLEANUP_GRANT struct grant grant = {.permission = permission,
					    .effect = spec.effect,
					    .profile = spec.profile ? string_copy(spec.profile) : NULL,
					    .project = spec.project ? string_copy(spec.project) : NULL,
					    .lifetime = spec.lifetime,
					    .created_ms = fake_now.wall_ms,
					    .origin = GRANT_ORIGIN_CLI};
	memcpy(grant.boot_id, fake_now.boot_id, sizeof grant.boot_id);
	if (spec.lifetime == LIFETIME_UNTIL) {
		grant.expires_ms = fake_now.wall_ms + spec.ttl_ms;
		grant.expires_boot_ms = fake_now.boot_ms + spec.ttl_ms;
	}
	assert_int_equal(store_begin(world->store, STORE_FULL, NULL), 0);
	assert_int_equal(grants_insert(world->grants, &grant, pattern, true, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	return grant.id;
}

static int64_t allow(struct world *world, const char *permission, const char *pattern) {
	return add(world, (struct spec){permission, pattern, EFFECT_ALLOW, NULL, NULL, LIFETIME_ALWAYS, 0});
}

static int64_t deny(struct world *world, const char *permission, const char *pattern) {
	return add(world, (struct spec){permission, pattern, EFFECT_DENY, NULL, NULL, LIFETIME_ALWAYS, 0});
}

/* 0 = none. */
static int64_t find_for(struct world *world, const char *permission, const char *target, const char *profile,
			const char *project) {
	struct request request = {.subject = {(char *)profile, (char *)project}, .target = (char *)target};
	CLEANUP_GRANT struct grant grant = {0};
	struct pattern_rank rank;
	assert_int_equal(permission_parse(permission, &request.permission, NULL), 0);
	return grants_find(world->grants, &request, &grant, &rank) ? grant.id : 0;
}

static int64_t find(struct world *world, const char *permission, const char *target) {
	return find_for(world, permission, target, "npm", "/home/u/app");
}

static void what_a_run_denies_beats_any_older_allow(void **state) {
	struct world *world = *state;
	allow(world, "net:access", "svc.test:443");
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	assert_int_equal(store_begin(world->store, STORE_FULL, NULL), 0);
	sqlite3_stmt *session = store_statement(world->store, STORE_SESSION_INSERT);
	for (int i = 1; i <= 3; i++) store_bind_text(session, i, "x");
	for (int i = 4; i <= 5; i++) store_bind_integer(session, i, 1);
	assert_int_equal(store_run(world->store, session, NULL, "a session"), 0);
	CLEANUP_GRANT struct grant session_deny = {.permission = permission_of(PERMISSION_NET_ACCESS),
						   .effect = EFFECT_DENY,
						   .session = store_last_id(world->store),
						   .lifetime = LIFETIME_SESSION,
						   .origin = GRANT_ORIGIN_CLI};
	assert_int_equal(pattern_compile(&session_deny.permission, "*", &scope, &pattern, NULL), 0);
	assert_int_equal(grants_insert(world->grants, &session_deny, pattern, true, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	struct request request = {.session = session_deny.session,
				  .subject = {(char *)"npm", (char *)"/home/u/app"},
				  .permission = permission_of(PERMISSION_NET_ACCESS),
				  .target = (char *)"svc.test:443"};
	CLEANUP_GRANT struct grant found = {0};
	struct pattern_rank rank;
	assert_true(grants_find(world->grants, &request, &found, &rank));
	assert_int_equal(found.effect, EFFECT_DENY);
	/* Other runs keep what they have. */
	assert_int_not_equal(find(world, "net:access", "svc.test:443"), session_deny.id);
}

/* Every pattern that covers a target is found by the target's keys. */
static void keys_miss_nothing(void **state) {
	static const struct {
		const char *permission, *pattern, *target;
	} pairs[] = {
		{"fs:read", "/", "/etc/passwd"},
		{"fs:read", "/etc", "/etc"},
		{"fs:read", "~/src", "/home/u/src/a/b/c"},
		{"fs:read", "~/src/*/x", "/home/u/src/a/x/deep"},
		{"fs:read", "/**/.env", "/home/u/app/.env"},
		{"fs:read", "**/*.key", "/home/u/app/a/b.key"},
		{"fs:read", "/srv/a\\[1\\]/b", "/srv/a[1]/b/c"},
		{"fs:read", "/srv/a\\[1\\]/*", "/srv/a[1]/c"},
		{"fs:read", "/srv/?", "/srv/x"},
		{"fs:write", "/srv/[ab]c", "/srv/ac/d"},
		{"proc:spawn", "*", "/usr/bin/make"},
		{"proc:spawn", "make", "/usr/bin/make"},
		{"proc:spawn", "/usr/bin", "/usr/bin/make"},
		{"ipc:connect", "/run/x.sock", "/run/x.sock"},
		{"ipc:connect", "/run/*.sock", "/run/x.sock"},
		{"net:access", "*", "svc.test:443"},
		{"net:access", "*:443", "svc.test:443"},
		{"net:access", "svc.test", "svc.test:443"},
		{"net:access", "svc.test:443", "svc.test:443"},
		{"net:access", "*.test", "a.b.svc.test:443"},
		{"net:access", "*.svc.test:400-500", "b.svc.test:443"},
		{"net:access", "10.0.0.0/8", "10.1.2.3:80"},
		{"net:access", "10.1.2.3", "10.1.2.3:80"},
		{"net:access", "0.0.0.0/0:80", "10.1.2.3:80"},
		{"net:access", "2001:db8::/32", "[2001:db8::1]:443"},
		{"net:access", "[2001:db8::/31]:443", "[2001:db9::1]:443"},
		{"net:access", "[2001:db8::1]:443", "[2001:db8::1]:443"},
		{"net:access", "::/0", "[2001:db8::1]:443"},
		{"net:access", "localhost", "localhost:80"},
		{"net:access", "127.0.0.0/8", "localhost:80"},
		{"net:access", "0.0.0.0", "localhost:80"},
		{"net:access", "0.0.0.0/8:80", "localhost:80"},
		{"net:access", "::", "[::1]:80"},
		{"net:access", "::/128", "[::1]:80"},
		{"net:listen", "8080", "8080"},
		{"net:listen", "8000-9000", "8080"},
		{"net:listen", "*", "8080"},
		{"env:read", "LC_*", "LC_ALL"},
		{"env:read", "TERM", "TERM"},
		{"db:access", "prod/*", "prod/users"},
		{"db:access", "prod\\*", "prod*"},
	};
	struct world *world = *state;
	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
		int64_t id = allow(world, pairs[i].permission, pairs[i].pattern);
		int64_t found = find(world, pairs[i].permission, pairs[i].target);
		if (found != id) fail_msg("%s does not find %s", pairs[i].target, pairs[i].pattern);
		assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
		assert_int_equal(grants_end(world->grants, id, NULL), 0);
		assert_int_equal(store_commit(world->store, NULL), 0);
		assert_int_equal(find(world, pairs[i].permission, pairs[i].target), 0);
	}
}

/* Former versions kept an unspecified address as it was written. */
static void an_unspecified_address_of_former_versions_is_found(void **state) {
	static const struct {
		const char *pattern, *key, *target;
	} stored[] = {
		{"0.0.0.0", "0.0.0.0", "localhost:80"},
		{"0.0.0.0:80", "0.0.0.0 80", "localhost:80"},
		{"[::]", "::", "[::1]:80"},
		{"[::]:80", ":: 80", "[::1]:80"},
	};
	struct world *world = *state;
	sqlite3 *db = sqlite3_db_handle(store_statement(world->store, STORE_GRANT_KEY));
	for (size_t i = 0; i < ARRAY_LENGTH(stored); i++) {
		int64_t id = deny(world, "net:access", stored[i].pattern);
		CLEANUP_FREE char *sql = string_format("UPDATE grants SET pattern = '%s', key = '%s' WHERE id = %lld",
						       stored[i].pattern, stored[i].key, (long long)id);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(find(world, "net:access", stored[i].target), id);
		assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
		assert_int_equal(grants_end(world->grants, id, NULL), 0);
		assert_int_equal(store_commit(world->store, NULL), 0);
	}
}

/* Keys that sort between a folder and what lies in it, and folders that have none. */
static void a_folder_is_found_behind_whatever_sorts_before_the_target(void **state) {
	static const char *const beside[] = {"/home/u!", "/home/u-x/y", "/home/u.d",      "/home/u/a",
					     "/home/t",  "/home/u/n",   "/home/u/notes!", "/home/u/notes/a"};
	struct world *world = *state;
	for (size_t i = 0; i < ARRAY_LENGTH(beside); i++) allow(world, "fs:read", beside[i]);
	assert_int_equal(find(world, "fs:read", "/home/u/notes/x/y"), 0);
	int64_t home = allow(world, "fs:read", "/home/u");
	assert_int_equal(find(world, "fs:read", "/home/u/notes/x/y"), home);
	assert_int_equal(find(world, "fs:read", "/home/u"), home);
	assert_int_equal(find(world, "fs:read", "/home/u0"), 0);
	int64_t notes = allow(world, "fs:read", "/home/u/notes");
	assert_int_equal(find(world, "fs:read", "/home/u/notes/x/y"), notes);
	int64_t denied = deny(world, "fs:read", "/");
	assert_int_equal(find(world, "fs:read", "/srv"), denied);
	assert_int_equal(find(world, "fs:read", "/home/u/notes/x/y"), notes);
}

static void what_is_not_covered_is_not_found(void **state) {
	struct world *world = *state;
	allow(world, "fs:read", "/srv/a");
	allow(world, "net:access", "*.svc.test:443");
	allow(world, "net:access", "10.0.0.0/8");
	allow(world, "env:read", "LC_*");
	assert_int_equal(find(world, "fs:read", "/srv/ab"), 0);
	assert_int_equal(find(world, "fs:read", "/srv"), 0);
	assert_int_equal(find(world, "fs:write", "/srv/a"), 0);
	assert_int_equal(find(world, "net:access", "svc.test:443"), 0);
	assert_int_equal(find(world, "net:access", "evilsvc.test:443"), 0);
	assert_int_equal(find(world, "net:access", "a.svc.test:80"), 0);
	assert_int_equal(find(world, "net:access", "11.0.0.1:80"), 0);
	assert_int_equal(find(world, "env:read", "LANG"), 0);
}

static void the_closest_wins_then_deny(void **state) {
	struct world *world = *state;
	allow(world, "fs:write", "/srv");
	int64_t inner = deny(world, "fs:write", "/srv/a");
	int64_t innermost = allow(world, "fs:write", "/srv/a/b");
	assert_int_equal(find(world, "fs:write", "/srv/a/x"), inner);
	assert_int_equal(find(world, "fs:write", "/srv/a/b/x"), innermost);
	allow(world, "net:access", "svc.test:443");
	int64_t denied = deny(world, "net:access", "svc.test:443");
	assert_int_equal(find(world, "net:access", "svc.test:443"), denied);
}

static void writing_implies_reading_and_what_may_not_be_read_may_not_be_written(void **state) {
	struct world *world = *state;
	int64_t write = allow(world, "fs:write", "/srv/w");
	assert_int_equal(find(world, "fs:read", "/srv/w/x"), write);
	deny(world, "fs:write", "/srv/r");
	assert_int_equal(find(world, "fs:read", "/srv/r/x"), 0);
	int64_t unread = deny(world, "fs:read", "/srv/n");
	assert_int_equal(find(world, "fs:write", "/srv/n/x"), unread);
}

static void a_grant_holds_for_its_subject_alone(void **state) {
	struct world *world = *state;
	int64_t id = add(world, (struct spec){"net:access", "svc.test:443", EFFECT_ALLOW, "npm", "/home/u/app",
					      LIFETIME_ALWAYS, 0});
	assert_int_equal(find_for(world, "net:access", "svc.test:443", "npm", "/home/u/app"), id);
	assert_int_equal(find_for(world, "net:access", "svc.test:443", "npm", "/home/u/other"), 0);
	assert_int_equal(find_for(world, "net:access", "svc.test:443", "git", "/home/u/app"), 0);
	id = add(world, (struct spec){"net:access", "any.test:443", EFFECT_ALLOW, "npm", NULL, LIFETIME_ALWAYS, 0});
	assert_int_equal(find_for(world, "net:access", "any.test:443", "npm", "/elsewhere"), id);
	assert_int_equal(find_for(world, "net:access", "any.test:443", "git", "/elsewhere"), 0);
}

static int64_t add_hour(struct world *world) {
	return add(world,
		   (struct spec){"net:access", "svc.test:443", EFFECT_ALLOW, NULL, NULL, LIFETIME_UNTIL, 3600000});
}

static size_t expired_count(struct world *world) {
	CLEANUP_GRANT_LIST struct grant_list list = {0};
	assert_int_equal(grants_expired(world->grants, &list, NULL), 0);
	return list.count;
}

static void attack_broker_15_a_grant_ends_by_the_wall_clock(void **state) {
	struct world *world = *state;
	int64_t id = add_hour(world);
	fake_now.wall_ms += 3599999;
	assert_int_equal(find(world, "net:access", "svc.test:443"), id);
	assert_int_equal(expired_count(world), 0);
	fake_now.wall_ms += 1; /* set forward: the boot clock has hardly moved */
	assert_int_equal(find(world, "net:access", "svc.test:443"), 0);
	assert_int_equal(expired_count(world), 1);
}

static void attack_broker_15_a_clock_set_back_lengthens_nothing(void **state) {
	struct world *world = *state;
	add_hour(world);
	fake_now.wall_ms -= 86400000;
	fake_now.boot_ms += 3600000;
	assert_int_equal(find(world, "net:access", "svc.test:443"), 0);
	assert_int_equal(expired_count(world), 1);
}

static void attack_broker_15_another_boot_goes_by_the_wall_clock(void **state) {
	struct world *world = *state;
	int64_t id = add_hour(world);
	memcpy(fake_now.boot_id, "boot-b", 7);
	fake_now.boot_ms = 100000000;
	assert_int_equal(find(world, "net:access", "svc.test:443"), id);
	assert_int_equal(expired_count(world), 0);
	fake_now.wall_ms += 3600000;
	assert_int_equal(find(world, "net:access", "svc.test:443"), 0);
	assert_int_equal(expired_count(world), 1);
}

static void behind_an_ended_grant_stands_the_next(void **state) {
	struct world *world = *state;
	int64_t wide = allow(world, "net:access", "*.test:443");
	int64_t close = add_hour(world);
	assert_int_equal(find(world, "net:access", "svc.test:443"), close);
	fake_now.wall_ms += 3600000;
	assert_int_equal(find(world, "net:access", "svc.test:443"), wide);
}

static void the_next_end_is_known(void **state) {
	struct world *world = *state;
	int64_t wall, boot;
	assert_int_equal(grants_next_expiry(world->grants, &wall, &boot, NULL), 0);
	assert_int_equal(wall, 0);
	add_hour(world);
	add(world, (struct spec){"net:access", "b.test:1", EFFECT_ALLOW, NULL, NULL, LIFETIME_UNTIL, 1000});
	assert_int_equal(grants_next_expiry(world->grants, &wall, &boot, NULL), 0);
	assert_int_equal(wall, fake_now.wall_ms + 1000);
	assert_int_equal(boot, fake_now.boot_ms + 1000);
}

static void a_roll_back_takes_the_grant_away(void **state) {
	struct world *world = *state;
	struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	assert_int_equal(pattern_compile(&permission, "svc.test:443", &scope, &pattern, NULL), 0);
	CLEANUP_GRANT struct grant grant = {
		.permission = permission, .effect = EFFECT_ALLOW, .lifetime = LIFETIME_ALWAYS};
	assert_int_equal(store_begin(world->store, STORE_FULL, NULL), 0);
	assert_int_equal(grants_insert(world->grants, &grant, pattern, true, NULL), 0);
	assert_int_equal(find(world, "net:access", "svc.test:443"), grant.id);
	store_rollback(world->store);
	grants_changed(world->grants);
	assert_int_equal(find(world, "net:access", "svc.test:443"), 0);
}

static void networks_are_known_after_a_restart(void **state) {
	struct world *world = *state;
	int64_t id = allow(world, "net:access", "10.0.0.0/8");
	grants_free(world->grants);
	assert_int_equal(grants_open(world->store, &fake_clock, &world->grants, NULL), 0);
	assert_int_equal(find(world, "net:access", "10.9.9.9:1"), id);
}

static void uses_are_counted(void **state) {
	struct world *world = *state;
	const struct grant used = {.id = allow(world, "net:access", "svc.test:443")};
	for (int i = 0; i < 5; i++) grants_count_use(world->grants, &used);
	grants_flush(world->grants);
	CLEANUP_GRANT struct grant grant = {0};
	bool active;
	assert_int_equal(grants_read(world->grants, used.id, &grant, &active, NULL), 0);
	assert_int_equal(grant.uses, 5);
	assert_int_equal(grant.last_used_ms, fake_now.wall_ms);
	assert_true(active);
}

/* What SQLite does for a lookup: no SCAN of the table or an index in the plan. */
static void lookups_never_scan(void **state) {
	struct world *world = *state;
	static const enum store_statement lookups[] = {
		STORE_GRANT_KEY,         STORE_GRANT_KEY_BEFORE,    STORE_GRANT_LOOKUP,     STORE_GRANT_ALIKE,
		STORE_GRANT_OF_SUBJECT,  STORE_GRANT_OF_PERMISSION, STORE_GRANT_AT,         STORE_GRANT_BETWEEN,
		STORE_GRANT_ANYWHERE,    STORE_GRANT_OF_SESSION,    STORE_GRANT_OF_PROFILE, STORE_GRANT_EXPIRED_WALL,
		STORE_GRANT_EXPIRED_BOOT};
	for (size_t i = 0; i < ARRAY_LENGTH(lookups); i++) {
		sqlite3_stmt *statement = store_statement(world->store, lookups[i]), *plan;
		CLEANUP_FREE char *sql = string_format("EXPLAIN QUERY PLAN %s", sqlite3_sql(statement));
		assert_int_equal(sqlite3_prepare_v2(sqlite3_db_handle(statement), sql, -1, &plan, NULL), SQLITE_OK);
		while (sqlite3_step(plan) == SQLITE_ROW) {
			const char *detail = (const char *)sqlite3_column_text(plan, 3);
			if (string_starts(detail, "SCAN") && strstr(detail, "grants")) fail_msg("%s: %s", detail, sql);
		}
		sqlite3_finalize(plan);
	}
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_run_denies_beats_any_older_allow, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_miss_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unspecified_address_of_former_versions_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_folder_is_found_behind_whatever_sorts_before_the_target, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_not_covered_is_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(the_closest_wins_then_deny, setup, teardown),
		cmocka_unit_test_setup_teardown(writing_implies_reading_and_what_may_not_be_read_may_not_be_written,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_grant_holds_for_its_subject_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_15_a_grant_ends_by_the_wall_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_15_a_clock_set_back_lengthens_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_15_another_boot_goes_by_the_wall_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_an_ended_grant_stands_the_next, setup, teardown),
		cmocka_unit_test_setup_teardown(the_next_end_is_known, setup, teardown),
		cmocka_unit_test_setup_teardown(a_roll_back_takes_the_grant_away, setup, teardown),
		cmocka_unit_test_setup_teardown(networks_are_known_after_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(uses_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(lookups_never_scan, setup, teardown),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
