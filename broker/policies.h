/*
 * policies: the policy files that hold now, and the rules made of them for subjects.
 *
 * Promises: the last good policy stays while a file has errors; a file that has never been good since sbxd started
 * refuses everything, for its denies are unknown. Files are looked at again when asked (a stat each), so that a
 * change holds from the next request on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "places.h"
#include "policy/policy.h"
#include "policy/ruleset.h"

struct policies;

struct policies *policies_new(const struct places *places);
void policies_free(struct policies *policies);

/* Has the file changed since the last look: load it. True when the policy in force is another one now or errors came
 * or went. */
bool policies_refresh(struct policies *policies);

/* Borrowed; -EINVAL with the file's first error while there is none. */
int policies_current(struct policies *policies, struct policy **ret_policy, struct error *error);

/* Another one, with this text in the user's place (`sbx run --policy FILE`). The caller drops the reference. */
int policies_with_user_text(struct policies *policies, const char *name, const char *text, struct policy **ret_policy,
			    struct error *error);

/* A ruleset of the policy in force; remembered, borrowed until the next call. */
int policies_ruleset(struct policies *policies, const char *profile, const char *project,
		     const struct ruleset **ret_ruleset, struct error *error);

/* What patterns mean for a project. Borrows. */
struct pattern_scope policies_scope(const struct policies *policies, const char *project);

/* For message `policy`: the one file of the user's layer and what is wrong with it; borrowed. */
const struct strings *policies_errors(const struct policies *policies);
bool policies_file_exists(const struct policies *policies);
