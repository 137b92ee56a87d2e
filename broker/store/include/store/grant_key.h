/*
 * grant_key: the index keys under which a pattern is stored and a target looked up, so that no lookup scans
 * (design section 6).
 *
 * Promises: if a pattern covers a target, the pattern's key is among the target's keys. The keys of a target are
 * bounded: a path's ancestors, a host's suffixes, the networks of the prefix lengths given, "*"; the last three and the
 * host itself with the target's port ("example.org 443", of patterns with one port) and without (of all others).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "schema/pattern.h"

/* Which prefix lengths are stored at all; a bit each. Zero-initialise. */
struct grant_networks {
	uint64_t v4;    /* 0 … 32 */
	uint64_t v6[3]; /* 0 … 128 */
};
void grant_networks_add(struct grant_networks *networks, const char *key); /* of a stored network: "10.0.0.0/8" */

/* Freed by the caller. */
char *grant_key_of_pattern(const struct permission *permission, const struct pattern *pattern);

/* Where the keys lie of patterns that cover a part of what this one covers, but not all: `key` (NULL = not there), and
 * from `first` up to `end`, which is excluded (NULL = no others). `anywhere`: keys don't tell, for they are sorted by
 * their front and `*.example.org` is known by its end. */
struct grant_span {
	char *key, *first, *end;
	bool anywhere;
};
void grant_span_of_pattern(const struct permission *permission, const struct pattern *pattern,
			   struct grant_span *ret_span);
void grant_span_finish(struct grant_span *span);
#define CLEANUP_GRANT_SPAN __attribute__((cleanup(grant_span_finish)))

/* The keys of a host without a port; those with one lie behind each, up to before the key and "!". */
void grant_keys_of_host(const char *host, const struct grant_networks *networks, struct strings *ret_keys);

/* Added to *ret_keys, the closest first. `target` is canonical. */
void grant_keys_of_target(const struct permission *permission, const char *target,
			  const struct grant_networks *networks, struct strings *ret_keys);
