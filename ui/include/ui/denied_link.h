/*
 * denied_link: a program that is denied by the name of a link which leads to it: the broker, which looks at no files,
 * doesn't find that by the program's own path.
 *
 * Promises: each link (runner/program_links.h) is judged by the broker, which records nothing.
 */
#pragma once

#include <jansson.h>

#include "schema/permission.h"

/* `subject`: the keys `session`, or `profile` and `project`, of the message `why`; others are left aside. The link that
 * a rule or grant denies, freed by the caller; NULL: none, or it is no program. *ret_reply: what the broker said of it
 * (`why`); may be NULL. */
char *denied_link(const struct permission *permission, const char *target, const json_t *subject, json_t **ret_reply);
