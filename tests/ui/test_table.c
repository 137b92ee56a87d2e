#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "support/cmocka.h"
#include "ui/table.h"

static const struct table_column columns[] = {{"ID", false, true}, {"TARGET", true, false}, {"END", false, false}};

static struct table *sample(void) {
	struct table *table = table_new(columns, ARRAY_LENGTH(columns));
	table_cellf(table, "%d", 7);
	table_cell(table, "/a/rather/long/path/to/something/in/the/project.txt");
	table_cell(table, "never");
	table_cell(table, "1234");
	table_cell(table, "x\x1b[2Jy");
	table_cell(table, NULL);
	return table;
}

static char *printed(struct table *table, size_t width, bool heading) {
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	table_print(table, out, width, heading);
	fclose(out);
	return text;
}

static void columns_are_aligned_and_cells_visible(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = sample();
	assert_int_equal(table_rows(table), 2);
	CLEANUP_FREE char *text = printed(table, 0, true);
	assert_string_equal(text, "  ID  TARGET                                               END\n"
				  "   7  /a/rather/long/path/to/something/in/the/project.txt  never\n"
				  "1234  x\\x1b[2Jy                                            -\n");
	assert_int_equal(table_rows(table), 0);
}

static void a_narrow_terminal_cuts_the_middle_of_what_may_be_cut(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = sample();
	CLEANUP_FREE char *text = printed(table, 40, false);
	assert_string_equal(text, "   7  /a/rather/lon…e/project.txt  never\n"
				  "1234  x\\x1b[2Jy                    -\n");
}

static void what_follows_keeps_the_columns(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = sample();
	free(printed(table, 40, true));
	table_cell(table, "8");
	table_cell(table, "/b");
	table_cell(table, "never");
	CLEANUP_FREE char *text = printed(table, 40, false);
	assert_string_equal(text, "   8  /b                           never\n");
}

static void cutting_keeps_every_line_within_the_width(void **state) {
	(void)state;
	for (size_t width = 30; width < 70; width++) {
		CLEANUP_TABLE struct table *table = sample();
		table_cell(table, "1");
		table_cell(table, "日本語のとても長い名前のファイルがここにあります");
		table_cell(table, "soon");
		CLEANUP_FREE char *text = printed(table, width, true);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			assert_true(text_columns(line) <= width);
	}
}

static void an_empty_table_has_only_its_heading(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = table_new(columns, ARRAY_LENGTH(columns));
	CLEANUP_FREE char *text = printed(table, 80, true);
	assert_string_equal(text, "ID  TARGET  END\n");
}

static void what_may_be_spared_makes_room_when_cutting_does_not(void **state) {
	(void)state;
	const size_t spare[] = {2, 0};
	CLEANUP_TABLE struct table *table = sample();
	table_spare(table, spare, ARRAY_LENGTH(spare));
	CLEANUP_FREE char *all = printed(table, 27, true);
	assert_string_equal(all, "  ID  TARGET          END\n"
				 "   7  /a/rat…ect.txt  never\n"
				 "1234  x\\x1b[2Jy       -\n");
	table_cell(table, "7");
	table_cell(table, "/a/b");
	table_cell(table, "never");
	CLEANUP_FREE char *first = printed(table, 14, true);
	assert_string_equal(first, "ID  TARGET\n 7  /a/b\n");
	table_cell(table, "7");
	table_cell(table, "/a/rather/long/path");
	table_cell(table, "never");
	CLEANUP_FREE char *both = printed(table, 9, true);
	assert_string_equal(both, "TARGET\n/a/r…path\n");
}

static const struct table_column about[] = {
	{"ID", false, true}, {"TARGET", true, false}, {"REASON", true, false}, {"ASKED BY", true, false}};

static struct table *sample_about(const char *reason) {
	static const size_t spare[] = {2, 3};
	struct table *table = table_new(about, ARRAY_LENGTH(about));
	table_spare(table, spare, ARRAY_LENGTH(spare));
	table_about(table, 1);
	table_cell(table, "7");
	table_cell(table, "~/notes/a/name");
	table_cell(table, reason);
	table_cell(table, "bash > make > some-program (123)");
	return table;
}

static void what_says_nothing_gives_way_before_anything_is_cut(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = sample_about(NULL);
	CLEANUP_FREE char *wide = printed(table, 80, true);
	assert_non_null(strstr(wide, "REASON"));
	CLEANUP_TABLE struct table *narrow = sample_about(NULL);
	CLEANUP_FREE char *less = printed(narrow, 53, true);
	assert_string_equal(less, "ID  TARGET          ASKED BY\n"
				  " 7  ~/notes/a/name  bash > make > some-program (123)\n");
}

static void what_the_row_is_about_is_cut_last(void **state) {
	(void)state;
	CLEANUP_TABLE struct table *table = sample_about("to see");
	CLEANUP_FREE char *others = printed(table, 45, true);
	assert_string_equal(others, "ID  TARGET          REASON  ASKED BY\n"
				    " 7  ~/notes/a/name  to see  bash > m…am (123)\n");
	CLEANUP_TABLE struct table *narrow = sample_about("to see");
	CLEANUP_FREE char *alone = printed(narrow, 18, true);
	assert_string_equal(alone, "ID  TARGET\n 7  ~/notes/a/name\n");
	CLEANUP_TABLE struct table *narrowest = sample_about("to see");
	CLEANUP_FREE char *cut = printed(narrowest, 14, true);
	assert_string_equal(cut, "ID  TARGET\n 7  ~/no…/name\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned_and_cells_visible),
		cmocka_unit_test(a_narrow_terminal_cuts_the_middle_of_what_may_be_cut),
		cmocka_unit_test(what_follows_keeps_the_columns),
		cmocka_unit_test(cutting_keeps_every_line_within_the_width),
		cmocka_unit_test(an_empty_table_has_only_its_heading),
		cmocka_unit_test(what_may_be_spared_makes_room_when_cutting_does_not),
		cmocka_unit_test(what_says_nothing_gives_way_before_anything_is_cut),
		cmocka_unit_test(what_the_row_is_about_is_cut_last),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
