/*
 * pattern: patterns of grants as a policy file says them, and whether two can mean the same target.
 *
 * Promises: the text, compiled with the same home and project, means exactly what the pattern did. Where an overlap
 * can't be told without a search, it is assumed.
 */
#pragma once

#include <stdbool.h>

#include "schema/pattern.h"

/* "~/notes", "${project}/x", "example.org:443": from a pattern's normal text. Freed by the caller; NULL when it can't
 * be said in a file. */
char *suggest_pattern_text(const struct permission *permission, const char *pattern, const struct pattern_scope *scope);

/* A target that the pattern covers and as little as possible that is closer covers, too: of a tree its top, of a domain
 * some name in it, of any port one that hardly anybody means. Freed by the caller. */
char *suggest_pattern_sample(const struct permission *permission, const struct pattern *pattern);

/* Can a rule for one say something about the other? Reading and writing can. Only of such are patterns compared. */
bool suggest_permissions_related(const struct permission *a, const struct permission *b);

/* Could `inner` (a rule's pattern) cover something that `outer` covers? Of files: strictly below its top. */
bool suggest_patterns_overlap(const struct permission *permission, const struct pattern *outer,
			      const struct pattern *inner);

/* Does it cover all that the other one covers? Only when that is certain. */
bool suggest_pattern_covers(const struct permission *permission, const struct pattern *outer,
			    const struct pattern *inner);
