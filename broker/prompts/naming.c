/*
 * Theory of operation. What is said of a host changes from one port to the next only where a rule or a grant about
 * that host begins, or has ended. So one port of every stretch between two such borders stands for all of it, and the
 * stack is asked about these: one when, as nearly always, nothing names a port that others don't.
 */
#include "naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "policies/decision.h"
#include "schema/limits.h"

struct borders {
	uint16_t ports[LIMIT_NAME_PORTS]; /* where a stretch begins; ascending */
	size_t count;
	bool cut; /* there are more */
};

static void borders_add(struct borders *borders, unsigned port) {
	size_t at = borders->count;
	if (port > UINT16_MAX) return;
	while (at > 0 && borders->ports[at - 1] >= port) at--;
	if (at < borders->count && borders->ports[at] == port) return;
	if (borders->count == LIMIT_NAME_PORTS) {
		borders->cut = true;
		return;
	}
	memmove(borders->ports + at + 1, borders->ports + at, (borders->count - at) * sizeof *borders->ports);
	borders->ports[at] = (uint16_t)port;
	borders->count++;
}

static void add_stretch(void *context, uint16_t first, uint16_t last) {
	borders_add(context, first);
	borders_add(context, last + 1U);
}

static void decide_port(struct broker *broker, const struct session *session, const struct host *host, uint16_t port,
			struct verdict *ret_verdict) {
	static const struct stack_exec_answers none_has_run = {0};
	CLEANUP_FREE char *target = host_port_format(host, port);
	struct decision_finder finder;
	struct stack_context context = decision_context(broker, session->ruleset, &finder);
	/* Borrowed texts: not finished. */
	const struct request request = {.session = session->record.id,
					.subject = session->subject,
					.permission = permission_of(PERMISSION_NET_ACCESS),
					.target = target};
	context.exec = &none_has_run;
	if (stack_decide(&context, &request, ret_verdict, NULL)) ret_verdict->effect = EFFECT_ASK;
}

/* A rule's denial says more than that there is no rule. */
static bool says_more(const struct verdict *verdict, const struct verdict *before) {
	if (verdict->effect != before->effect) return verdict->effect > before->effect;
	return strcmp(before->module, "none") == 0 && strcmp(verdict->module, "none") != 0;
}

void naming_decide(struct broker *broker, const struct session *session, const struct host *host,
		   struct verdict *ret_verdict) {
	struct borders borders = {.ports = {1}, .count = 1};
	*ret_verdict = (struct verdict){.effect = EFFECT_DENY};
	if (session->offline) {
		verdict_set(ret_verdict, EFFECT_DENY, "rules", "this session is offline");
		return;
	}
	ruleset_visit_ports(session->ruleset, host->name, add_stretch, &borders);
	struct error error = ERROR_NONE;
	int r = grants_visit_ports(broker->grants, host->name, add_stretch, &borders, &error);
	if (r == -E2BIG) borders.cut = true;
	if (r < 0 && r != -E2BIG) {
		verdict_set(ret_verdict, EFFECT_DENY, "broker", "%s", error.message);
		return;
	}
	verdict_set(ret_verdict, borders.cut ? EFFECT_ASK : EFFECT_DENY, "none",
		    "nothing allows net:access %s, and nothing asks for it", host->name);
	for (size_t i = 0; i < borders.count && ret_verdict->effect != EFFECT_ALLOW; i++) {
		struct verdict verdict;
		decide_port(broker, session, host, borders.ports[i], &verdict);
		if (says_more(&verdict, ret_verdict)) {
			verdict_finish(ret_verdict);
			*ret_verdict = verdict;
		} else {
			verdict_finish(&verdict);
		}
	}
}
