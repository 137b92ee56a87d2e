/* Every scenario of data/scenarios against its golden file: which rule wins, the stack's walk, the view. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "scenario.h"

static void play(void **state) {
	const char *path = *state;
	CLEANUP_FREE char *text = golden_read(path);
	CLEANUP_FREE char *actual = scenario_play(text);
	CLEANUP_FREE char *golden = string_format("%.*s.golden", (int)(strlen(path) - strlen(".txt")), path);
	golden_check(golden, actual);
}

int main(void) {
	static const char folder[] = SBX_TEST_DATA "/scenarios";
	CLEANUP_STRINGS struct strings paths = {0};
	DIR *directory = opendir(folder);
	if (!directory) return 1;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (string_ends(entry->d_name, ".txt")) strings_addf(&paths, "%s/%s", folder, entry->d_name);
	closedir(directory);
	strings_sort(&paths);
	if (paths.count == 0) return 1;
	CLEANUP_FREE struct CMUnitTest *tests = mem_array(struct CMUnitTest, paths.count);
	for (size_t i = 0; i < paths.count; i++)
		tests[i] = (struct CMUnitTest){
			.name = strrchr(paths.items[i], '/') + 1, .test_func = play, .initial_state = paths.items[i]};
	return _cmocka_run_group_tests("scenarios", tests, paths.count, NULL, NULL);
}
