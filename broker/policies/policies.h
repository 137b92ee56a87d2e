/*
 * policies: all layers of policy that hold now, and the rules made of them for subjects: the head of policies/.
 *
 * For: reading and following policy files (layer, project_file, watch, reload), and what the rules and grants say of
 * one request (decision, leading). Nothing of it knows a session. Guarantees: the last good files of a layer stay while
 * it has errors; a layer that has never been good since sbxd started refuses everything, for its denies are unknown.
 * What the administrator's and the user's files say holds from the next request on after they were written; a project's
 * file, which a tool may write as often as it likes, as soon as whoever follows gets to it (reload.h). May be called
 * by: every room above. That other rules hold is told by hooks.h, `policies_changed`. In: files, which a tool may have
 * written; a request. Out: rulesets, a verdict.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "core/places.h"
#include "layer.h"
#include "policy/policy.h"
#include "policy/ruleset.h"
#include "project_file.h"
#include "store/store.h"

struct policies;

/* `store` knows what is trusted; NULL: nothing is. Both are borrowed. */
struct policies *policies_new(const struct places *places, struct store *store);
void policies_free(struct policies *policies);

/* Which files to look at. */
enum policies_care {
	POLICIES_LAYERS,  /* the administrator's and the user's, if something was told of them */
	POLICIES_STIRRED, /* also the projects' that are followed, likewise */
	POLICIES_ALL,     /* all these, whether or not something was told */
};

/* What is another one now. All borrowed. */
struct policy_change {
	enum policy_layer layer;
	const char *path; /* the file, or the folder of the layer */
	const struct strings *errors;
	const char *hash;                /* of what its files say; "" where there is none */
	const struct project_file *file; /* of POLICY_LAYER_PROJECT, else NULL */
};
typedef void policies_tell(void *context, const struct policy_change *change);
struct policy_change policy_change_of_layer(const struct layer *layer);

/* `tell` may be NULL. True when what is in force is another one now or errors came or went. */
bool policies_refresh(struct policies *policies, enum policies_care care, policies_tell *tell, void *context);

bool policies_are_watched(const struct policies *policies); /* else changes are noticed when somebody looks */
int policies_watch_fd(const struct policies *policies);     /* readable when POLICIES_STIRRED is worth a call; or -1 */
/* A project's file is, which POLICIES_LAYERS leaves alone. */
bool policies_are_stirred(const struct policies *policies);

/* What holds where there is no project's file. Borrowed until the next refresh; -EINVAL with the first error while
 * there is none. */
int policies_current(struct policies *policies, struct policy **ret_policy, struct error *error);

/* A text for the user's place in one run (`sbx run --policy FILE`). The caller drops the reference. */
int policies_load_own(struct policies *policies, const char *name, const char *text,
		      struct policy_document **ret_document, struct error *error);

struct project_file *policies_project(struct policies *policies, const char *root, const char *project);
void policies_judge(struct policies *policies, const char *project); /* its trust was changed */

/* What holds for a project. `own` stands in the place of the user's files, NULL: they do. The caller drops the
 * reference. */
int policies_assemble(struct policies *policies, struct policy_document *own, const struct project_file *file,
		      struct policy **ret_policy, struct error *error);

/* Where rules are to hold: what ${project} means, and each of what ${root} does (NULL: the project alone). */
struct policies_place {
	const char *project;
	const struct strings *roots;
};

/* The rules of a policy there. The last few are remembered and shared by all who want the same. The caller drops the
 * reference. */
int policies_compile(struct policies *policies, struct policy *policy, const char *profile,
		     const struct policies_place *place, struct ruleset **ret_ruleset, struct error *error);

/* The same, for nobody else. */
int policies_compile_anew(struct policies *policies, struct policy *policy, const char *profile,
			  const struct policies_place *place, struct ruleset **ret_ruleset, struct error *error);

/* Do the links that its denials name lead where they led? */
bool policies_ruleset_is_current(struct policies *policies, const struct ruleset *ruleset);

/* The rules for who has no session; remembered, borrowed until the next call. */
int policies_ruleset(struct policies *policies, const char *profile, const char *project,
		     const struct ruleset **ret_ruleset, struct error *error);

/* What patterns mean for a project. Borrows. */
struct pattern_scope policies_scope(const struct policies *policies, const char *project);

const struct layer *policies_layer(const struct policies *policies, enum policy_layer kind); /* admin, user */
