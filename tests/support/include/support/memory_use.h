/*
 * memory_use: how much memory this process holds now.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* AddressSanitizer keeps freed memory for a while, so the figures say nothing there. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_USE_IS_INFLATED 1
#elif defined(__has_feature)
#define MEMORY_USE_IS_INFLATED __has_feature(address_sanitizer)
#else
#define MEMORY_USE_IS_INFLATED 0
#endif

static inline long memory_use_kib(void) {
	long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file) return 0;
	if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0; /* NOLINT(cert-err34-c): the kernel's text */
	fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Has it grown by less than `limit_kib` from `before_kib` to `now_kib`? */
static inline bool memory_use_stayed(long before_kib, long now_kib, long limit_kib) {
	return MEMORY_USE_IS_INFLATED || now_kib - before_kib < limit_kib;
}
