/* Steps on their way to the portal: what comes out is what went in, and nothing malformed comes out. */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "mounts/portal_wire.h"
#include "support/cmocka.h"

static struct step steps_here[] = {
	{.kind = STEP_PUT,
	 .mount = {.kind = MOUNT_READ,
		   .mode = 0755,
		   .id = 7,
		   .on = 3,
		   .path = (char *)"/a\n/b",
		   .source = (char *)"/\377",
		   .device = 11,
		   .inode = 1ULL << 40}},
	{.kind = STEP_TAKE, .mount = {.id = 8, .path = (char *)"/c"}},
	{.kind = STEP_PUT,
	 .mount = {.kind = MOUNT_LINK, .id = 9, .path = (char *)"/bin", .source = (char *)"../usr/bin"}},
};

static struct steps all_steps(void) {
	return (struct steps){.items = steps_here, .count = ARRAY_LENGTH(steps_here)};
}

static void what_goes_in_comes_out(void **state) {
	(void)state;
	const struct steps steps = all_steps();
	CLEANUP_STRING struct string bytes = {0};
	CLEANUP_STEPS struct steps got = {0};
	assert_int_equal(portal_steps_pack(&steps, &bytes, NULL), 0);
	assert_int_equal(portal_steps_unpack(bytes.data, bytes.size, &got, NULL), 0);
	assert_int_equal(got.count, steps.count);
	for (size_t i = 0; i < got.count; i++) {
		const struct mount *one = &steps.items[i].mount, *two = &got.items[i].mount;
		assert_int_equal(steps.items[i].kind, got.items[i].kind);
		assert_int_equal(one->kind, two->kind);
		assert_int_equal(one->mode, two->mode);
		assert_int_equal(one->id, two->id);
		assert_int_equal(one->on, two->on);
		assert_string_equal(one->path, two->path);
		assert_true(string_equal(one->source, two->source));
		assert_true(one->device == two->device && one->inode == two->inode);
	}
}

/* The bytes of a message, changed. */
static bool is_taken(const char *bytes, size_t size) {
	CLEANUP_STEPS struct steps got = {0};
	return portal_steps_unpack(bytes, size, &got, NULL) == 0;
}

static void what_is_cut_or_longer_is_refused(void **state) {
	(void)state;
	const struct steps steps = all_steps();
	CLEANUP_STRING struct string packed = {0};
	assert_int_equal(portal_steps_pack(&steps, &packed, NULL), 0);
	const size_t size = packed.size;
	string_append_bytes(&packed, "", 1);
	char *bytes = packed.data;
	assert_true(is_taken(bytes, size));
	for (size_t i = 0; i < size; i++) assert_false(is_taken(bytes, i));
	assert_false(is_taken(bytes, size + 1));
	for (size_t i = 0; i < size; i++) { /* no byte leads out of it */
		bytes[i] = (char)~bytes[i];
		is_taken(bytes, size);
		bytes[i] = (char)~bytes[i];
	}
}

static bool is_taken_alone(const struct step *step) {
	const struct steps steps = {.items = (struct step *)step, .count = 1};
	CLEANUP_STRING struct string bytes = {0};
	CLEANUP_STEPS struct steps got = {0};
	assert_int_equal(portal_steps_pack(&steps, &bytes, NULL), 0);
	return portal_steps_unpack(bytes.data, bytes.size, &got, NULL) == 0;
}

static void what_a_plan_never_says_is_refused(void **state) {
	(void)state;
	struct step step = {.kind = STEP_PUT,
			    .mount = {.kind = MOUNT_READ, .path = (char *)"/a", .source = (char *)"/b"}};
	assert_true(is_taken_alone(&step));
	static const char *const bad[] = {"a", "", "/a/", "/a//b", "/a/../b", "/a/./b"};
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		step.mount.path = (char *)bad[i];
		assert_false(is_taken_alone(&step));
		step.mount.path = (char *)"/a";
		step.mount.source = (char *)bad[i];
		assert_false(is_taken_alone(&step));
		step.mount.source = (char *)"/b";
	}
	step.mount.source = (char *)"/"; /* with our own scratch on it */
	assert_false(is_taken_alone(&step));
	step.mount.source = NULL;
	assert_false(is_taken_alone(&step));
	step.mount.kind = (enum mount_kind)MOUNT_KIND_COUNT;
	assert_false(is_taken_alone(&step));
	step.mount.kind = MOUNT_FRESH;
	assert_true(is_taken_alone(&step));
	step.kind = (enum step_kind)STEP_KIND_COUNT;
	assert_false(is_taken_alone(&step));
}

static void what_became_of_steps_comes_back(void **state) {
	(void)state;
	uint32_t failed[] = {4, 9};
	struct portal_taken taken[] = {{1, 2, 0, 5}, {2, 9, 1, 0}, {1ULL << 33, 4, 0, 1ULL << 40}};
	struct portal_put puts[] = {{7, 1}, {1ULL << 34, 2}};
	const struct portal_applied applied = {.failed = failed,
					       .failed_count = ARRAY_LENGTH(failed),
					       .taken = taken,
					       .taken_count = ARRAY_LENGTH(taken),
					       .puts = puts,
					       .put_count = ARRAY_LENGTH(puts)};
	CLEANUP_PORTAL_APPLIED struct portal_applied got = {0};
	CLEANUP_STRING struct string bytes = {0};
	assert_int_equal(portal_applied_pack(&applied, &bytes, NULL), 0);
	assert_int_equal(portal_applied_unpack(bytes.data, bytes.size, &got, NULL), 0);
	assert_int_equal(got.failed_count, 2);
	assert_int_equal(got.taken_count, 3);
	assert_memory_equal(got.failed, failed, sizeof failed);
	assert_memory_equal(got.taken, taken, sizeof taken);
	assert_int_equal(got.put_count, 2);
	assert_memory_equal(got.puts, puts, sizeof puts);
	const uint32_t lies[] = {~0U, ~0U, 0};
	struct portal_applied none = {0};
	assert_true(portal_applied_unpack((const char *)lies, sizeof lies, &none, NULL) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(what_is_cut_or_longer_is_refused),
		cmocka_unit_test(what_a_plan_never_says_is_refused),
		cmocka_unit_test(what_became_of_steps_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
