/* Names that come to be while a sandbox runs: which are told of, by which path, how often. */
#include <event2/event.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "mounts/arrivals.h"
#include "support/cmocka.h"
#include "support/patience.h"

static struct world {
	struct event_base *base;
	struct arrivals *arrivals;
	struct strings names, matches; /* told of */
	struct strings patterns, trees, awaited, ways;
	char *root;
} world;

static void on_found(void *context, const char *path, bool by_pattern) {
	struct world *w = context;
	strings_add(by_pattern ? &w->matches : &w->names, path);
}

static char *at(const char *name) {
	return path_join(world.root, name);
}

static void make(const char *name) {
	CLEANUP_FREE char *path = at(name), *folder = path_parent(path);
	assert_int_equal(file_make_directories(folder, NULL), 0);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fclose(file);
}

static void take_away(const char *name) {
	CLEANUP_FREE char *path = at(name);
	assert_int_equal(remove(path), 0);
}

static void move(const char *from, const char *to) {
	CLEANUP_FREE char *old = at(from), *new = at(to);
	assert_int_equal(rename(old, new), 0);
}

static void add(struct strings *list, const char *name) {
	strings_take(list, at(name));
}

static void follow(void) {
	arrivals_follow(world.arrivals, &world.patterns, &world.trees, &world.awaited, &world.ways);
}

static void turn(int ms) {
	const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	event_base_loopexit(world.base, &time);
	event_base_dispatch(world.base);
}

static bool is_told(const struct strings *list, const char *name) {
	CLEANUP_FREE char *path = at(name);
	turn(2);
	return strings_contain(list, path);
}

#define matched(name) wait_until(is_told(&world.matches, name))
#define named(name)   wait_until(is_told(&world.names, name))

/* All that was made before has been told of. */
static void settle(void) {
	static unsigned number;
	CLEANUP_FREE char *name = string_format("settled%u.env", number++);
	make(name);
	matched(name);
}

static int setup(void **state) {
	(void)state;
	world = (struct world){.base = loop_new(), .root = string_copy("/tmp/sbx-arrivals.XXXXXX")};
	assert_non_null(mkdtemp(world.root));
	const struct arrivals_options options = {.base = world.base,
						 .scope = {.relative_anywhere = true, .uid = getuid()},
						 .found = on_found,
						 .context = &world};
	world.arrivals = arrivals_new(&options);
	strings_add(&world.patterns, "/**/*.env");
	strings_add(&world.trees, world.root);
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int teardown(void **state) {
	(void)state;
	arrivals_free(world.arrivals);
	nftw(world.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	event_base_free(world.base);
	strings_finish(&world.names);
	strings_finish(&world.matches);
	strings_finish(&world.patterns);
	strings_finish(&world.trees);
	strings_finish(&world.awaited);
	strings_finish(&world.ways);
	free(world.root);
	return 0;
}

static void what_came_before_it_begins_is_told(void **state) {
	(void)state;
	follow();
	make("a/b/one.env");
	matched("a/b/one.env");
	assert_int_equal(world.names.count, 0);
}

static void new_folders_are_looked_into_and_watched(void **state) {
	(void)state;
	follow();
	settle();
	make("new/sub/one.env");
	matched("new/sub/one.env");
	make("new/sub/two.env");
	matched("new/sub/two.env");
	make("new/sub/none");
	settle();
	CLEANUP_FREE char *none = at("new/sub/none");
	assert_false(strings_contain(&world.matches, none));
}

static void what_is_moved_has_its_new_path(void **state) {
	(void)state;
	make("before/sub/other");
	follow();
	settle();
	move("before", "after");
	settle();
	make("after/sub/one.env");
	matched("after/sub/one.env");
	move("after/sub/other", "after/sub/two.env");
	matched("after/sub/two.env");
	CLEANUP_FREE char *old = at("before/sub/one.env");
	assert_false(strings_contain(&world.matches, old));
}

static void many_folders_come_and_go(void **state) {
	(void)state;
	follow();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			CLEANUP_FREE char *name = string_format("many/%d/some", i);
			make(name);
		}
		settle();
		for (int i = 0; i < 100; i++) {
			CLEANUP_FREE char *name = string_format("many/%d/some", i), *folder = path_parent(name);
			take_away(name);
			take_away(folder);
		}
		settle();
	}
	make("many/7/one.env");
	matched("many/7/one.env");
}

static void a_name_is_told_of_when_it_comes_and_when_it_comes_again(void **state) {
	(void)state;
	add(&world.awaited, "secret");
	follow();
	settle();
	assert_int_equal(world.names.count, 0);
	make("secret");
	named("secret");
	follow(); /* it is awaited still, where it can't be hidden: nothing new */
	settle();
	assert_int_equal(world.names.count, 1);
	make("other");
	move("other", "secret");
	wait_until((turn(2), world.names.count == 2));
}

static void a_name_is_told_of_in_a_folder_that_was_made_anew(void **state) {
	(void)state;
	make("way/in/there");
	add(&world.awaited, "way/in/secret");
	follow();
	settle();
	move("way", "old");
	settle();
	make("way/in/there");
	settle();
	assert_int_equal(world.names.count, 0);
	make("way/in/secret");
	named("way/in/secret");
	take_away("way/in/secret");
	take_away("way/in/there");
	take_away("way/in");
	settle();
	const size_t before = world.names.count;
	make("way/in/secret");
	wait_until((turn(2), world.names.count > before));
}

static void a_name_is_told_of_that_comes_with_the_folder_above(void **state) {
	(void)state;
	make("way/in/there");
	make("other/in/secret");
	add(&world.awaited, "way/in/secret");
	follow();
	settle();
	move("way", "old");
	move("other", "way");
	named("way/in/secret");
}

static void a_link_on_the_way_is_told_of_once(void **state) {
	(void)state;
	make("way/there");
	make("place/there");
	add(&world.awaited, "way/secret");
	follow();
	settle();
	move("way", "old");
	CLEANUP_FREE char *place = at("place"), *way = at("way");
	assert_int_equal(symlink(place, way), 0);
	named("way");
	follow();
	settle();
	assert_int_equal(world.names.count, 1);
}

static void of_a_way_each_link_is_told_and_nothing_else(void **state) {
	(void)state;
	make("one/there");
	make("two/there");
	CLEANUP_FREE char *one = at("one"), *two = at("two"), *link = at("link"), *next = at("next");
	assert_int_equal(symlink(one, link), 0);
	add(&world.ways, "link");
	add(&world.ways, "one");
	add(&world.ways, "later/link");
	follow();
	named("link"); /* what it was before isn't known */
	assert_int_equal(symlink(two, next), 0);
	move("next", "link");
	settle();
	assert_int_equal(world.names.count, 2);
	make("later/file");
	settle();
	assert_int_equal(world.names.count, 2);
	CLEANUP_FREE char *later = at("later/link");
	assert_int_equal(symlink(two, later), 0);
	named("later/link");
	move("one", "away");
	assert_int_equal(symlink(two, one), 0);
	named("one");
}

static void a_name_that_is_awaited_later_is_told_of_though_it_is_there(void **state) {
	(void)state;
	follow();
	settle();
	make("later");
	make("there/later");
	add(&world.awaited, "later");
	add(&world.awaited, "there/later");
	follow();
	named("later");
	named("there/later");
}

static void other_patterns_and_trees_are_looked_for_anew(void **state) {
	(void)state;
	make("sub/one.key");
	follow();
	settle();
	strings_add(&world.patterns, "/**/*.key");
	follow();
	matched("sub/one.key");
	make("sub/two.key");
	matched("sub/two.key");
}

/* Nothing but what the kernel tells wakes it. */
static void it_rests_when_all_was_looked_at(void **state) {
	(void)state;
	add(&world.awaited, "secret");
	follow();
	settle();
	turn(2);
	assert_int_equal(event_base_get_num_events(world.base, EVENT_BASE_COUNT_ADDED), 1);
	strings_add(&world.patterns, "/**/*.key");
	follow();
	make("one.key");
	matched("one.key");
	turn(2);
	assert_int_equal(event_base_get_num_events(world.base, EVENT_BASE_COUNT_ADDED), 1);
}

static void on_found_slowly(void *context, const char *path, bool by_pattern) {
	on_found(context, path, by_pattern);
	usleep(1000);
}

static void a_large_folder_takes_many_turns(void **state) {
	(void)state;
	const struct arrivals_options options = {.base = world.base,
						 .scope = {.relative_anywhere = true, .uid = getuid()},
						 .found = on_found_slowly,
						 .context = &world};
	arrivals_free(world.arrivals);
	world.arrivals = arrivals_new(&options);
	for (int i = 0; i < 100; i++) {
		CLEANUP_FREE char *name = string_format("many/%d.env", i);
		make(name);
	}
	follow();
	while (world.matches.count < 100) {
		const size_t before = world.matches.count;
		event_base_loop(world.base, EVLOOP_ONCE);
		assert_true(world.matches.count <= before + 10); /* others' timers have their turns between */
	}
}

static void what_nobody_hides_is_not_watched(void **state) {
	(void)state;
	strings_finish(&world.patterns);
	follow();
	assert_int_equal(event_base_get_num_events(world.base, EVENT_BASE_COUNT_ADDED), 0);
}

#define ARRIVALS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		ARRIVALS_TEST(what_came_before_it_begins_is_told),
		ARRIVALS_TEST(new_folders_are_looked_into_and_watched),
		ARRIVALS_TEST(what_is_moved_has_its_new_path),
		ARRIVALS_TEST(many_folders_come_and_go),
		ARRIVALS_TEST(a_name_is_told_of_when_it_comes_and_when_it_comes_again),
		ARRIVALS_TEST(a_name_is_told_of_in_a_folder_that_was_made_anew),
		ARRIVALS_TEST(a_name_is_told_of_that_comes_with_the_folder_above),
		ARRIVALS_TEST(a_link_on_the_way_is_told_of_once),
		ARRIVALS_TEST(of_a_way_each_link_is_told_and_nothing_else),
		ARRIVALS_TEST(a_name_that_is_awaited_later_is_told_of_though_it_is_there),
		ARRIVALS_TEST(other_patterns_and_trees_are_looked_for_anew),
		ARRIVALS_TEST(it_rests_when_all_was_looked_at),
		ARRIVALS_TEST(a_large_folder_takes_many_turns),
		ARRIVALS_TEST(what_nobody_hides_is_not_watched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
