/*
 * grant: an allow or deny with a scope and an end (design section 6).
 *
 * Promises: the JSON keys are those of design section 9; times there are RFC 3339, absent is null.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "schema/pattern.h"
#include "schema/permission.h"
#include "schema/verdict.h"

enum lifetime { LIFETIME_ONCE, LIFETIME_SESSION, LIFETIME_UNTIL, LIFETIME_ALWAYS };
const char *lifetime_name(enum lifetime lifetime);
int lifetime_parse(const char *name, enum lifetime *ret_lifetime, struct error *error);

enum grant_origin { GRANT_ORIGIN_PROMPT, GRANT_ORIGIN_CLI, GRANT_ORIGIN_IMPORT };
const char *grant_origin_name(enum grant_origin origin);
int grant_origin_parse(const char *name, enum grant_origin *ret_origin, struct error *error);

struct grant {
	int64_t id; /* 0 = not stored yet */
	struct permission permission;
	char *pattern;  /* normal text; owned, like all texts here */
	char *resolved; /* of an allow: where its path led when it was given; NULL: nowhere else, or it is no path */
	enum effect effect; /* allow or deny */
	char *profile;      /* NULL = any */
	char *project;      /* NULL = any */
	int64_t session;    /* 0 = none */
	enum lifetime lifetime;
	int64_t created_ms;      /* wall clock */
	int64_t expires_ms;      /* wall clock, 0 = never */
	int64_t expires_boot_ms; /* boot clock, 0 = never; counts in boot `boot_id` only */
	char boot_id[CLOCK_BOOT_ID_SIZE];
	enum grant_origin origin;
	int64_t prompt; /* 0 = none */
	char *reason;   /* or NULL */
	int64_t uses;
	int64_t last_used_ms; /* 0 = never */
	int64_t revoked_ms;   /* 0 = not */
	char *revoked_by;     /* or NULL */
};

void grant_finish(struct grant *grant);
void grant_copy(struct grant *ret_grant, const struct grant *grant);
json_t *grant_to_json(const struct grant *grant);
int grant_from_json(const json_t *json, struct grant *ret_grant, struct error *error);

/* Does it speak of them? One that names no profile, or no project, speaks of each. */
bool grant_is_for(const struct grant *grant, const char *profile, const char *project);

/* Ended by either clock? A session grant and an always grant don't end by time. */
bool grant_has_expired(const struct grant *grant, const struct moment *now);

/* Of two that cover the same target, does the first win? What a session itself denies (`--deny`) before all else; then
 * the closer; where equal deny before allow, then one that the call doesn't use up. */
bool grant_beats(const struct grant *grant, struct pattern_rank rank, const struct grant *other,
		 struct pattern_rank other_rank);
#define CLEANUP_GRANT __attribute__((cleanup(grant_finish)))
