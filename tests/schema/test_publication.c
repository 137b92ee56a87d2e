#include <string.h>

#include "base/memory.h"
#include "schema/publication.h"
#include "support/cmocka.h"

static void both_ports_are_read_and_written(void **state) {
	(void)state;
	static const struct {
		const char *text, *formatted; /* NULL = refused */
	} cases[] = {
		{"3000", "3000:3000"},
		{"3000:8080", "3000:8080"},
		{"3000:0", "3000:0"},
		{"65535:1", "65535:1"},
		{"0", NULL},
		{"0:3000", NULL},
		{"", NULL},
		{":", NULL},
		{"3000:", NULL},
		{":3000", NULL},
		{"70000", NULL},
		{"3000:70000", NULL},
		{"03000", NULL},
		{"3000:00", NULL},
		{"+1", NULL},
		{"1:2:3", NULL},
		{"http", NULL},
		{"127.0.0.1:80", NULL},
		{"3000 ", NULL},
		{"-1", NULL},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct publication publication;
		struct error error = ERROR_NONE;
		char text[PUBLICATION_TEXT_SIZE];
		int r = publication_parse(cases[i].text, &publication, &error);
		if ((r == 0) != (cases[i].formatted != NULL)) fail_msg("%s: %d %s", cases[i].text, r, error.message);
		if (r < 0) assert_non_null(strstr(error.message, "PORT:HOSTPORT"));
		if (r < 0) continue;
		publication_format(&publication, text);
		assert_string_equal(text, cases[i].formatted);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(both_ports_are_read_and_written)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
