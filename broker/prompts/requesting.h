/*
 * requesting: what a client asks about becomes a request with a subject and rules.
 *
 * Promises: on a session's connection the subject is the session's, and naming another is an error; what the client
 * says about profile and project counts only without one (`sbx check`, `sbx why`). A permission of the user's own that
 * no policy file declares is refused.
 */
#pragma once

#include "core/broker.h"
#include "policy/ruleset.h"
#include "schema/request.h"

/* `session` may be NULL. *ret_ruleset is borrowed until the loop's next turn. The caller finishes *ret_request (zeroed
 * before). */
int requesting_start(struct broker *broker, const struct session *session, const struct permission *permission,
		     const char *target, const char *profile, const char *project, const struct ruleset **ret_ruleset,
		     struct request *ret_request, struct error *error);
