#include <errno.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "schema/grant.h"
#include "schema/publication.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"

struct values {
	int64_t ttl_ms;
	bool json;
};

static const struct option_info options[] = {
	{"ttl", OPTION_DURATION, "DURATION", "How long, such as 15m or 8h. Default: to the end of the session.",
	 offsetof(struct values, ttl_ms)},
	{"json", OPTION_FLAG, NULL, "One JSON array of {port, host_port, grant}.", offsetof(struct values, json)},
};

static int print_published(const json_t *reply, struct error *error) {
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(json_object_get(reply, "grant"), &grant, error);
	if (r < 0) return error_prefix(error, "the broker's reply");
	CLEANUP_FREE char *until = human_until(&grant);
	printf("Port %lld of session %lld is at http://127.0.0.1:%lld (grant %lld), %s. To undo it: sbx revoke %lld\n",
	       (long long)json_integer_value(json_object_get(reply, "port")), (long long)grant.session,
	       (long long)json_integer_value(json_object_get(reply, "host_port")), (long long)grant.id, until,
	       (long long)grant.id);
	return 0;
}

static void list_published(struct json_list *list, const json_t *reply) {
	json_t *item = json_object();
	static const char *const keys[] = {"port", "host_port", "grant"};
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) json_object_set(item, keys[i], json_object_get(reply, keys[i]));
	json_list_item(list, item);
	json_decref(item);
}

static int publish(struct values *values, int64_t session, const struct publication *wanted, struct json_list *list,
		   struct error *error) {
	json_t *reply = NULL;
	json_t *body = json_pack("{s:I, s:i, s:i}", "session", (json_int_t)session, "port", (int)wanted->port,
				 "host_port", (int)wanted->host_port);
	json_put_id(body, "ttl_ms", values->ttl_ms);
	int r = broker_call("publish", body, &reply, error);
	if (r == 0 && values->json)
		list_published(list, reply);
	else if (r == 0)
		r = print_published(reply, error);
	json_decref(reply);
	return r;
}

/* All are read before the first is published. */
static int read_all(const struct strings *operands, int64_t *ret_session, struct publication *ret_wanted,
		    struct error *error) {
	int r = id_parse(operands->items[0], "session", ret_session, error);
	for (size_t i = 1; r == 0 && i < operands->count; i++)
		r = publication_parse(operands->items[i], &ret_wanted[i - 1], error);
	return r;
}

static int run(struct command_call *call, struct error *error) {
	const struct strings *operands = call->operands;
	struct values *values = call->values;
	CLEANUP_FREE struct publication *wanted = mem_array(struct publication, operands->count);
	struct json_list list = {.out = stdout};
	int64_t session = 0;
	int r = read_all(operands, &session, wanted, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i + 1 < operands->count; i++)
		r = publish(values, session, &wanted[i], &list, error);
	if (values->json) json_list_end(&list);
	return r;
}

const struct command command_publish = {
	.name = "publish",
	.operands = "SESSION PORT[:HOSTPORT]...",
	.summary = "Make ports of a running sandbox reachable on this machine.",
	.details = "A server in the sandbox can then be reached at 127.0.0.1 and ::1 of this machine, port HOSTPORT "
		   "(default: PORT; 0: any that is free), by every user of it, and nowhere else. It is a grant of "
		   "net:listen for that session: 'sbx revoke' ends it, and its live connections.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 2,
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
