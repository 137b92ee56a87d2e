/*
 * What a plan and a view say of a path, without a curtain and with one.
 */
#include "plan/sight.h"

#include <string.h>

#include "base/string.h"
#include "support/cmocka.h"

/* Home is fresh and asked about, a part of it is granted to read, one may be written there if somebody allows it. */
static struct sights *make(struct plan *plan, struct view *view) {
	static const struct mount mounts[] = {
		{.kind = MOUNT_FRESH, .path = (char *)"/home/u"},
		{.kind = MOUNT_CURTAIN, .path = (char *)"/home/u/node"},
		{.kind = MOUNT_READ, .path = (char *)"/home/u/read"},
	};
	*plan = (struct plan){.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	view_add_path(view, "/home/u", false, VIEW_ASK, false);
	view_add_path(view, "/home/u/read", false, VIEW_READ, true);
	view_add_path(view, "/home/u/secret", false, VIEW_ABSENT, false);
	return sights_new(plan, NULL, view);
}

static void what_nothing_stands_for_is_own_or_asked(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan;
	CLEANUP_SIGHTS struct sights *sights = make(&plan, view);
	const struct {
		const char *path;
		enum view_mode mode;
		bool own_or_asked, ask_write;
	} rows[] = {
		{"/home/u", VIEW_WRITE, false, false},
		{"/home/u/new", VIEW_WRITE, true, false},
		{"/home/u/new/deeper", VIEW_WRITE, true, false},
		{"/home/u/secret", VIEW_WRITE, false, false}, /* a rule says no: nobody is asked */
		{"/home/u/node", VIEW_ASK, false, false},
		{"/home/u/node/file", VIEW_ASK, false, false},
		{"/home/u/read/file", VIEW_READ, false, true},
		{"/elsewhere", VIEW_ABSENT, false, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct sight sight = sights_at(sights, rows[i].path);
		if (sight.mode != rows[i].mode || sight.own_or_asked != rows[i].own_or_asked ||
		    sight.ask_write != rows[i].ask_write)
			fail_msg("%s: mode %d, own_or_asked %d, ask_write %d", rows[i].path, sight.mode,
				 sight.own_or_asked, sight.ask_write);
	}
	const struct {
		struct need need;
		bool given;
	} needs[] = {
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u"}, true},
		{{.permission = PERMISSION_FS_READ, .path = "/home/u/new"}, false},
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u/new"}, false},
		{{.permission = PERMISSION_FS_READ, .path = "/home/u/read/file"}, true},
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u/read/file"}, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++)
		assert_int_equal(sights_give(sights, &needs[i].need), needs[i].given);
	free(plan.mounts);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_nothing_stands_for_is_own_or_asked)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
