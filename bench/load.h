/*
 * load: the same exchange by some client processes at once, and how long each took; the clock of all load generators.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct load {
	const char *what;
	const void *context;
	/* In the client's process, before the clock runs. What it makes lives until the process ends. */
	int (*open)(const struct load *load, size_t client, void **ret_client, struct error *error);
	void (*prepare)(void *client, size_t number); /* not measured; may be NULL */
	int (*exchange)(void *client, size_t number, struct error *error);
	size_t warm_up; /* exchanges of each client that don't count */
};

/*
 * Runs `count` exchanges in each of the clients, processes that start together, and prints a row of a table: what,
 * clients, microseconds of the p50, the p99 and the longest, exchanges a second of all together.
 */
int load_run(const struct load *load, size_t clients, size_t count, struct error *error);

int64_t load_now_ns(void); /* CLOCK_MONOTONIC, which all processes of a machine share */
void load_sort(int64_t *times, size_t count);
