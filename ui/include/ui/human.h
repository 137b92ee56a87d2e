/*
 * human: times and places as people read them.
 *
 * Promises: local time zone, no colours, nothing raw: paths are made visible by whoever prints them (table, prompt).
 * The caller frees every text.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "schema/grant.h"

char *human_time(int64_t wall_ms);        /* "2026-01-31 14:03:05" */
char *human_duration(int64_t ms);         /* rounded down to the largest unit that says enough: "58m", "2d", "1h 5m" */
char *human_size(uint64_t bytes);         /* "512 B", "1.5 kB", "12 MB" */
char *human_path(const char *path);       /* "~/app" below the home directory; NULL stays "anywhere" */
char *human_command(const char *command); /* each of its words that is such a path so: "cat ~/app/x" */
char *human_end(const struct grant *grant,
		int64_t now_ms); /* "in 58m", "never", "session 3, at its end", "revoked" … */

/* "until 2026-11-21 20:35 (for 1h)", "until you revoke it". */
char *human_until(const struct grant *grant);

/* A grant as a sentence: "profile npm may connect to example.org:443 in ~/app". Visible text. */
char *human_grant(const struct grant *grant);

/* "Granted (7): … until 14:03 (in 1h). To undo it: sbx revoke 7"; without the last sentence for an answer that is used
 * by then. */
void human_print_grant(FILE *out, const char *done, const struct grant *grant);
