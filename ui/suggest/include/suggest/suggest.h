/*
 * suggest: what was asked → the rules that would have answered it (`sbx suggest`).
 *
 * Promises: pure: rows of the history and grants go in, suggestions come out. A rule that allows covers what one grant
 * of the user's covered and no more; what nobody has allowed is a candidate (--record) or a note, never more than the
 * very target. It keeps at most LIMIT_SUGGEST_ASKED different things and counts the rest.
 * Must not: decide anything. What the rules in force say of a suggestion is added by rules.h and the command.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/grant.h"
#include "schema/pattern.h"

enum suggestion_basis {
	SUGGESTION_ANSWERED, /* the user allowed or denied it */
	SUGGESTION_RECORDED, /* --record denied it: nobody has allowed it */
	SUGGESTION_OPEN,     /* nobody answered, or nobody was there */
	SUGGESTION_KEPT,     /* a denial of another layer, which a rule here would lift */
};
enum { SUGGESTION_BASIS_COUNT = SUGGESTION_KEPT + 1 };

struct suggestion {
	enum suggestion_basis basis;
	char *profile, *project; /* owned, like all texts here */
	struct permission permission;
	enum effect effect; /* allow or deny */
	char *pattern;      /* normal text */
	char *text;         /* as a policy file says it: "~/notes", "${project}/.env"; NULL: none can */
	char *target;       /* one of those that were asked about */
	struct pattern *compiled;
	int64_t asked, used; /* questions, and requests that its grant answered */
	int64_t last_ms;
	bool by_hand;             /* by `sbx grant` and the like: nobody was asked */
	enum lifetime lifetime;   /* the longest that was said; of a denial without a grant LIFETIME_ONCE */
	int64_t ttl_ms;           /* of LIFETIME_UNTIL */
	int64_t revoked_ms;       /* 0: not */
	bool private_allowed;     /* the rule that asks says `private: true` */
	struct strings elsewhere; /* other projects in which the same was said */
	char *rule;               /* SUGGESTION_KEPT: where the denial stands */
	char *left_out;           /* why it is a note and no rule; or NULL */
	bool decided;             /* the rules in force say the same by now */
	bool covered;             /* another suggestion says it, too, or it had no room */
};

struct suggest;

/* `home` is what ~ means. */
struct suggest *suggest_new(const char *home);
void suggest_free(struct suggest *suggest);

/* Rows in any order; what isn't about a question is passed over. */
void suggest_add_event(struct suggest *suggest, const struct event *event);
/* The ids of grants that the rows name, ascending and each once; freed by the caller. */
int64_t *suggest_grant_ids(struct suggest *suggest, size_t *ret_count);
void suggest_add_grant(struct suggest *suggest, const struct grant *grant); /* others are passed over */

/* After all rows and grants: makes the suggestions, as far as they themselves tell. */
void suggest_settle(struct suggest *suggest);
struct suggestion *suggest_items(struct suggest *suggest, size_t *ret_count); /* borrowed, until suggest_keep */
size_t suggest_left(const struct suggest *suggest); /* things that had no room, or whose grant isn't kept any more */

/* A rule so far: not left out, decided or covered? */
bool suggestion_is_rule(const struct suggestion *suggestion);
/* Why it is none; the first reason stays. */
void suggestion_leave_out(struct suggestion *suggestion, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What its text means there; borrows from both. */
struct pattern_scope suggest_scope(const struct suggest *suggest, const char *project);

/*
 * A denial that a rule for `because` (an index) would lift, so that the text has to repeat it; `rule` is where it
 * stands. With more than a few dozen the rule itself is left out.
 */
void suggest_keep(struct suggest *suggest, size_t because, const struct permission *permission, const char *pattern,
		  const char *rule);

/* After the rules in force were asked about each: what another covers goes, the rest is put in order. */
void suggest_finish(struct suggest *suggest);

DEFINE_CLEANUP(struct suggest *, suggest_free);
#define CLEANUP_SUGGEST CLEANUP(suggest_free_p)
