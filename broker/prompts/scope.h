/*
 * scope: how far an answer to a prompt may reach: "exact" (or the target's own path), "folder", a parent's path,
 * "host", "domain".
 *
 * Promises: one table by permission; never above $HOME, never a top-level folder, never a whole top-level domain.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/permission.h"

struct scope_bounds {
	const char *home;
	size_t depth;  /* of path_depth: a grant that ends above decides nothing about the target */
	bool replaced; /* the target is a file that programs save by putting another in its place */
};

/*
 * What may be named for this target, in the order that it is shown; at most LIMIT_SCOPES. The first is what an answer
 * that names none means where a person sees it: the target itself, but of a file that programs save by putting another
 * in its place (`replaced`) its folder, unless that is one where everybody's files are, such as $HOME.
 */
void scopes_offered(const struct permission *permission, const char *target, const struct scope_bounds *bounds,
		    struct strings *ret_scopes);

/* The pattern's text that a scope means; -EINVAL with what is offered when it isn't one of `offered`. Freed by the
 * caller. */
int scope_pattern(const struct permission *permission, const char *target, const struct strings *offered,
		  const char *scope, char **ret_pattern, struct error *error);
