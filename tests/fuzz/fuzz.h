/*
 * fuzz: what the targets share. A target is one file, fuzz_NAME.c, that defines LLVMFuzzerTestOneInput; with
 * libFuzzer (preset `fuzz`, llvm.org/docs/LibFuzzer.html) it searches, in every other build replay.c feeds it the files
 * of corpus/NAME, so that what was found once is tested for good.
 *
 * Promises: an invariant that does not hold ends the program with a sentence; nothing is left behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/string.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define demand(holds, ...)                                                                                             \
	do {                                                                                                           \
		if (!(holds)) {                                                                                        \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #holds);                                    \
			fprintf(stderr, __VA_ARGS__);                                                                  \
			fputc('\n', stderr);                                                                           \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* The input's next line, without its end and cut at a NUL; an empty one at the end. Freed by the caller. */
static inline char *fuzz_line(const uint8_t **data, size_t *size) {
	size_t length = 0;
	while (length < *size && (*data)[length] != '\n') length++;
	char *line = string_copy_bytes((const char *)*data, length);
	size_t used = length < *size ? length + 1 : length;
	*data += used;
	*size -= used;
	return line;
}
