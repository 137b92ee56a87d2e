/*
 * clock: now by two clocks, durations and time stamps as text.
 *
 * Promises: times are milliseconds. The wall clock (CLOCK_REALTIME) can be set back or forward, the boot clock
 * (CLOCK_BOOTTIME) counts through suspend but starts anew with the machine; something that must end by both
 * keeps a moment with its boot id (attack B15). Tests put their own clock in through `struct clock`.
 */
#pragma once

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "base/error.h"

enum { CLOCK_BOOT_ID_SIZE = 37, CLOCK_STAMP_SIZE = 32 };

struct moment {
	int64_t wall_ms;
	int64_t boot_ms;
	char boot_id[CLOCK_BOOT_ID_SIZE]; /* /proc/sys/kernel/random/boot_id */
};

struct clock {
	void (*read)(const struct clock *clock, struct moment *ret_now);
};

const struct clock *clock_system(void);
static inline void clock_read(const struct clock *clock, struct moment *ret_now) {
	clock->read(clock, ret_now);
}

/* One of the kernel's clocks (clock_gettime(2)), in milliseconds: for spans within a process, which no test moves. */
int64_t clock_ms(clockid_t id);

/* Milliseconds as timers and sockets are told them. */
struct timeval clock_timeval(int64_t ms);

/* "90s", "15m", "1h", "7d", "365d" ("500ms" too) → milliseconds; whole numbers, at least 1, at most ten years. */
int duration_parse(const char *text, int64_t *ret_ms, struct error *error);
char *duration_format(int64_t ms); /* the shortest of the forms above that is exact */

/* RFC 3339 in UTC with milliseconds: 2026-01-31T12:00:00.000Z */
void stamp_format(int64_t wall_ms, char ret_text[CLOCK_STAMP_SIZE]);
int stamp_parse(const char *text, int64_t *ret_wall_ms, struct error *error);
