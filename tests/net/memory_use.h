/*
 * memory_use: how much memory this process holds now.
 */
#pragma once

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
