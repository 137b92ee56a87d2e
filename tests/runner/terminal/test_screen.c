/* What a tool has switched on is put back after a question, and its picture drawn again. */
#include "terminal/screen.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "support/cmocka.h"

enum { ROWS = 24 };

static void see(struct screen *screen, const char *text) {
	screen_see(screen, text, strlen(text));
}

/* What the terminal gets before and after a question, when it has got `text`. */
static char *around(const char *text, bool reads_keys, char **ret_before, enum screen_back *ret_back) {
	CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
	struct string before = {0}, after = {0};
	see(screen, text);
	screen_leave(screen, reads_keys, &before);
	enum screen_back back = screen_return(screen, &after);
	if (ret_back) *ret_back = back;
	if (ret_before)
		*ret_before = string_steal(&before);
	else
		string_finish(&before);
	return string_steal(&after);
}

static void assert_after(const char *text, const char *expected) {
	CLEANUP_FREE char *after = around(text, false, NULL, NULL);
	assert_string_equal(after, expected);
}

static void a_tool_that_writes_lines_has_nothing_to_put_back(void **state) {
	(void)state;
	static const char *const texts[] = {"",
					    "one\r\ntwo \x1b[1;31mred\x1b[0m\r\n",
					    "\x1b[?25l\x1b[?25h",
					    "\x1b[?2004h\x1b[?2004l",
					    "\x1b]0;title\a",
					    "\x1b[6n\x1b[c",
					    "\x1b[31m\x1b[39m",
					    "\x1b(0\x1b(B",
					    "\x1b[5;10r\x1b[r",
					    "\x1b[?1049h\x1b[Hpicture\x1b[?1049l",
					    "\x1b[?1000h\x1b[?1006h\x1b\x63"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		enum screen_back back;
		CLEANUP_FREE char *before = NULL;
		CLEANUP_FREE char *after = around(texts[i], false, &before, &back);
		assert_string_equal(after, "");
		assert_string_equal(before, "\x18\x1b\\\x1b<");
		assert_int_equal(back, SCREEN_BELOW);
	}
}

static void what_it_switched_on_is_put_back(void **state) {
	(void)state;
	static const struct {
		const char *text, *after;
	} cases[] = {
		{"\x1b[?1000h\x1b[?1002;1006h", "\x1b[?1002h\x1b[?1006h"}, /* of the mouse's the last counts */
		{"\x1b[?1003h\x1b[?1000l", ""},
		{"\x1b[?1;2004h\x1b[?25l\x1b=", "\x1b[?1h\x1b[?25l\x1b[?66h\x1b[?2004h"},
		{"\x1b[?1;2004h\x1b[!p", "\x1b[?2004h"},
		{"\x1b[?1004h\x1b[?1004s\x1b[?1004l\x1b[?1004r", "\x1b[?1004h"},
		{"\x1b[?7l\x1b[4h", "\x1b[?7l\x1b[4h"},
		{"\x1b[>4;2m\x1b[5 q", "\x1b[>4;2m\x1b[5 q"},
		{"\x1b[>4;2m\x1b[>4m", ""},
		{"\x1b[>1u", "\x1b[<u"},
		{"\x1b)0\x0e", "\x1b)0\x0e"},
		{"\x1b[1;3;4;38;5;208;48;2;1;2;3m", "\x1b[0;1;3;4;38;5;208;48;2;1;2;3m"},
		{"\x1b[4:3;58:2::9:9:9m\x1b[22;23m\x1b[97m", "\x1b[0;4:3;97;58:2::9:9:9m"},
		{"\x1b[1mbold\x1b[31mred\x1b[22m", "\x1b[0;31m"},
		{"\x1b[31m\x1b\x37\x1b[m\x1b\x38", "\x1b[0;31m"},
		{"\x1b[2;23r", "\n\x1b[1A\0337\x1b[2;23r\0338"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) assert_after(cases[i].text, cases[i].after);
}

static void the_picture_is_drawn_again(void **state) {
	(void)state;
	CLEANUP_FREE char *before = NULL;
	enum screen_back back;
	CLEANUP_FREE char *after =
		around("line\r\n\x1b[?1049h\x1b[?2004h\x1b[Hone\x1b[2;5Htw\xc3\xb6\x1b[6n\a", true, &before, &back);
	assert_string_equal(before, "\x18\x1b\\\x1b<\x1b[?1049l");
	assert_string_equal(after, "\x1b[?1049h\x1b[Hone\x1b[2;5Htw\xc3\xb6\x1b[?2004h");
	assert_int_equal(back, SCREEN_AS_IT_WAS);
}

static void lines_that_fill_the_screen_are_a_picture(void **state) {
	(void)state;
	CLEANUP_STRING struct string lines = {0}, expected = {0};
	enum screen_back back;
	string_append(&lines, "\r");
	for (int i = 1; i < ROWS; i++) string_appendf(&lines, "%d\x1b[K\r\n", i);
	string_appendf(&expected, "\x1b[?1049h\x1b[H%s:", lines.data);
	CLEANUP_FREE char *text = string_format("one\x1b[?1049h%s:", lines.data);
	CLEANUP_FREE char *after = around(text, true, NULL, &back);
	assert_int_equal(back, SCREEN_AS_IT_WAS);
	assert_string_equal(after, expected.data);
	CLEANUP_FREE char *fewer = string_format("one\x1b[?1049h\r%s:", strchr(lines.data, '\n') + 1);
	CLEANUP_FREE char *after_fewer = around(fewer, true, NULL, &back);
	assert_int_equal(back, SCREEN_LOST);
	CLEANUP_FREE char *elsewhere = string_format("one\x1b[?1049h\r1\r\n\x1b[A%s", lines.data);
	CLEANUP_FREE char *after_elsewhere = around(elsewhere, true, NULL, &back);
	assert_int_equal(back, SCREEN_LOST);
	assert_string_equal(after_fewer, "\x1b[?1049h");
	assert_string_equal(after_elsewhere, "\x1b[?1049h");
}

static void it_begins_where_the_screen_was_cleared(void **state) {
	(void)state;
	assert_after("\x1b[?1049h\x1b[Hold\x1b[44m\x1b[H\x1b[2Jnew", "\x1b[?1049h\x1b[0;44m\x1b[H\x1b[2Jnew");
	assert_after("\x1b[?1049h\x1b[Hold\x1b[1;1H\x1b[m\x1b[Jnew", "\x1b[?1049h\x1b[H\x1b[2Jnew");
	assert_after("\x1b[?1049h\x1b[Hold\x1b[2J", "\x1b[?1049h\x1b[Hold\x1b[2J"); /* the cursor isn't at home */
}

static void what_is_not_known_is_drawn_by_the_tool(void **state) {
	(void)state;
	CLEANUP_STRING struct string much = {0};
	string_append(&much, "\x1b[?1049h\x1b[H");
	while (much.size <= (size_t)2 * LIMIT_PICTURE) string_append(&much, "\x1b[5;5Hagain");
	const char *const texts[] = {"\x1b[?1049hbefore it went anywhere",
				     much.data,
				     "\x1b[?1047h\x1b[H\x1bP1;1qsixel\x1b\\",
				     "\x1b[?1049h\x1b[H\x1b_Gf=100;AAAA\x1b\\",
				     "\x1b[?1049h\x1b[H\x1b\x38",
				     "\x1b[?47h\x1b[H"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		enum screen_back back;
		CLEANUP_FREE char *after = around(texts[i], true, NULL, &back);
		if (back != SCREEN_LOST) fail_msg("text %zu is drawn again", i);
		assert_true(strlen(after) < 64);
	}
	enum screen_back back;
	string_append(&much, "\x1b[H\x1b[2J");
	CLEANUP_FREE char *after = around(much.data, true, NULL, &back);
	assert_int_equal(back, SCREEN_AS_IT_WAS); /* cleared: it is known again */
	assert_string_equal(after, "\x1b[?1049h\x1b[H\x1b[2J");
}

static void another_size_is_another_picture(void **state) {
	(void)state;
	CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
	CLEANUP_STRING struct string before = {0}, after = {0};
	see(screen, "\x1b[?1049h\x1b[Hone\x1b[2;5r");
	screen_resized(screen, ROWS + 1);
	screen_leave(screen, true, &before);
	assert_int_equal(screen_return(screen, &after), SCREEN_LOST);
	assert_string_equal(after.data, "\x1b[?1049h");
}

static void who_goes_about_on_the_main_screen_gets_it_back(void **state) {
	(void)state;
	enum screen_back back;
	CLEANUP_FREE char *before = NULL, *before_lines = NULL, *before_prompt = NULL;
	CLEANUP_FREE char *after = around("\x1b[3;4Hhere", true, &before, &back);
	assert_int_equal(back, SCREEN_AS_IT_WAS);
	assert_string_equal(before, "\x18\x1b\\\x1b<\x1b[?1049h");
	assert_string_equal(after, "\x1b[?1049l");
	CLEANUP_FREE char *after_lines = around("\x1b[3;4Hhere", false, &before_lines, NULL);
	assert_string_equal(before_lines, "\x18\x1b\\\x1b<");
	CLEANUP_FREE char *after_prompt = around("prompt> \x1b[K", true, &before_prompt, NULL);
	assert_string_equal(before_prompt, "\x18\x1b\\\x1b<");
	assert_string_equal(after_lines, "");
	assert_string_equal(after_prompt, "");
}

static void what_was_not_complete_is_begun_again(void **state) {
	(void)state;
	static const struct {
		const char *text, *after;
	} cases[] = {{"x\x1b", "\x1b"},
		     {"\x1b[3", "\x1b[3"},
		     {"\x1b]0;half a ti", "\x1b]0;half a ti"},
		     {"\x1bPq#0\x1b", "\x1bPq#0\x1b"},
		     {"\xe2\x82", "\xe2\x82"},
		     {"\x1b[3\x18", ""},
		     {"\x1b[?25l\x1b[1;3", "\x1b[?25l\x1b[1;3"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) assert_after(cases[i].text, cases[i].after);
	CLEANUP_STRING struct string much = {0};
	string_append(&much, "\x1b]52;c;");
	while (much.size < (size_t)3 * LIMIT_SEQUENCE) string_append(&much, "QUJD");
	assert_after(much.data, "\x1b]9999;");
}

static void what_it_leaves_open_is_ended(void **state) {
	(void)state;
	static const char *const texts[] = {"\x1bPq", "\x1b[3", "\x1b]0;half", "plain\x1b[1m"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
		CLEANUP_STRING struct string end = {0};
		see(screen, texts[i]);
		screen_end(screen, false, &end);
		assert_string_equal(end.data ? end.data : "", i == 3 ? "" : "\x18\x1b\\");
	}
}

static void of_a_killed_tool_nothing_stays(void **state) {
	(void)state;
	static const struct {
		const char *text, *end;
	} cases[] = {{"plain", ""},
		     {"\x1b[?1049h\x1b[?1002;1006h\x1b[?25l\x1b[31mred",
		      "\x1b[?1049l\x1b[?25h\x1b[?1002l\x1b[?1006l\x1b[0m\x1b(B\x1b)B\x0f"},
		     {"\x1b[>1u\x1b[2;5r\x1b[4h\x1b[>4;1m\x1b[3 q\x1bP",
		      "\x18\x1b\\\x1b[<9u\0337\x1b[r\0338\x1b[4l\x1b[>4m\x1b[0 q"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
		CLEANUP_STRING struct string end = {0};
		see(screen, cases[i].text);
		screen_end(screen, true, &end);
		assert_string_equal(end.data ? end.data : "", cases[i].end);
	}
}

/* Letters of sbx's own words would be controls; so after the question they are what the tool said again, and after the
 * tool UTF-8. */
static void attack_b10_letters_are_utf8_again(void **state) {
	(void)state;
	static const struct {
		const char *text;
		bool bytes;
	} cases[] = {{"\x1b%@", true},
		     {"\x1b%@\x1b%G", false},
		     {"\x1b%\x7f@\xe9", true},
		     {"\x1b]0;t\x1b%@", true},
		     {"\x1b%@\x1b%/G", false},
		     {"\x1b%@\x1b\x63", true},
		     {"\x1b[?1049h\x1b%@", true},
		     {"\x1b%@\x1b[!p", true}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *after = around(cases[i].text, false, NULL, NULL);
		assert_int_equal(strstr(after, "\x1b%@") != NULL, cases[i].bytes);
		for (int killed = 0; killed < 2; killed++) {
			CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
			CLEANUP_STRING struct string end = {0};
			see(screen, cases[i].text);
			screen_end(screen, killed, &end);
			assert_int_equal(end.data && strstr(end.data, "\x1b%G"), cases[i].bytes);
		}
	}
}

/* A control of any length: its keys must come as plain ones all the same. */
static void attack_b10_no_long_control_keeps_the_keys(void **state) {
	(void)state;
	CLEANUP_STRING struct string text = {0};
	string_append(&text, "\x1b[>");
	for (int i = 0; i < 2 * LIMIT_SEQUENCE; i++) string_append_char(&text, '0');
	string_append(&text, "31u");
	CLEANUP_FREE char *before = NULL;
	CLEANUP_FREE char *after = around(text.data, false, &before, NULL);
	assert_non_null(strstr(before, "\x1b[>0u"));
	assert_true(string_starts(after, "\x1b[<u"));
	assert_after("\x1b[?9001h", "\x1b[?9001h");
}

/* kitty's graphics protocol: an image is drawn above letters, and goes only when that is asked for. */
static void attack_b10_no_image_lies_above_a_question(void **state) {
	(void)state;
	static const char *const texts[] = {"\x1b_Ga=T,f=24,s=1,v=1,z=9;AAAA\x1b\\\x1b[5;1H",
					    "\x1b[?1049h\x1b_Ga=T,f=24,s=1,v=1;AAAA\x1b\\"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP_FREE char *before = NULL;
		CLEANUP_FREE char *after = around(texts[i], false, &before, NULL);
		assert_true(string_ends(before, "\x1b_Ga=d,q=2\x1b\\"));
		assert_non_null(after);
	}
	CLEANUP_FREE char *before = NULL;
	CLEANUP_FREE char *after = around("\x1b]0;_G\a", false, &before, NULL);
	assert_null(strstr(before, "_G"));
	assert_non_null(after);
}

static double seconds_for(size_t numbers) {
	enum { BYTES = 200 * 1000 };
	CLEANUP_SCREEN struct screen *screen = screen_new(ROWS);
	CLEANUP_STRING struct string control = {0};
	string_append(&control, "\x1b[?");
	for (size_t i = 0; i < numbers; i++) string_append_char(&control, ';');
	string_append_char(&control, 'h');
	const clock_t start = clock();
	for (size_t seen = 0; seen < BYTES; seen += control.size) see(screen, control.data);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* The runner follows the tool's output itself: what is slow there holds up a revocation. */
static void attack_b10_a_long_control_costs_no_more_than_short_ones(void **state) {
	(void)state;
	const double few = seconds_for(40), many = seconds_for(LIMIT_SEQUENCE - 8);
	if (many > 20 * few + 0.05) fail_msg("%.3f s instead of %.3f s", many, few);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_that_writes_lines_has_nothing_to_put_back),
		cmocka_unit_test(what_it_switched_on_is_put_back),
		cmocka_unit_test(the_picture_is_drawn_again),
		cmocka_unit_test(lines_that_fill_the_screen_are_a_picture),
		cmocka_unit_test(it_begins_where_the_screen_was_cleared),
		cmocka_unit_test(what_is_not_known_is_drawn_by_the_tool),
		cmocka_unit_test(another_size_is_another_picture),
		cmocka_unit_test(who_goes_about_on_the_main_screen_gets_it_back),
		cmocka_unit_test(what_was_not_complete_is_begun_again),
		cmocka_unit_test(what_it_leaves_open_is_ended),
		cmocka_unit_test(of_a_killed_tool_nothing_stays),
		cmocka_unit_test(attack_b10_letters_are_utf8_again),
		cmocka_unit_test(attack_b10_no_long_control_keeps_the_keys),
		cmocka_unit_test(attack_b10_no_image_lies_above_a_question),
		cmocka_unit_test(attack_b10_a_long_control_costs_no_more_than_short_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
