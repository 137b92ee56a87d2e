#include "requesting.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "policies/policies.h"
#include "schema/target.h"
#include "sessions/session.h"

static int choose_subject(struct broker *broker, const struct session *session, const char *profile,
			  const char *project, const struct ruleset **ret_ruleset, struct request *request,
			  struct error *error) {
	if (session) {
		if (profile || project) return error_set(error, EPROTO, "profile and project are the session's own");
		request->session = session->record.id;
		request->subject.profile = string_copy(session->subject.profile);
		request->subject.project = string_copy(session->subject.project);
		*ret_ruleset = session->ruleset;
		return 0;
	}
	if (!project) return error_set(error, EINVAL, "the project is missing");
	CLEANUP_FREE char *normal = NULL;
	int r = path_normalise(NULL, project, &normal, error);
	if (r < 0) return error_prefix(error, "project");
	request->subject.profile = string_copy(profile ? profile : "default");
	request->subject.project = STEAL(normal);
	return policies_ruleset(broker->policies, request->subject.profile, request->subject.project, ret_ruleset,
				error);
}

int requesting_start(struct broker *broker, const struct session *session, const struct permission *permission,
		     const char *target, const char *profile, const char *project, const struct ruleset **ret_ruleset,
		     struct request *ret_request, struct error *error) {
	int r = choose_subject(broker, session, profile, project, ret_ruleset, ret_request, error);
	if (r == 0) r = policy_check_permission(ruleset_policy(*ret_ruleset), permission, error);
	if (r < 0) return r;
	ret_request->permission = *permission;
	return target_parse(permission, target, ret_request->subject.project, broker->places.home, &ret_request->target,
			    error);
}
