/*
 * Theory of operation. A sandbox outlives its broker and goes on with the next one as another session. What the user
 * granted to the old session has ended with it; what the user denied to it was meant for the sandbox, and holds on: the
 * new session gets denials of its own alike. Who opens a session in the place of another's gets its denials, and no
 * more, so that the number is believed.
 */
#include "session_denials.h"

#include "base/string.h"
#include "grants/granting.h"

static bool is_in(const struct grant_list *list, const struct grant *grant) {
	for (size_t i = 0; i < list->count; i++)
		if (permission_equal(&list->items[i].permission, &grant->permission) &&
		    string_equal(list->items[i].pattern, grant->pattern))
			return true;
	return false;
}

static int carry(struct session *session, const struct grant *grant, struct error *error) {
	static const struct pattern_scope nothing = {.home = NULL};
	struct moment now;
	clock_read(session->broker->clock, &now);
	const struct granting wish = {.permission = grant->permission,
				      .target = grant->pattern,
				      .effect = grant->effect,
				      .profile = grant->profile,
				      .project = grant->project,
				      .session = session->record.id,
				      .lifetime = grant->lifetime,
				      .ttl_ms = grant->expires_ms - now.wall_ms, /* of those that have a time */
				      .origin = grant->origin,
				      .prompt = grant->prompt,
				      .reason = grant->reason,
				      .resolved = grant->resolved};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	CLEANUP_GRANT struct grant made = {0};
	int r = pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, error);
	return r < 0 ? r : granting_write(session->broker, &wish, pattern, true, &made, error);
}

int session_carry_denials(struct session *session, int64_t before, struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list old = {0}, own = {0};
	struct grants *grants = session->broker->grants;
	if (before == 0) return 0;
	int r = grants_denied_in(grants, before, &old, error);
	if (r == 0) r = grants_denied_in(grants, session->record.id, &own, error); /* of --deny */
	for (size_t i = 0; r == 0 && i < old.count; i++)
		if (!is_in(&own, &old.items[i])) r = carry(session, &old.items[i], error);
	return r;
}
