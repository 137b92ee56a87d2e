#include "leading.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "decision.h"
#include "schema/host.h"

static void decide(struct broker *broker, const struct session *session, const struct request *about, char *target,
		   struct verdict *ret_verdict) {
	struct decision_finder finder;
	const struct stack_context context = decision_context(broker, session->ruleset, &finder);
	struct request request = *about; /* borrows the texts */
	request.target = target;
	stack_decide_address(&context, &request, ret_verdict);
}

int leading_decide(struct broker *broker, const struct session *session, const struct request *request,
		   struct verdict *ret_verdict, struct error *error) {
	struct host host, inside;
	uint16_t port;
	if (request->permission.kind != PERMISSION_NET_ACCESS)
		return error_set(error, EINVAL, "'led' is for net:access of an address");
	int r = host_port_parse(request->target, strlen(request->target), &host, &port, error);
	if (r == 0 && host.class == HOST_NAME) r = error_set(error, EINVAL, "%s is no address", host.name);
	if (r < 0) return r;
	decide(broker, session, request, request->target, ret_verdict);
	if (ret_verdict->effect != EFFECT_ALLOW || !host_ipv4_inside(&host, &inside)) return 0;
	CLEANUP_FREE char *target = host_port_format(&inside, port);
	verdict_finish(ret_verdict);
	decide(broker, session, request, target, ret_verdict);
	return 0;
}
