#include "rulesets.h"

#include "base/string.h"
#include "policies/policies.h"
#include "session.h"

typedef void rulesets_visitor(void *context, const struct rulesets_item *item);

static void visit_sessions(const struct broker *broker, rulesets_visitor *visit, void *context) {
	const struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		visit(context, &(struct rulesets_item){session->ruleset, session->subject.profile, session->record.id,
						       session->has_host_network});
	}
}

static void visit_profiles(struct broker *broker, rulesets_visitor *visit, void *context) {
	/* Nothing lies below this. */
	static const struct policies_place nowhere = {.project = "/dev/null/project"};
	CLEANUP_STRINGS struct strings profiles = {0};
	struct policy *policy;
	if (policies_assemble(broker->policies, NULL, NULL, &policy, NULL) < 0) return;
	policy_profile_names(policy, &profiles);
	for (size_t i = 0; i < profiles.count; i++) {
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		if (policies_compile_anew(broker->policies, policy, profiles.items[i], &nowhere, &ruleset, NULL) < 0)
			continue;
		const bool has_host_network = ruleset_network(ruleset) == VIEW_NETWORK_HOST;
		visit(context, &(struct rulesets_item){ruleset, profiles.items[i], 0, has_host_network});
	}
	policy_unref(policy);
}

void rulesets_visit(struct broker *broker, rulesets_visitor *visit, void *context) {
	visit_sessions(broker, visit, context);
	visit_profiles(broker, visit, context);
}
