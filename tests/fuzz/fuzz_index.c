/*
 * A byte that says which hash, and an index: read to its end or said not to be; what is found is bounded, each name is
 * one, and reading it again finds the same.
 */
#include <limits.h>
#include <string.h>

#include "fuzz.h"
#include "git/git_index.h"

static void check_names(const struct strings *names, size_t most) {
	demand(names->count <= most, "%zu names", names->count);
	for (size_t i = 0; i < names->count; i++)
		demand(strlen(names->items[i]) < PATH_MAX, "a name of %zu bytes", strlen(names->items[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size == 0) return 0;
	CLEANUP_FREE char *bytes = mem_copy(data + 1, size - 1);
	CLEANUP_GIT_INDEX struct git_index index = {0}, again = {0};
	const size_t hash_size = data[0] & 1 ? 32 : 20;
	git_index_parse(bytes, size - 1, hash_size, &index);
	check_names(&index.links, GIT_GITLINKS_MAX);
	check_names(&index.assumed, GIT_HIDDEN_MAX);
	check_names(&index.skipped, GIT_HIDDEN_MAX);
	git_index_parse(bytes, size - 1, hash_size, &again);
	demand(again.whole == index.whole && strings_equal(&again.assumed, &index.assumed) &&
		       strings_equal(&again.skipped, &index.skipped) && strings_equal(&again.links, &index.links),
	       "it is read in two ways");
	return 0;
}
