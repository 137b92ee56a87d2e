/* The screen, drawn into pads of many sizes and read back as text. */
#include <locale.h>
#include <wchar.h>

#include "base/text.h"
#include "sample.h"
#include "view.h"

static SCREEN *screen;

static int open_terminal(void **state) {
	(void)state;
	FILE *nowhere = fopen("/dev/null", "r+e");
	setlocale(LC_CTYPE, "C.UTF-8");
	screen = nowhere ? newterm("xterm-256color", nowhere, nowhere) : NULL;
	if (screen) view_colours(true);
	return screen ? 0 : -1;
}

static int close_terminal(void **state) {
	(void)state;
	endwin();
	delscreen(screen);
	return 0;
}

/* What stands on the screen, spaces at the lines' ends cut off. */
static char *drawn(struct monitor_model *model, int height, int width) {
	CLEANUP_STRING struct string out = {0};
	WINDOW *pad = newpad(height, width);
	view_draw(pad, model);
	for (int y = 0; y < height; y++) {
		wchar_t line[256] = {0};
		char bytes[1024];
		mvwinnwstr(pad, y, 0, line, width);
		size_t size = wcstombs(bytes, line, sizeof bytes - 1);
		assert_true(size < sizeof bytes);
		while (size > 0 && bytes[size - 1] == ' ') size--;
		string_append_bytes(&out, bytes, size);
		string_append_char(&out, '\n');
	}
	delwin(pad);
	return string_steal(&out);
}

static void assert_shows(struct monitor_model *model, int height, int width, const char *expected) {
	CLEANUP_FREE char *text = drawn(model, height, width);
	assert_string_equal(text, expected);
}

static void fill_grants(struct monitor_model *model) {
	json_t *items = json_array();
	json_array_append_new(items, sample_grant(12, "*.example.org"));
	json_array_append_new(items, sample_grant(11, "registry.test:443"));
	answer_page(model, PANE_GRANTS, items);
}

static void nothing_is_said_to_be_nothing(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	assert_shows(&model, 10, 40,
		     "[Prompts 0] Runs 0 Grants 0 History\n"
		     "today: 41 decisions, 2 asked, 1 denied\n"
		     "Nothing waits for an answer.\n"
		     "\n\n\n\n\n\n"
		     "Tab pane  ? help  q quit\n");
	model_finish(&model);
}

static void forty_columns_and_ten_lines_are_enough(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "a-rather-long-name.of.some.host.example.org:443"));
	fill_grants(&model);
	assert_shows(&model, 10, 40,
		     "[Prompts 1] Runs 0 Grants 2 History\n"
		     "today: 41 decisions, 2 asked, 1 denied\n"
		     "  ID  PERMISSION  TARGET            LEFT\n"
		     ">  3  net:access  a-rathe….org:443   42s\n"
		     "\n\n\n\n\n"
		     "a allow  d deny  Enter details  Tab pane\n");
	look(&model);
	press(&model, "a");
	assert_shows(&model, 10, 40,
		     "[Prompts 1] Runs 0 Grants 2 History\n"
		     "today: 41 decisions, 2 asked, 1 denied\n"
		     "Allow prompt 3 (profile npm)?\n"
		     "net:access a-rather-long-name.of.some.ho\n"
		     "st.example.org:443\n"
		     "> for      < 1h >\n"
		     "  covers   < just this >\n"
		     "y: allow   Esc: back\n"
		     "\n"
		     "y yes  Esc back  ←/→ change\n");
	model_finish(&model);
}

static void a_usual_terminal_shows_the_list_and_the_chosen_one(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	struct prompt first = sample_prompt(7, "one.test:443"), second = sample_prompt(8, "two.test:443");
	first.bundle = second.bundle = 7;
	tell_prompt(&model, first);
	tell_prompt(&model, second);
	assert_shows(&model, 24, 80,
		     "[1 Prompts 2]  2 Sandboxes 0   3 Grants 0   4 History\n"
		     "today: 41 decisions, 2 asked, 1 denied\n"
		     "  ID  PROFILE  PROJECT  PERMISSION  TARGET                      ASKED BY    LEFT\n"
		     ">* 7  npm               2 things    one.test:443, two.test:443\n"
		     " | 7  npm      /app     net:access  one.test:443                curl (412)   42s\n"
		     " | 8  npm      /app     net:access  two.test:443                curl (412)   42s\n"
		     "\n"
		     "\n"
		     "\n"
		     "\n"
		     "\n"
		     "────────────────────────────────────────────────────────────────────────────────\n"
		     "sbx: curl wants 2 things:\n"
		     "  7        connect to one.test:443\n"
		     "  8        connect to two.test:443\n"
		     "  asked by curl (pid 412, session 9; name not verified)\n"
		     "  project  /app (profile npm)\n"
		     "\n"
		     "\n"
		     "\n"
		     "\n"
		     "\n"
		     "\n"
		     "a allow  d deny  Enter details  Tab pane  ? help  q quit\n");
	model_finish(&model);
}

static void untrusted_text_is_made_visible(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	struct prompt prompt = sample_prompt(3, "svc.test\x1b[2J\n\xe2\x80\xae:443");
	free(prompt.process);
	prompt.process = string_copy("evil\x1b]0;title\x07\xff (7)");
	tell_prompt(&model, prompt);
	for (size_t pass = 0; pass < 2; pass++) {
		CLEANUP_FREE char *text = drawn(&model, 30, 120);
		assert_null(strchr(text, '\x1b'));
		assert_null(strstr(text, "\xe2\x80\xae"));
		assert_non_null(strstr(text, "svc.test\\x1b[2J\\n\\u{202e}:443"));
		look(&model);
		press(&model, "a"); /* once more, in the form */
	}
	model_finish(&model);
}

/* Nor is it allowed, then: test_model.c. */
static void attack_r_19_a_form_shows_all_that_it_allows(void **state) {
	(void)state;
	struct monitor_model model;
	CLEANUP_STRING struct string path = {0};
	sample_start(&model);
	for (int i = 0; i < 100; i++) string_appendf(&path, "/%04d-name", i);
	tell_prompt(&model, sample_prompt(3, path.data));
	look(&model);
	press(&model, "a");
	CLEANUP_FREE char *large = drawn(&model, 30, 80);
	assert_non_null(strstr(large, "0050-name"));
	assert_non_null(strstr(large, "y: allow"));
	assert_false(model.form.unseen);
	for (int small = 0; small < 2; small++) {
		CLEANUP_FREE char *text = drawn(&model, small ? 30 : 16, small ? 39 : 80);
		assert_null(strstr(text, "y: allow"));
		assert_true(model.form.unseen);
	}
	model_finish(&model);
}

static void wide_letters_keep_their_columns(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "日本語のとても長い名前のホスト.test:443"));
	for (int width = 40; width < 100; width++) {
		CLEANUP_FREE char *text = drawn(&model, 10, width);
		char *line = strstr(text, ">  3");
		assert_non_null(line);
		*strchr(line, '\n') = '\0';
		assert_true(text_columns(line) <= (size_t)width);
		assert_non_null(strstr(line, "42s")); /* the column behind it is still there */
	}
	model_finish(&model);
}

static void any_size_will_do(void **state) {
	(void)state;
	static const char *const ways[] = {"1", "1\r", "1a", "3", "3\r", "3r", "4", "?", "2"};
	for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
		struct monitor_model model;
		sample_start(&model);
		for (int64_t id = 1; id < 40; id++) tell_prompt(&model, sample_prompt(id, "日本語.test:443"));
		fill_grants(&model);
		look(&model);
		press(&model, ways[i]);
		for (int height = 1; height < 30; height++)
			for (int width = 1; width < 90; width += 3) {
				keys_press(&model, KEY_DOWN);
				CLEANUP_FREE char *text = drawn(&model, height, width);
				assert_non_null(text);
			}
		model_finish(&model);
	}
}

static void the_chosen_line_is_in_view_and_marked_without_colour(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	for (int64_t id = 101; id < 400; id++) tell_prompt(&model, sample_prompt(id, "svc.test:443"));
	for (int i = 0; i < 298; i++) {
		CLEANUP_FREE char *expected = string_format("\n> %d  ", 101 + i);
		CLEANUP_FREE char *text = drawn(&model, 12, 60);
		assert_non_null(strstr(text, expected));
		keys_press(&model, KEY_DOWN);
	}
	model_finish(&model);
}

static void a_broker_that_is_gone_is_said(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	model_lost(&model, "the broker has closed the connection");
	CLEANUP_FREE char *text = drawn(&model, 10, 80);
	assert_non_null(strstr(text, "sbxd isn't there: waiting for it (the broker has closed the connection)"));
	model_finish(&model);
}

static void prompts_are_told_of_in_every_pane(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	press(&model, "4");
	CLEANUP_FREE char *text = drawn(&model, 10, 80);
	assert_non_null(strstr(text, "1 prompt waits for an answer: press 1"));
	model_finish(&model);
}

static void the_help_has_all_keys(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	press(&model, "?");
	CLEANUP_FREE char *text = drawn(&model, 40, 80);
	assert_non_null(strstr(text, "  a        Allow"));
	assert_non_null(strstr(text, "  q        End the monitor"));
	model_finish(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_to_be_nothing),
		cmocka_unit_test(forty_columns_and_ten_lines_are_enough),
		cmocka_unit_test(a_usual_terminal_shows_the_list_and_the_chosen_one),
		cmocka_unit_test(untrusted_text_is_made_visible),
		cmocka_unit_test(attack_r_19_a_form_shows_all_that_it_allows),
		cmocka_unit_test(wide_letters_keep_their_columns),
		cmocka_unit_test(any_size_will_do),
		cmocka_unit_test(the_chosen_line_is_in_view_and_marked_without_colour),
		cmocka_unit_test(a_broker_that_is_gone_is_said),
		cmocka_unit_test(prompts_are_told_of_in_every_pane),
		cmocka_unit_test(the_help_has_all_keys),
	};
	return cmocka_run_group_tests(tests, open_terminal, close_terminal);
}
