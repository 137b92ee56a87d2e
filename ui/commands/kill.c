#include <errno.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "ui/broker.h"

struct values {
	bool all;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "End every sandbox that runs.", offsetof(struct values, all)},
};

static int put_sessions(json_t *body, const struct strings *operands, struct error *error) {
	json_t *ids = json_array();
	json_object_set_new(body, "sessions", ids);
	return operands_ids(operands, "session", ids, error);
}

static bool is_alive(const json_t *reply, json_int_t session) {
	size_t index;
	const json_t *other;
	json_array_foreach ((json_t *)json_object_get(reply, "others"), index, other)
		if (json_integer_value(json_object_get(other, "session")) == session) return true;
	return false;
}

static int print_killed(const json_t *reply, size_t asked) {
	const json_t *killed = json_object_get(reply, "sessions");
	size_t index;
	json_t *id;
	json_array_foreach ((json_t *)killed, index, id) {
		if (is_alive(reply, json_integer_value(id)))
			printf("Session %lld was killed, and is not seen dead yet.\n",
			       (long long)json_integer_value(id));
		else
			printf("Ended session %lld.\n", (long long)json_integer_value(id));
	}
	if (json_array_size(json_object_get(reply, "others")) > 0) return EXIT_NO;
	if (json_array_size(killed) > 0 && json_array_size(killed) >= asked) return EXIT_DONE;
	puts(asked == 0 ? "No sandbox is running."
			: "Not all of them are running ('sbx sessions' lists those that do).");
	return asked == 0 ? EXIT_DONE : EXIT_NO;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	if (values->all == (call->operands->count > 0))
		return error_set(error, EINVAL, "expected ids of sessions (see 'sbx sessions') or --all");
	json_t *body = json_object(), *reply = NULL;
	int r = 0;
	if (values->all)
		json_object_set_new(body, "all", json_true());
	else
		r = put_sessions(body, call->operands, error);
	if (r == 0) r = broker_call("kill", json_incref(body), &reply, error);
	json_decref(body);
	if (r == 0) r = print_killed(reply, call->operands->count);
	json_decref(reply);
	return r;
}

const struct command command_kill = {
	.name = "kill",
	.operands = "SESSION... | --all",
	.summary = "End running sandboxes.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
