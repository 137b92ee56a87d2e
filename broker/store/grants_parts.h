/*
 * grants_parts: the insides of struct grants, for grants.c (writing, looking up), grant_mass.c (many that end together)
 * and grant_lists.c (lists) alone.
 */
#pragma once

#include "base/string.h"
#include "store/grant_key.h"
#include "store/grants.h"

enum { CACHE_SIZE = 512, USES_MAX = 64 };

struct cached {
	uint64_t epoch;
	struct string key;
	bool found;
	struct grant grant;
	struct pattern_rank rank;
};

struct use {
	int64_t grant, count, last_ms;
};

TAILQ_HEAD(mass_list, grant_mass);

struct grants {
	struct store *store;
	struct mass_list masses; /* borrowed */
	const struct clock *clock;
	struct grant_networks networks;
	uint64_t epoch;
	struct cached cache[CACHE_SIZE];
	struct use uses[USES_MAX];
	size_t use_count;
};

/* 0 stays NULL, which is how a grant of no session is stored. */
static inline void grants_bind_session(sqlite3_stmt *statement, int number, int64_t session) {
	if (session != 0) store_bind_integer(statement, number, session); /* else it stays NULL */
}

/* It belongs to a mass that is being ended (grants_mass_begin). */
bool grants_is_ending(const struct grants *grants, const struct grant *grant);
