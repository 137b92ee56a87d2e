#include "deciding.h"

#include "base/log.h"
#include "base/string.h"
#include "schema/event.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/flood.h"
#include "sessions/sandbox.h"
#include "sessions/session.h"

void decision_make(struct broker *broker, const struct ruleset *ruleset, const struct session *session,
		   const struct request *request, const struct stack_exec_answers *said, struct decision *ret_decision,
		   struct stack_walk *walk) {
	const struct decision_state state = {.flooded = flood_reason(broker, session),
					     .offline = session && session->offline};
	decision_judge(broker, ruleset, &state, request, said, ret_decision, walk);
}

static json_t *describe(const struct request *request) {
	const char *link = request_link(request);
	if (!request->reason && request->parents.count == 0 && !link) return NULL;
	json_t *detail = json_object();
	if (link) json_object_set_new(detail, "link", message_bytes(link));
	if (request->reason) json_object_set_new(detail, "reason", message_bytes(request->reason));
	if (request->parents.count > 0) {
		json_t *parents = json_array();
		for (size_t i = 0; i < request->parents.count; i++)
			json_array_append_new(parents, message_bytes(request->parents.items[i]));
		json_object_set_new(detail, "parents", parents);
	}
	return detail;
}

static struct event event_of(enum event_kind kind, const struct request *request, const struct verdict *verdict) {
	/* Borrowed: broker_record copies nothing and frees only the detail. */
	return (struct event){.kind = kind,
			      .session = request->session,
			      .profile = request->subject.profile,
			      .project = request->subject.project,
			      .process = request->process,
			      .permission = (char *)request->permission.name,
			      .target = request->target,
			      .verdict = (int)verdict->effect,
			      .by = (char *)verdict->module,
			      .why = verdict->why,
			      .grant = verdict->grant,
			      .prompt = verdict->prompt};
}

/* A grant's first use is an event of its own; one for a single use ends with it. */
static int record_use(struct broker *broker, const struct request *request, const struct decision *decision,
		      struct error *error) {
	const struct grant grant = {.id = decision->verdict.grant};
	int r = 0;
	if (decision->uses == 0) {
		struct event use = event_of(EVENT_USE, request, &decision->verdict);
		r = broker_record(broker, &use, error);
	}
	if (r == 0 && (decision->uses == 0 || decision->lifetime == LIFETIME_ONCE))
		r = grants_use(broker->grants, &grant, error);
	if (r == 0 && decision->lifetime == LIFETIME_ONCE) r = grants_end(broker->grants, grant.id, error);
	return r;
}

int decision_record(struct broker *broker, const struct request *request, const struct decision *decision,
		    struct error *error) {
	struct event event = event_of(EVENT_DECISION, request, &decision->verdict);
	event.detail = describe(request);
	int r = broker_record(broker, &event, error);
	if (r < 0 || decision->verdict.grant == 0) return r;
	struct session *session = decision->verdict.once ? session_find(broker, request->session) : NULL;
	if (session) sandbox_note_spent(session->sandbox, decision->verdict.grant);
	if (decision->verdict.prompt == 0) return record_use(broker, request, decision, error);
	/* The answer itself made the grant and is its first use; one for this call alone has it counted already. */
	const struct grant grant = {.id = decision->verdict.grant};
	return decision->lifetime == LIFETIME_ONCE ? 0 : grants_use(broker->grants, &grant, error);
}

/* Does the grant's row change with it? A use that isn't the first is only counted. */
static bool changes_grant(const struct decision *decision) {
	return decision->verdict.grant != 0 &&
	       (decision->verdict.prompt != 0 || decision->uses == 0 || decision->lifetime == LIFETIME_ONCE);
}

static int note(struct broker *broker, const struct request *request, const struct decision *decision,
		struct error *error) {
	struct event event = event_of(EVENT_DECISION, request, &decision->verdict);
	event.detail = describe(request);
	int r = broker_note(broker, &event, error);
	const struct grant grant = {.id = decision->verdict.grant};
	if (r == 0 && grant.id != 0) grants_count_use(broker->grants, &grant);
	return r;
}

static int record_with_grant(struct broker *broker, const struct request *request, const struct decision *decision,
			     struct error *error) {
	bool uses_up = decision->verdict.prompt == 0 && decision->lifetime == LIFETIME_ONCE;
	int r = broker_begin(broker, uses_up ? STORE_FULL : STORE_NORMAL, error);
	if (r < 0) return r;
	r = decision_record(broker, request, decision, error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

/* No allow without its row, and no session fills the disk with them. What changes a grant is bounded by the grants. */
static void limit_allows(struct broker *broker, const struct request *request, struct decision *decision) {
	if (decision->verdict.effect != EFFECT_ALLOW || changes_grant(decision) ||
	    flood_allow(broker, session_find(broker, request->session)))
		return;
	verdict_finish(&decision->verdict);
	*decision = (struct decision){.uses = decision->uses};
	verdict_set(
		&decision->verdict, EFFECT_DENY, "flood",
		"%d requests of this session were allowed and recorded; more than one in %d s is denied from now on",
		LIMIT_ALLOWS, LIMIT_ALLOW_MS / 1000);
}

void decision_settle(struct broker *broker, const struct request *request, struct decision *decision) {
	struct error error = ERROR_NONE;
	limit_allows(broker, request, decision);
	if (decision->verdict.effect == EFFECT_DENY && !changes_grant(decision) &&
	    !flood_denial(broker, session_find(broker, request->session)))
		return;
	int r = changes_grant(decision) ? record_with_grant(broker, request, decision, &error)
					: note(broker, request, decision, &error);
	if (r == 0) return;
	log_error("recording a decision: %s", error.message);
	verdict_finish(&decision->verdict);
	verdict_set(&decision->verdict, EFFECT_DENY, "broker", "the history can't be written: %s", error.message);
}
