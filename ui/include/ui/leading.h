/*
 * leading: rules, and grants that go on, by whose path a file can be reached through a link, though they don't name it.
 *
 * Promises: those of each profile outside of any project, and of each sandbox that runs, also what --policy and
 * --allow gave it alone; what is denied where the link leads is none. The links are looked at as they are now.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "schema/channel.h"
#include "schema/permission.h"

/* Adds {"profile", "session", "permission", "target", "resolved"} (session: null, or the one whose alone it is) of each
 * that gives something of `pattern`, a path; of other patterns nothing is looked for. */
int leading_find(struct channel *channel, const struct permission *permission, const char *pattern, json_t *items,
		 struct error *error);
