/*
 * granting: a wish for a grant becomes a stored one: the head of grants/.
 *
 * For: making grants, whoever wishes them: the command line, an answer, a session that opens. How they end is endings/.
 * Guarantees: an allow that a deny rule or `protect` forbids is refused, naming the rule (design section 4); the row
 * and its event are one. May be called by: sessions, endings, prompts, handlers. Nobody is told here: the caller tells
 * the sessions. In: a permission and a pattern as people write it. Out: a row, its event, and the grant for whoever
 * tells of it.
 */
#pragma once

#include "core/broker.h"
#include "policy/ruleset.h"

struct granting {
	struct permission permission;
	const char *target; /* pattern as written; borrowed, like all texts here */
	enum effect effect;
	const char *profile, *project; /* NULL = any */
	int64_t session;
	enum lifetime lifetime;
	int64_t ttl_ms; /* of LIFETIME_UNTIL */
	enum grant_origin origin;
	int64_t prompt;
	const char *reason;
	const char *resolved; /* where the target led when the user said it, if elsewhere; or NULL */
};

/*
 * The pattern, by the scope; -EPERM when `ruleset` forbids it (NULL = not asked: an answer to a prompt, which a rule
 * led to). `subject` is whom the rules are asked for.
 */
int granting_compile(struct broker *broker, const struct granting *wish, const struct pattern_scope *scope,
		     const struct ruleset *ruleset, struct pattern **ret_pattern, struct error *error);

/* Is it a normal path, or NULL? */
int granting_check_resolved(const char *resolved, struct error *error);

/* Some target that the pattern covers, to ask the rules about; NULL when there is none to be found without a search.
 * Freed by the caller. */
char *granting_sample(const struct permission *permission, const struct pattern *pattern);

/* Within a transaction. Not `active`: for one call only, kept as a record. The caller owns *ret_grant. */
int granting_write(struct broker *broker, const struct granting *wish, const struct pattern *pattern, bool active,
		   struct grant *ret_grant, struct error *error);

/* The same in a transaction of its own, in force from then on. */
int granting_make(struct broker *broker, const struct granting *wish, const struct pattern *pattern,
		  struct grant *ret_grant, struct error *error);

/* Grants in force of the other effect that cover the same, or a part of it (of these as many as a page holds), also
 * where it leads, among the GRANTS_NEAR_MAX that are looked at under each key. */
int granting_contradictions(struct broker *broker, const struct grant *grant, const struct pattern *pattern,
			    struct grant_list *list, struct error *error);

/* The grant that denies an allow where it leads by links; 0: none does. */
int64_t granting_denied_there(struct broker *broker, const struct grant *grant, const struct ruleset *ruleset);

/* Within a transaction: an event of this kind for a grant that ended. */
int granting_record_end(struct broker *broker, enum event_kind kind, const struct grant *grant, const char *why,
			struct error *error);

/* All of the list, or none: each is revoked by the command line, and recorded so. An empty list writes nothing. */
int granting_revoke(struct broker *broker, const struct grant_list *list, const char *how, struct error *error);
