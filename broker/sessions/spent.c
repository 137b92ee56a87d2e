#include "spent.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "sandbox.h"
#include "session.h"
#include "session_tell.h"
#include "session_terminate.h"

/* Whatever its session: that had another number then. */
static bool may_have_used(const struct sandbox *sandbox, const struct grant *grant) {
	for (size_t i = 0; i < sandbox->spent.count; i++)
		if (sandbox->spent.items[i] == grant->id) return true;
	return sandbox->past_unknown && grant_is_for(grant, sandbox->profile, sandbox->project);
}

/* Did a sandbox use it that still runs? */
static bool may_live(const struct broker *broker, const struct grant *grant) {
	const struct sandbox *sandbox;
	TAILQ_FOREACH(sandbox, &broker->sandboxes, link) {
		if (may_have_used(sandbox, grant)) return true;
	}
	return false;
}

static bool is_used_up(const struct broker *broker, const struct grant *grant) {
	return grant->effect == EFFECT_ALLOW && grant->lifetime == LIFETIME_ONCE && grant->uses > 0 &&
	       may_live(broker, grant);
}

bool spent_is(const struct broker *broker, const struct grant *grant, bool active) {
	return !active && grant->revoked_ms == 0 && is_used_up(broker, grant);
}

bool spent_goes_on(const struct broker *broker, const struct grant *grant) {
	return is_used_up(broker, grant) && !permission_connects(&grant->permission);
}

int spent_collect(struct broker *broker, spent_wanted *wanted, const void *context, struct grant_list *list,
		  struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list found = {0};
	if (TAILQ_EMPTY(&broker->sandboxes)) return 0;
	int r = grants_spent(broker->grants, false, &found, error);
	for (size_t i = 0; r == 0 && i < found.count; i++)
		if (may_live(broker, &found.items[i]) && wanted(context, &found.items[i]))
			grant_list_take(list, &found.items[i]);
	return r;
}

static bool is_of_mass(const void *context, const struct grant *grant) {
	const struct grant_mass *mass = context;
	switch (mass->what) {
	case GRANT_MASS_ALLOWS:
		return true;
	case GRANT_MASS_PROFILE:
		return string_equal(grant->profile, mass->profile);
	case GRANT_MASS_SESSION:
		return grant->session == mass->session;
	case GRANT_MASS_SESSIONS:
	case GRANT_MASS_LISTED:
		break;
	}
	return false;
}

int spent_of_mass(struct broker *broker, const struct grant_mass *mass, struct grant_list *list, struct error *error) {
	return spent_collect(broker, is_of_mass, mass, list, error);
}

/* A session that a broker before had may go on under another number. */
void spent_take(struct broker *broker, struct grant_list *spent, struct grant_list *told) {
	for (size_t i = 0; i < spent->count; i++) {
		struct grant *grant = &spent->items[i];
		if (!session_find(broker, grant->session)) grant->session = 0;
		grant_list_take(told, grant);
	}
	spent->count = 0;
}

bool spent_tell(struct session *session) {
	CLEANUP_GRANT_LIST struct grant_list revoked = {0}, told = {0};
	struct error error = ERROR_NONE;
	if (grants_spent(session->broker->grants, true, &revoked, &error) < 0) {
		log_error("session %lld is ended, what was revoked of it can't be read: %s",
			  (long long)session->record.id, error.message);
		session_terminate(session);
		return false;
	}
	for (size_t i = 0; i < revoked.count; i++) {
		revoked.items[i].session = 0; /* it had another number then */
		if (may_have_used(session->sandbox, &revoked.items[i])) grant_list_take(&told, &revoked.items[i]);
	}
	session_tell_ended(session, &told, NULL);
	return true;
}
