/*
 * Every malformed file of data/errors against the exact errors it must give (attack B17's texts are among them). The
 * layer is the first word of the file's name: user-, project-, admin-.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/string.h"
#include "policy/policy.h"
#include "scenario.h"
#include "schema/limits.h"

static enum policy_layer layer_of(const char *name) {
	if (string_starts(name, "project-")) return POLICY_LAYER_PROJECT;
	if (string_starts(name, "admin-")) return POLICY_LAYER_ADMIN;
	assert_true(string_starts(name, "user-"));
	return POLICY_LAYER_USER;
}

static void refuse(void **state) {
	const char *path = *state, *name = strrchr(path, '/') + 1;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_STRINGS struct strings errors = {0};
	CLEANUP_STRING struct string actual = {0};
	size_t size;
	assert_int_equal(file_read(path, LIMIT_POLICY * 2, &text, &size, NULL), 0);
	assert_null(policy_load(layer_of(name), "policy.yaml", text, size, &errors));
	assert_true(errors.count > 0 && errors.count <= LIMIT_POLICY_ERRORS);
	for (size_t i = 0; i < errors.count; i++) string_appendf(&actual, "%s\n", errors.items[i]);
	CLEANUP_FREE char *golden = string_format("%.*s.golden", (int)(strlen(path) - strlen(".yaml")), path);
	golden_check(golden, actual.data);
	/* The same without anyone to read them. */
	assert_null(policy_load(layer_of(name), "policy.yaml", text, size, NULL));
}

int main(void) {
	static const char folder[] = SBX_TEST_DATA "/errors";
	CLEANUP_STRINGS struct strings paths = {0};
	DIR *directory = opendir(folder);
	if (!directory) return 1;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (string_ends(entry->d_name, ".yaml")) strings_addf(&paths, "%s/%s", folder, entry->d_name);
	closedir(directory);
	strings_sort(&paths);
	if (paths.count == 0) return 1;
	CLEANUP_FREE struct CMUnitTest *tests = mem_array(struct CMUnitTest, paths.count);
	for (size_t i = 0; i < paths.count; i++)
		tests[i] = (struct CMUnitTest){
			.name = strrchr(paths.items[i], '/') + 1, .test_func = refuse, .initial_state = paths.items[i]};
	return _cmocka_run_group_tests("errors", tests, paths.count, NULL, NULL);
}
