#include <string.h>

#include "schema/limits.h"
#include "schema/message.h"
#include "schema/view.h"
#include "support/cmocka.h"

static struct view *sample(size_t paths) {
	struct view *view = view_new();
	view->profile = string_copy("npm");
	view->network = VIEW_NETWORK_PROXY;
	view->home = VIEW_HOME_OWN;
	view->limits.memory = 4LL << 30;
	for (size_t i = 0; i < paths; i++) {
		CLEANUP_FREE char *path = string_format("/home/u/%05zu/\xff/some/longer/path", paths - i);
		view_add_path(view, path, i % 7 == 0, (enum view_mode)(i % 4), i % 3 == 0);
	}
	strings_add(&view->environment, "LANG");
	view_set_variable(view, "CI", "0");
	view_set_variable(view, "CI", "1");
	view_add_host(view, "svc.test", "127.0.0.1");
	view_add_program(view, "sudo", VIEW_ABSENT);
	return view;
}

static void views_travel_in_parts(void **state) {
	(void)state;
	static const size_t sizes[] = {0, 1, 50, LIMIT_VIEW_PATHS};
	for (size_t s = 0; s < ARRAY_LENGTH(sizes); s++) {
		CLEANUP_VIEW struct view *view = sample(sizes[s]);
		CLEANUP_VIEW struct view *back = NULL;
		json_t *parts = view_to_parts(view), *part;
		size_t index;
		int r = 0;
		json_array_foreach (parts, index, part) {
			CLEANUP_FREE char *text = NULL;
			size_t size;
			struct error error = ERROR_NONE;
			assert_int_equal(r, 0);
			assert_int_equal(message_encode(part, &text, &size, &error), 0);
			r = view_add_part(&back, part, &error);
		}
		assert_int_equal(r, 1);
		json_decref(parts);
		assert_int_equal(back->path_count, sizes[s]);
		for (size_t i = 0; i < sizes[s]; i++) {
			assert_string_equal(back->paths[i].path, view->paths[i].path);
			assert_int_equal(back->paths[i].mode, view->paths[i].mode);
			assert_int_equal(back->paths[i].pattern, view->paths[i].pattern);
			assert_int_equal(back->paths[i].ask_write, view->paths[i].ask_write);
			if (i > 0) assert_true(strcmp(view->paths[i - 1].path, view->paths[i].path) < 0);
		}
		assert_string_equal(back->set[0].value, "1");
		assert_int_equal(back->set_count, 1);
		assert_string_equal(back->hosts[0].value, "127.0.0.1");
		assert_string_equal(back->programs[0].pattern, "sudo");
		assert_int_equal(back->limits.memory, 4LL << 30);
		assert_int_equal(back->network, VIEW_NETWORK_PROXY);
	}
}

static void broken_parts_leave_no_view(void **state) {
	(void)state;
	static const char *const texts[] = {
		"{\"part\":2,\"parts\":2,\"view\":{\"paths\":{}}}",
		"{\"part\":1,\"parts\":1,\"view\":{\"paths\":{}}}",
		"{\"part\":0,\"parts\":0,\"view\":{}}",
		"{\"part\":1,\"parts\":1}",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct view *view = NULL;
		json_t *json = json_loads(texts[i], 0, NULL);
		assert_true(view_add_part(&view, json, NULL) < 0);
		assert_null(view);
		json_decref(json);
	}
}

static void one_entry_a_path(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *view = view_new();
	view_add_path(view, "/a", false, VIEW_READ, false);
	view_add_path(view, "/a", true, VIEW_ABSENT, false);
	view_add_path(view, "/a", false, VIEW_WRITE, false);
	assert_int_equal(view->path_count, 2);
	assert_int_equal(view->paths[0].mode, VIEW_WRITE);
}

static const char *at(const struct view *view, const char *path) {
	const struct view_path *entry = view_at(view, path);
	return entry ? entry->path : "nothing";
}

static void what_holds_at_a_path_is_the_nearest_entry_above(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *view = view_new();
	assert_null(view_at(view, "/"));
	view_add_path(view, "/home/u", false, VIEW_ASK, true);
	view_add_path(view, "/home/u/app", false, VIEW_WRITE, false);
	view_add_path(view, "/home/u/app-old", false, VIEW_READ, false);
	view_add_path(view, "/home/u/app/.git/hooks", false, VIEW_READ, true);
	view_add_path(view, "/home/u/app", true, VIEW_ABSENT, false);
	view_add_path(view, "/home/u/app/sub", true, VIEW_ABSENT, false);
	assert_string_equal(at(view, "/home/u"), "/home/u");
	assert_string_equal(at(view, "/home/u/x/y"), "/home/u");
	assert_string_equal(at(view, "/home/u/app"), "/home/u/app");
	assert_false(view_at(view, "/home/u/app")->pattern);
	assert_string_equal(at(view, "/home/u/app/sub/x"), "/home/u/app");
	assert_string_equal(at(view, "/home/u/app-old/x"), "/home/u/app-old");
	assert_string_equal(at(view, "/home/u/app-new"), "/home/u");
	assert_string_equal(at(view, "/home/u/app/.git/hooks/pre-commit"), "/home/u/app/.git/hooks");
	assert_string_equal(at(view, "/home/u/app/.git"), "/home/u/app");
	assert_string_equal(at(view, "/home/us"), "nothing");
	assert_string_equal(at(view, "/"), "nothing");
	view_add_path(view, "/", false, VIEW_READ, false);
	assert_string_equal(at(view, "/home/us"), "/");
	assert_string_equal(at(view, "/"), "/");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_travel_in_parts), cmocka_unit_test(broken_parts_leave_no_view),
		cmocka_unit_test(one_entry_a_path), cmocka_unit_test(what_holds_at_a_path_is_the_nearest_entry_above)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
