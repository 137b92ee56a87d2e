/*
 * ruleset: the rules that hold for one subject, compiled (design section 4, "Which rule wins").
 *
 * Promises: within a layer the rule whose match ends deepest wins, then literal before pattern, then deny > ask >
 * allow; layers in turn; masks and base's sensitive places count in every layer unless a rule ends at or below them.
 * What an administrator denies in `base` (or at the top of a file, which is the same) holds for every profile.
 * A denial of files by a link holds where the link leads as if it were written by that path, but for what a rule behind
 * the same link lifts.
 */
#pragma once

#include "base/error.h"
#include "policy/policy.h"
#include "schema/pattern.h"
#include "schema/permission.h"
#include "schema/verdict.h"

/* Of a denial that names a path, or begins with one, which leads elsewhere by links. */
struct rule_lead {
	char *place;  /* what it names before any wildcard, and */
	char *there;  /* where that leads */
	bool project; /* no rule but one of a project's file names it */
};

struct rule {
	struct permission permission;
	enum effect effect;
	struct pattern *pattern;
	enum policy_layer layer;
	bool sticky;           /* a mask or sensitive place of `base` */
	bool confirm_terminal; /* confirm: terminal */
	bool private_allowed;  /* private: true */
	bool direct;           /* direct: true */
	bool per_project;      /* per-project: true */
	const struct rule
		*guarded;  /* the sensitive place of `base` that this asks about instead: in a terminal; or NULL */
	unsigned distance; /* 0 = stands in the profile itself, then what that extends, in turn */
	const struct rule_lead
		*lead;    /* such a denial once more, with `pattern` where it leads; NULL: as it was written */
	char *named;      /* the pattern by the link of one that has a lead */
	const char *note; /* of the policy's, or NULL */
	char *profile;    /* where it stands */
	char *origin;     /* "file:line" */
};

struct ruleset;

/* Where paths lead by links. */
struct ruleset_follow {
	/* As resolver_path (base/resolved.h). */
	char *(*path)(void *context, const char *path, size_t *looks);
	void *context;
	int64_t moment; /* what was looked at isn't looked at again at the same one; in milliseconds, never less */
};

/*
 * It never changes, so those who want the same share it. -ENOENT for an unknown profile, -ELOOP for one that extends
 * itself, -E2BIG past LIMIT_RULES. Keeps a reference to the policy. `follow` is what the denials that names by links
 * make are followed with, as they lead now, and is borrowed as long as the ruleset is; NULL: they hold by name alone.
 */
int ruleset_new(struct policy *policy, const char *profile, const struct pattern_scope *scope,
		const struct ruleset_follow *follow, struct ruleset **ret_ruleset, struct error *error);

/* Do the paths that its denials name still lead where they led? Where it takes long to say it is said of some seconds
 * ago (LIMIT_LEAD_RATE). */
bool ruleset_is_current(const struct ruleset *ruleset);
/* That denials hold by their names alone, since following them would cost too much (leads.h), as a sentence that names
 * the first; NULL: none do. Freed by the caller. */
char *ruleset_warning(const struct ruleset *ruleset);
/* One without any rule: nothing is allowed, nothing asked. For a subject whose rules can't be made any more. */
struct ruleset *ruleset_new_empty(struct policy *policy, const char *profile);
struct ruleset *ruleset_ref(struct ruleset *ruleset);
void ruleset_unref(struct ruleset *ruleset);

/* The winning rule, borrowed; NULL when none matches. *ret_rank (may be NULL) says how closely it matched. */
const struct rule *ruleset_find(const struct ruleset *ruleset, const struct permission *permission, const char *target,
				struct pattern_rank *ret_rank);

/* The closest sticky rule on that target, or NULL: a grant that ends above it doesn't cover it. */
const struct rule *ruleset_find_sticky(const struct ruleset *ruleset, const struct permission *permission,
				       const char *target, struct pattern_rank *ret_rank);

/* net:access of "ADDRESS:PORT": the winning one of those that name addresses, or NULL. */
const struct rule *ruleset_find_address(const struct ruleset *ruleset, const char *target);

/* net:access: from which port to which each rule about this host (without brackets) is, in no order. */
void ruleset_visit_ports(const struct ruleset *ruleset, const char *host,
			 void (*visit)(void *context, uint16_t first, uint16_t last), void *context);

/* All of them, in order of the walk, for `sbx why` and the view. */
const struct rule *ruleset_rules(const struct ruleset *ruleset, size_t *ret_count);

/* The profile's settings, merged over `extends` and the layers. */
const char *ruleset_profile(const struct ruleset *ruleset);
const struct policy *ruleset_policy(const struct ruleset *ruleset);
enum view_home ruleset_home(const struct ruleset *ruleset);
const char *ruleset_upstream(
	const struct ruleset *ruleset); /* the proxy that connections go through, or NULL; borrowed */
enum view_network ruleset_network(const struct ruleset *ruleset);
const struct view_pair *ruleset_hosts(const struct ruleset *ruleset, size_t *ret_count); /* name → address; borrowed */
/* -EPERM, naming the rule, when an administrator denies something of the network that the profile's `network: host`
 * would give all the same. */
int ruleset_check_network(const struct ruleset *ruleset, struct error *error);

DEFINE_CLEANUP(struct ruleset *, ruleset_unref);
#define CLEANUP_RULESET CLEANUP(ruleset_unref_p)
