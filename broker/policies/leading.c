#include "leading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "decision.h"
#include "schema/host.h"

static void decide(const struct stack_context *context, const struct request *about, const struct host *host,
		   uint16_t port, struct verdict *ret_verdict) {
	CLEANUP_FREE char *target = host_port_format(host, port);
	struct request request = *about; /* borrows the texts */
	request.target = target;
	stack_decide_address(context, &request, ret_verdict);
}

static void decide_address(const struct stack_context *context, const struct request *request, const struct host *host,
			   uint16_t port, struct verdict *ret_verdict) {
	struct host inside;
	decide(context, request, host, port, ret_verdict);
	if (ret_verdict->effect != EFFECT_ALLOW || !host_ipv4_inside(host, &inside)) return;
	verdict_finish(ret_verdict);
	decide(context, request, &inside, port, ret_verdict);
}

int leading_decide(struct broker *broker, const struct ruleset *ruleset, const struct request *request,
		   struct verdict *ret_verdict, struct error *error) {
	struct decision_finder finder;
	const struct stack_context context = decision_context(broker, ruleset, &finder);
	struct host host;
	uint16_t port;
	if (request->permission.kind != PERMISSION_NET_ACCESS)
		return error_set(error, EINVAL, "'led' is for net:access of an address");
	int r = host_port_parse(request->target, strlen(request->target), &host, &port, error);
	if (r == 0 && host.class == HOST_NAME) r = error_set(error, EINVAL, "%s is no address", host.name);
	if (r == 0) decide_address(&context, request, &host, port, ret_verdict);
	return r;
}

/* The address that `hosts:` gives the name, as it is written there (borrowed); NULL: none. */
static const char *find_host(const struct ruleset *ruleset, const char *name) {
	size_t count;
	const struct view_pair *hosts = ruleset_hosts(ruleset, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(hosts[i].name, name) == 0) return hosts[i].value;
	return NULL;
}

bool leading_denies(const struct stack_context *context, const struct request *request, struct verdict *verdict) {
	CLEANUP_VERDICT struct verdict said = {0};
	struct host name, host;
	uint16_t port;
	if (request->permission.kind != PERMISSION_NET_ACCESS || verdict->effect == EFFECT_DENY ||
	    host_port_parse(request->target, strlen(request->target), &name, &port, NULL) < 0 ||
	    name.class != HOST_NAME)
		return false;
	const char *address = find_host(context->ruleset, name.name);
	if (!address || host_parse(address, strlen(address), &host, NULL) < 0) return false;
	decide_address(context, request, &host, port, &said);
	if (said.effect != EFFECT_DENY) return false;
	const bool bare = host.class == HOST_IPV6 && *address != '[';
	char *why = string_format("%s leads to %s%s%s:%u: %s", name.name, bare ? "[" : "", address, bare ? "]" : "",
				  port, said.why);
	free(said.why);
	said.why = why;
	verdict_finish(verdict);
	*verdict = said;
	said = (struct verdict){0};
	return true;
}
