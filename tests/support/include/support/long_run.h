/*
 * long_run: how much a test tries, in the usual run and with scripts/test --long.
 *
 * Promises: what the short run leaves out is repetition; each kind of case is in both. Cases that chance makes are a
 * fifth under AddressSanitizer, which takes five times as long: the other builds try them all.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

static inline int how_often(int usual, int with_long) {
	const char *wish = getenv("SBX_TEST_LONG");
	return wish && strcmp(wish, "1") == 0 ? with_long : usual;
}

static inline int random_cases(int usual, int with_long) {
#ifdef __SANITIZE_ADDRESS__
	usual /= 5;
#endif
	return how_often(usual, with_long);
}
