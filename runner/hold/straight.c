#include "straight.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/limits.h"

enum { PLACES = 64 };

/* Each folder has one place, which the next of the same place takes. */
struct straight {
	struct folder {
		char *path; /* NULL: none */
		size_t size;
		int64_t until_ms;
	} folders[PLACES];
};

struct straight *straight_new(void) {
	return mem_new(struct straight);
}

void straight_forget(struct straight *straight) {
	for (size_t i = 0; i < PLACES; i++) {
		free(straight->folders[i].path);
		straight->folders[i] = (struct folder){.path = NULL};
	}
}

void straight_free(struct straight *straight) {
	if (!straight) return;
	straight_forget(straight);
	free(straight);
}

static size_t folder_size(const char *path) {
	return (size_t)(path_name(path) - path);
}

/* The hash of Fowler, Noll and Vo (FNV-1a). */
static size_t place_of(const char *path, size_t size) {
	uint32_t hash = 2166136261U;
	for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)path[i]) * 16777619U;
	return hash % PLACES;
}

bool straight_has(const struct straight *straight, const char *path) {
	const size_t size = folder_size(path);
	const struct folder *folder = &straight->folders[place_of(path, size)];
	return folder->path && folder->size == size && memcmp(folder->path, path, size) == 0 &&
	       clock_ms(CLOCK_MONOTONIC_COARSE) < folder->until_ms;
}

void straight_add(struct straight *straight, const char *path) {
	const size_t size = folder_size(path);
	struct folder *folder = &straight->folders[place_of(path, size)];
	free(folder->path);
	*folder = (struct folder){.path = string_copy_bytes(path, size),
				  .size = size,
				  .until_ms = clock_ms(CLOCK_MONOTONIC_COARSE) + LIMIT_STRAIGHT_MS};
}
