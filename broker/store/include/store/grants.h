/*
 * grants: what the user answered or granted, stored and looked up (design section 6).
 *
 * Promises: a lookup finds the grant that covers a request most closely (deny before allow where equal) by exact index
 * keys, however many are stored; one that has ended by either clock is never found (attack B15). Writing needs a
 * transaction of the store; lookups see it at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/error.h"
#include "schema/grant.h"
#include "schema/pattern.h"
#include "schema/request.h"
#include "store/grant_row.h"
#include "store/store.h"

struct grants;

int grants_open(struct store *store, const struct clock *clock, struct grants **ret_grants, struct error *error);
void grants_free(struct grants *grants);

/* Something was rolled back, or a clock has passed an end: forget what is remembered of lookups. */
void grants_changed(struct grants *grants);

/* Within a transaction. `grant->pattern` is set from `pattern`, `grant->id` on success. Not `active`: kept as a record
 * only (an answer for one call). */
int grants_insert(struct grants *grants, struct grant *grant, const struct pattern *pattern, bool active,
		  struct error *error);

/* Within a transaction: no longer in force, for its time is over or because it was revoked. */
int grants_end(struct grants *grants, int64_t id, struct error *error);
int grants_revoke(struct grants *grants, int64_t id, const char *by, struct error *error);

/*
 * Many that end together: what is named is no longer found, listed or in a view from grants_mass_begin to
 * grants_mass_end, though it takes pages and as many transactions to write it down. Younger ones than `last` are not
 * meant. The mass must live until then.
 */
struct grant_mass {
	TAILQ_ENTRY(grant_mass) link;
	enum grant_mass_kind {
		GRANT_MASS_ALLOWS,
		GRANT_MASS_PROFILE,
		GRANT_MASS_SESSION,
		GRANT_MASS_SESSIONS,
		GRANT_MASS_LISTED
	} what;
	const char *profile; /* of GRANT_MASS_PROFILE; borrowed */
	int64_t session;     /* of GRANT_MASS_SESSION; _SESSIONS: of any */
	int64_t last;        /* id */
	const int64_t *ids;  /* of GRANT_MASS_LISTED, ascending; borrowed */
	size_t id_count;
};
void grants_mass_begin(struct grants *grants, struct grant_mass *mass);
void grants_mass_end(struct grants *grants, struct grant_mass *mass);
int grants_last_id(struct grants *grants, int64_t *ret_id, struct error *error); /* 0: there was none yet */
/* The next of them after *cursor (0 at first), at most LIMIT_ENDING; *cursor is 0 when there are no more. */
int grants_mass_page(struct grants *grants, const struct grant_mass *mass, int64_t *cursor, struct grant_list *list,
		     struct error *error);

/* stack.h's find: `context` is the struct grants. The caller owns *ret_grant. A database error finds a deny. */
bool grants_find(void *context, const struct request *request, struct grant *ret_grant, struct pattern_rank *ret_rank);

/*
 * net:access: from which port to which each grant of anybody about this host (without brackets) is, in no order. -E2BIG
 * when there are more than LIMIT_GRANTS_ALIKE under one of its names.
 */
int grants_visit_ports(struct grants *grants, const char *host,
		       void (*visit)(void *context, uint16_t first, uint16_t last), void *context, struct error *error);

/* Within a transaction: counted at once. */
int grants_use(struct grants *grants, const struct grant *grant, struct error *error);
/* Counted in memory, written by grants_flush (in a transaction of its own) or when many have come together. */
void grants_count_use(struct grants *grants, const struct grant *grant);
void grants_flush(struct grants *grants);

int grants_read(struct grants *grants, int64_t id, struct grant *ret_grant, bool *ret_active, struct error *error);

/*
 * Lists of grants in force; added to *list. Of a subject: what a view is made of, denials first, at most
 * LIMIT_VIEW_PATHS; *ret_cut when allows had no room, -E2BIG when denials hadn't.
 */
int grants_of_subject(struct grants *grants, const struct subject *subject, int64_t session, struct grant_list *list,
		      bool *ret_cut, struct error *error);
/* Of any subject: allows that let anything of the pattern through, whatever their form (for fs:read also those to
 * write), and denials that cover the target or have just that pattern's text. All of the permission are looked at;
 * -E2BIG where more than LIMIT_SCAN are found. */
int grants_reaching(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		    struct grant_list *list, struct error *error);
/*
 * Of any subject, with this effect: those that cover the target or have just that pattern's text, and those that are
 * kept where patterns within it are (whether they are within is for the caller to see). Under each key, and in the span
 * of keys, GRANTS_NEAR_MAX are looked at.
 */
enum { GRANTS_NEAR_MAX = 2000 };
int grants_covering(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		    enum effect effect, struct grant_list *list, struct error *error);
int grants_near(struct grants *grants, const struct permission *permission, const struct pattern *pattern,
		enum effect effect, struct grant_list *list, struct error *error);
/* Allows for one use that have had it and weren't revoked since, or were: the newest LIMIT_SCAN. */
int grants_spent(struct grants *grants, bool revoked, struct grant_list *list, struct error *error);

/* Of those whose time is over at most LIMIT_ENDING. */
int grants_expired(struct grants *grants, struct grant_list *list, struct error *error);

/* What a session denies, or denied until it broke off with its broker: denials that nobody has revoked, and whose time
 * isn't over. */
int grants_denied_in(struct grants *grants, int64_t session, struct grant_list *list, struct error *error);

/* When the next grant ends by the wall clock and by this boot's clock, in ms; 0 = none does. */
int grants_next_expiry(struct grants *grants, int64_t *ret_wall_ms, int64_t *ret_boot_ms, struct error *error);

/* One page: those after (`newest`: before) the cursor for which `wanted` says yes; bounds as history_list. */
int grants_list(struct grants *grants, bool newest, bool ended_too, int64_t cursor,
		bool (*wanted)(const void *context, const struct grant *grant), const void *context, json_t *items,
		int64_t *ret_next, struct error *error);
