#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"

static const int64_t DURATION_MAX_MS = 10LL * 366 * 24 * 3600 * 1000;

int64_t clock_ms(clockid_t id) {
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct timeval clock_timeval(int64_t ms) {
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static void read_system(const struct clock *clock, struct moment *ret_now) {
	(void)clock;
	/* A name instead of an id when /proc is closed to us: then nothing ends by the boot clock of another boot. */
	static _Thread_local char boot_id[CLOCK_BOOT_ID_SIZE];
	if (!boot_id[0]) {
		CLEANUP_FD int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, boot_id, sizeof boot_id - 1) != sizeof boot_id - 1)
			memcpy(boot_id, "unknown", 8);
	}
	ret_now->wall_ms = clock_ms(CLOCK_REALTIME);
	ret_now->boot_ms = clock_ms(CLOCK_BOOTTIME);
	memcpy(ret_now->boot_id, boot_id, sizeof boot_id);
}

const struct clock *clock_system(void) {
	static const struct clock system_clock = {.read = read_system};
	return &system_clock;
}

static const struct {
	const char *suffix;
	int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

int duration_parse(const char *text, int64_t *ret_ms, struct error *error) {
	size_t digits = strspn(text, "0123456789");
	CLEANUP_FREE char *number = string_copy_bytes(text, digits);
	unsigned long long value;
	int r = string_to_u64(number, &value);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(units); i++) {
		if (strcmp(text + digits, units[i].suffix) != 0) continue;
		int64_t ms;
		if (value > INT64_MAX || __builtin_mul_overflow((int64_t)value, units[i].ms, &ms) ||
		    ms > DURATION_MAX_MS)
			return error_set(error, EINVAL, "the duration '%.40s' is longer than ten years", text);
		if (ms < 1) return error_set(error, EINVAL, "the duration '%.40s' must be more than nothing", text);
		*ret_ms = ms;
		return 0;
	}
	return error_set(error, EINVAL,
			 "'%.40s' is no duration; expected a number and a unit such as 90s, 15m, 1h or 7d", text);
}

char *duration_format(int64_t ms) {
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (ms != 0 && ms % units[i].ms == 0)
			return string_format("%lld%s", (long long)(ms / units[i].ms), units[i].suffix);
	return string_copy("0s");
}

void stamp_format(int64_t wall_ms, char ret_text[CLOCK_STAMP_SIZE]) {
	int64_t part = ((wall_ms % 1000) + 1000) % 1000;
	time_t seconds = (time_t)((wall_ms - part) / 1000);
	struct tm utc;
	if (!gmtime_r(&seconds, &utc)) utc = (struct tm){.tm_year = 70, .tm_mday = 1};
	char date[24];
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(ret_text, CLOCK_STAMP_SIZE, "%s.%03dZ", date, (int)part);
}

int stamp_parse(const char *text, int64_t *ret_wall_ms, struct error *error) {
	struct tm utc = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	int64_t ms = 0;
	if (rest && *rest == '.') {
		int64_t scale = 100;
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10) ms += (*rest - '0') * scale;
	}
	if (!rest || strcmp(rest, "Z") != 0)
		return error_set(error, EINVAL, "'%.40s' is no time; expected the form 2026-01-31T12:00:00Z", text);
	*ret_wall_ms = (int64_t)timegm(&utc) * 1000 + ms;
	return 0;
}
