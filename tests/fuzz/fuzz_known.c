/*
 * A file of known folders: refused, or read so that each folder in the tree /t has a name, is in one folder alone, and
 * names what it says it does.
 */
#include <string.h>

#include "finds/known.h"
#include "fuzz.h"

static size_t check_names(const char *names, uint32_t count) {
	size_t size = 0;
	for (uint32_t i = 0; i < count; i++) {
		const size_t one = strlen(names + size);
		demand(one > 0 && !strchr(names + size, '/'), "a name of %zu bytes", one);
		size += one + 1;
	}
	return size;
}

static size_t check_folder(const struct known_folder *folder, size_t most) {
	size_t count = 1;
	check_names(folder->matches, folder->match_count);
	check_names(folder->sockets, folder->socket_count);
	for (const struct known_folder *at = folder->in; at; at = at->next) {
		check_names(at->name, 1);
		count += check_folder(at, most);
		demand(count <= most, "more than %zu folders", most);
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static const struct strings nothing = {0};
	CLEANUP_KNOWN struct known *known = NULL;
	if (size > 100 * 1000 || known_read((const char *)data, size, &nothing, &known) < 0) return 0;
	const struct known_folder *tree = known_tree(known, "/t");
	if (tree) check_folder(tree, size);
	known_tree(known, "/t/a/b/c");
	return 0;
}
