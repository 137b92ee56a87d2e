/*
 * patience: how long a test waits for what must happen.
 *
 * Promises: only what never happens takes that long, so it is far more than the slowest and busiest machine needs. What
 * is claimed to be quick is compared with something that is counted or measured beside it, not with a clock on the
 * wall.
 */
#pragma once

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"

enum { PATIENCE_MS = 60 * 1000 };

static inline int64_t now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t now_ms(void) {
	return now_us() / 1000;
}

/* That nothing is waited for: `took_ms` (an expression, evaluated anew) is below it at least once in a few tries. What
 * waits is above it each time; what is only held up by a busy machine is not. */
#define assert_once_below(bound_ms, took_ms)                                                                           \
	do {                                                                                                           \
		int64_t best_ms = INT64_MAX;                                                                           \
		for (int tries = 0; tries < 20 && best_ms >= (bound_ms); tries++) {                                    \
			const int64_t one_ms = (took_ms);                                                              \
			if (one_ms < best_ms) best_ms = one_ms;                                                        \
		}                                                                                                      \
		if (best_ms >= (bound_ms)) fail_msg("%s: %ld ms", #took_ms, (long)best_ms);                            \
	} while (0)

/* Fails when it doesn't come true. */
#define wait_until(condition)                                                                                          \
	do {                                                                                                           \
		for (int64_t wait_end = now_ms() + PATIENCE_MS; !(condition);) {                                       \
			if (now_ms() > wait_end) fail_msg("never: %s", #condition);                                    \
			usleep(2000);                                                                                  \
		}                                                                                                      \
	} while (0)
