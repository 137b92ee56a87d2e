/* The driver where libFuzzer isn't: each file of the folders named is one input. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "fuzz.h"

enum { INPUT_MAX = 2 * 1024 * 1024 };

static bool is_input(const char *name) {
	return *name != '.';
}

static void run(const char *path) {
	struct error error = ERROR_NONE;
	char *bytes;
	size_t size;
	demand(file_read(path, INPUT_MAX, &bytes, &size, &error) == 0, "%s", error.message);
	/* Of exactly this size, so that a sanitizer sees a step too far. */
	uint8_t *exact = mem_copy(bytes, size);
	free(bytes);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static size_t run_folder(const char *path) {
	CLEANUP_STRINGS struct strings names = {0};
	DIR *folder = opendir(path);
	demand(folder, "%s can't be opened", path);
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (is_input(entry->d_name)) strings_take(&names, path_join(path, entry->d_name));
	closedir(folder);
	strings_sort(&names);
	for (size_t i = 0; i < names.count; i++) {
		/* The one that ends the program is the last one named. */
		if (getenv("SBX_FUZZ_NAMES")) fprintf(stderr, "%s\n", names.items[i]);
		run(names.items[i]);
	}
	return names.count;
}

int main(int argc, char **argv) {
	size_t count = 0;
	for (int i = 1; i < argc; i++) count += run_folder(argv[i]);
	printf("%zu inputs\n", count);
	return count > 0 ? 0 : 1;
}
