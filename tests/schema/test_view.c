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
	view->limits.kernel_aio = true;
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
			r = view_add_part(&back, NULL, part, &error);
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

/* What `from` becomes with the changes that lead to `to`; *ret_parts, how many these were. */
static struct view *changed(const struct view *from, const struct view *to, size_t *ret_parts) {
	json_t *parts = view_changes(from, to), *part;
	struct view *back = NULL;
	size_t index;
	int r = 1;
	*ret_parts = json_array_size(parts);
	json_array_foreach (parts, index, part) {
		CLEANUP_FREE char *text = NULL;
		size_t size;
		assert_int_equal(message_encode(part, &text, &size, NULL), 0);
		r = view_add_part(&back, from, part, NULL);
		assert_int_equal(r, index + 1 == *ret_parts);
	}
	assert_int_equal(r, 1);
	json_decref(parts);
	return back ? back : view_copy(from);
}

static void assert_same_view(const struct view *a, const struct view *b) {
	json_t *one = view_to_parts(a), *other = view_to_parts(b);
	assert_true(json_equal(one, other));
	json_decref(one);
	json_decref(other);
}

static struct view *random_view(unsigned *seed) {
	struct view *view = sample(0);
	for (int i = 0; i < 12; i++) {
		CLEANUP_FREE char *path = string_format("/%d", rand_r(seed) % 8);
		view_add_path(view, path, rand_r(seed) % 3 == 0, (enum view_mode)(rand_r(seed) % 4), rand_r(seed) % 2);
		view_deny_path(view, path, (enum view_denial)(rand_r(seed) % 3));
		if (rand_r(seed) % 2) view_mask_path(view, path);
	}
	return view;
}

static void changes_lead_from_any_view_to_any_other(void **state) {
	(void)state;
	unsigned seed = 7;
	for (int i = 0; i < 500; i++) {
		CLEANUP_VIEW struct view *from = random_view(&seed), *to = random_view(&seed);
		size_t count;
		CLEANUP_VIEW struct view *back = changed(from, to, &count);
		assert_same_view(back, to);
	}
}

/* One that is nothing else, one that is one path more, one that is all others, and at the limit. */
static void changes_are_as_much_as_has_changed(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *from = sample(LIMIT_VIEW_PATHS), *to = view_copy(from), *other = sample(0);
	size_t count;
	assert_same_view(from, to);
	json_t *parts = view_changes(from, to);
	assert_int_equal(json_array_size(parts), 0);
	json_decref(parts);
	view_add_path(to, from->paths[5].path, false, VIEW_WRITE, false);
	parts = view_changes(from, to);
	assert_int_equal(json_array_size(parts), 1);
	assert_true(json_dumpb(parts, NULL, 0, JSON_COMPACT) < 200);
	json_decref(parts);
	for (size_t i = 0; i < LIMIT_VIEW_PATHS; i++) {
		CLEANUP_FREE char *path = string_format("/srv/a-path-of-another-name-altogether/%zu", i);
		view_add_path(other, path, false, VIEW_READ, false);
	}
	CLEANUP_VIEW struct view *back = changed(from, other, &count);
	assert_same_view(back, other);
	assert_true(count > 1);
}

static void of_another_head_the_whole_is_told(void **state) {
	(void)state;
	for (int what = 0; what < 8; what++) {
		CLEANUP_VIEW struct view *from = sample(3), *to = sample(3);
		if (what == 0) to->network = VIEW_NETWORK_NONE;
		if (what == 1) strings_add(&to->environment, "TERM");
		if (what == 2) view_add_program(to, "su", VIEW_ASK);
		if (what == 3) to->programs[0].mode = VIEW_ASK;
		if (what == 4) view_set_variable(to, "CI", "2");
		if (what == 5) view_add_host(to, "other.test", "127.0.0.2");
		if (what == 6) to->limits.processes = 7;
		if (what == 7) to->profile[0] = 'x';
		json_t *parts = view_changes(from, to), *whole = view_to_parts(to);
		assert_true(json_equal(parts, whole));
		json_decref(parts);
		json_decref(whole);
	}
}

static void broken_changes_leave_no_view(void **state) {
	(void)state;
	static const char *const texts[] = {
		"{\"part\":1,\"parts\":1,\"changes\":1,\"view\":{\"paths\":{}}}",
		"{\"part\":1,\"parts\":1,\"changes\":true,\"view\":{\"paths\":{\"gone\":\"/a\"}}}",
		"{\"part\":1,\"parts\":1,\"changes\":true,\"view\":{\"paths\":{\"lost\":[]}}}",
		"{\"part\":1,\"parts\":1,\"changes\":true,\"view\":{\"paths\":{\"gone\":[null]}}}",
		"{\"part\":1,\"parts\":1,\"changes\":true,\"view\":{}}",
	};
	CLEANUP_VIEW struct view *before = sample(3);
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct view *view = NULL;
		json_t *json = json_loads(texts[i], 0, NULL);
		assert_true(view_add_part(&view, before, json, NULL) < 0);
		assert_null(view);
		json_decref(json);
	}
	struct view *view = NULL;
	json_t *change = json_pack("{s:i, s:i, s:b, s:{s:{}}}", "part", 1, "parts", 1, "changes", 1, "view", "paths");
	assert_true(view_add_part(&view, NULL, change, NULL) < 0); /* of what? */
	assert_int_equal(view_add_part(&view, before, change, NULL), 1);
	view_free(view);
	json_decref(change);
	view = NULL;
	json_t *whole = view_to_parts(before), *part = json_array_get(whole, 0);
	json_object_set_new(json_object_get(json_object_get(part, "view"), "paths"), "gone", json_array());
	assert_true(view_add_part(&view, before, part, NULL) < 0);
	assert_null(view);
	json_decref(whole);
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
		assert_true(view_add_part(&view, NULL, json, NULL) < 0);
		assert_null(view);
		json_decref(json);
	}
}

/* Each kind of entry that can be is told as what it is. */
static void an_entry_comes_back_as_it_was(void **state) {
	(void)state;
	for (unsigned kind = 0; kind < 4 * 2 * 3 * 2; kind++) {
		CLEANUP_VIEW struct view *view = sample(0), *back = NULL;
		view_add_path(view, "/a", false, (enum view_mode)(kind % 4), kind / 4 % 2);
		view_deny_path(view, "/a", (enum view_denial)(kind / 8 % 3));
		if (kind / 24) view_mask_path(view, "/a");
		json_t *parts = view_to_parts(view);
		assert_int_equal(view_add_part(&back, NULL, json_array_get(parts, 0), NULL), 1);
		const struct view_path *was = &view->paths[0], *is = &back->paths[0];
		assert_true(is->mode == was->mode && is->ask_write == was->ask_write && is->denial == was->denial &&
			    is->mask == was->mask);
		json_decref(parts);
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
	assert_string_equal(at(view, "/home/u/app/sub"), "/home/u/app"); /* called as the pattern is written */
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(views_travel_in_parts),
					   cmocka_unit_test(broken_parts_leave_no_view),
					   cmocka_unit_test(an_entry_comes_back_as_it_was),
					   cmocka_unit_test(one_entry_a_path),
					   cmocka_unit_test(changes_lead_from_any_view_to_any_other),
					   cmocka_unit_test(changes_are_as_much_as_has_changed),
					   cmocka_unit_test(of_another_head_the_whole_is_told),
					   cmocka_unit_test(broken_changes_leave_no_view),
					   cmocka_unit_test(what_holds_at_a_path_is_the_nearest_entry_above)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
