/*
 * pattern: what a rule or a grant covers, and how closely (design section 4).
 *
 * Promises: compiled once, matching allocates nothing and takes time bounded by pattern × target; a pattern has
 * one normal text (stored, shown, looked up). Bad or exploding patterns are refused when compiled (attack F16).
 * "Which rule wins" is pattern_rank_compare and nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/permission.h"
#include "schema/verdict.h"

/* What variables in a pattern stand for; NULL = the pattern that needs it is refused. */
struct pattern_scope {
	const char *home;            /* ~ and ${home} */
	const char *project;         /* ${project}, and where a relative pattern of an allow is anchored */
	const char *root;            /* ${root}; NULL: the project */
	const struct strings *roots; /* a rule for ${root} holds for each of these; NULL: for `root` alone */
	uid_t uid;                   /* ${uid} */
	bool relative_anywhere; /* a relative pattern (`**` + `/.env`) holds below every folder (deny, ask), else below
				   project */
};

/* How closely a pattern fits a target: compare two with pattern_rank_compare. */
struct pattern_rank {
	uint32_t depth;     /* fs: components of the target up to where the match ends; hosts: class, then length */
	uint32_t precision; /* fs: 1 for a literal; hosts: 2 for one port, 1 for a range, 0 for any */
};

struct pattern;

int pattern_compile(const struct permission *permission, const char *text, const struct pattern_scope *scope,
		    struct pattern **ret_pattern, struct error *error);
void pattern_free(struct pattern *pattern);

/* Is this canonical target covered? *ret_rank (may be NULL) says how closely. */
bool pattern_match(const struct pattern *pattern, const char *target, struct pattern_rank *ret_rank);

/* The same of a rule or grant that denies or asks, which may mean more than it would allow: net:access of localhost,
 * 127.0.0.1 or ::1 the loopback as a whole (host_is_loopback). */
bool pattern_restricts(const struct pattern *pattern, const char *target, struct pattern_rank *ret_rank);

/* One of the two, by what the rule or grant does. */
bool pattern_applies(const struct pattern *pattern, enum effect effect, const char *target,
		     struct pattern_rank *ret_rank);

/* Above 0 when a is closer than b. */
int pattern_rank_compare(struct pattern_rank a, struct pattern_rank b);

/* Normal text, variables expanded, wildcards in names escaped with '\\': compiling it again gives the same. Borrowed.
 */
const char *pattern_text(const struct pattern *pattern);

/* No wildcard: the one target (of fs: the top of the tree) that is meant, unescaped: an index key. Else NULL. Borrowed.
 */
const char *pattern_target(const struct pattern *pattern);
bool pattern_is_literal(const struct pattern *pattern);

/* A canonical target as the text of the pattern that means just it ("a[1]" → "a\\[1]"). Freed by the caller. */
char *pattern_quote(const struct permission *permission, const char *target);

/* net:access: does it name addresses or the host's loopback, so that whoever wrote it meant just these? `*` and names
 * don't: what they lead to is checked (attack N6). */
bool pattern_names_address(const struct pattern *pattern);

/* net:access: the one host that it is about, without brackets (borrowed), or NULL: an index key. NULL also of the
 * loopback, which has several names. */
const char *pattern_host(const struct pattern *pattern);
/* net:access: from which of this host's ports to which it is about; false: about none. */
bool pattern_ports(const struct pattern *pattern, const char *host, uint16_t *ret_first, uint16_t *ret_last);

/* net:access: the same ports of this other host (a name, or an address without brackets). */
int pattern_at_host(const struct pattern *pattern, const char *host, struct pattern **ret_pattern);

/* Could anything inside this directory (normal path) match, so that a walk must go on? For fs patterns. */
bool pattern_may_match_below(const struct pattern *pattern, const char *directory);

/*
 * Two patterns of permissions whose targets have one form (fs:read and fs:write are such). Is there a target that both
 * mean? Of two sets of letters ([a-c], [x]) it is said that there is. Does the first mean all that the second does?
 * False also where that can't be seen without a search.
 */
bool pattern_overlaps(const struct pattern *a, const struct pattern *b);
bool pattern_covers(const struct pattern *a, const struct pattern *b);
/* The same as pattern_covers, where the first denies or asks (pattern_restricts). */
bool pattern_restricts_all(const struct pattern *a, const struct pattern *b);

DEFINE_CLEANUP(struct pattern *, pattern_free);
#define CLEANUP_PATTERN CLEANUP(pattern_free_p)
