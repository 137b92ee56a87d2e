/*
 * What a tool writes to its terminal: however it is cut into pieces the same is known of it, what is sent after a
 * question is bounded and makes no terminal answer, and a terminal that gets it is as it was before.
 */
#include "terminal/screen.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "fuzz.h"
#include "schema/limits.h"

enum { ROWS = 24, BOUND = LIMIT_PICTURE + LIMIT_SEQUENCE + 1024 };

static enum screen_back back(struct screen *screen, struct string *out) {
	CLEANUP_STRING struct string leaving = {0};
	screen_leave(screen, false, &leaving);
	return screen_return(screen, out);
}

static bool same(const struct string *a, const struct string *b) {
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Without its beginning that is complete: it ends in the middle of what isn't. */
static void check_no_query(const char *bytes, size_t size) {
	static const char *const queries[] = {"\x1b[c", "\x1b[6n", "\x1b[>c", "\x05", "\x1b[5n", "\x1bZ"};
	for (size_t i = 0; size > 0 && i < ARRAY_LENGTH(queries); i++)
		demand(!memmem(bytes, size, queries[i], strlen(queries[i])), "query %zu", i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	CLEANUP_SCREEN struct screen *whole = screen_new(ROWS);
	CLEANUP_SCREEN struct screen *pieces = screen_new(ROWS);
	CLEANUP_SCREEN struct screen *terminal = screen_new(ROWS);
	CLEANUP_STRING struct string from_whole = {0}, from_pieces = {0}, from_terminal = {0};
	char *bytes = mem_copy(data, size); /* of exactly this size, for the sanitizer */

	screen_see(whole, bytes, size);
	for (size_t i = 0; i < size; i++) screen_see(pieces, bytes + i, 1);
	const enum screen_back how = back(whole, &from_whole);
	demand(back(pieces, &from_pieces) == how, "pieces are redrawn otherwise");
	demand(same(&from_whole, &from_pieces), "pieces are something else");
	demand(from_whole.size <= BOUND, "%zu bytes", from_whole.size);

	screen_see(terminal, from_whole.data, from_whole.size);
	(void)back(terminal, &from_terminal);
	if (how != SCREEN_LOST)
		demand(same(&from_whole, &from_terminal), "not as it was: %zu, %zu bytes", from_whole.size,
		       from_terminal.size);
	CLEANUP_SCREEN struct screen *ended = screen_new(ROWS); /* with nothing that isn't complete */
	CLEANUP_STRING struct string complete = {0};
	screen_see(ended, bytes, size);
	screen_see(ended, "\x18", 1);
	(void)back(ended, &complete);
	check_no_query(complete.data, complete.size);
	free(bytes);
	return 0;
}
