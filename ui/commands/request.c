#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "inside.h"
#include "runner/inside.h"
#include "schema/message.h"
#include "schema/target.h"
#include "ui/broker.h"
#include "ui/output.h"
#include "ui/words.h"

struct values {
	const char *reason;
	bool json;
};

static const struct option_info options[] = {
	{"reason", OPTION_TEXT, "TEXT",
	 "What it is wanted for; the user is shown it as the tool's words. Default: none.",
	 offsetof(struct values, reason)},
	{"json", OPTION_FLAG, NULL, "Print an object: permission, target, allowed, once, by, why.",
	 offsetof(struct values, json)},
};

/* By name alone: looking at a path would be asking for it already. */
static int absolute_target(const struct permission *permission, const char *text, char **ret_target,
			   struct error *error) {
	CLEANUP_FREE char *directory = NULL;
	if (permission->kind == PERMISSION_PROC_SPAWN && !strchr(text, '/'))
		return words_target(permission, text, ret_target, error);
	int r = working_directory(&directory, error);
	return r < 0 ? r : target_parse(permission, text, directory, home_directory(), ret_target, error);
}

static int print_reply(const struct values *values, const struct permission *permission, const char *target,
		       json_t *reply) {
	const bool allowed = json_is_true(json_object_get(reply, "allowed"));
	const bool failed = string_equal(json_string_value(json_object_get(reply, "by")), "failure");
	if (values->json) {
		json_object_del(reply, "type");
		json_object_set_new(reply, "permission", json_string(permission->name));
		json_object_set_new(reply, "target", message_bytes(target));
		json_line(stdout, reply);
	} else {
		CLEANUP_FREE char *why = json_visible(reply, "why");
		printf("%s: %s\n", allowed ? "allowed" : "denied", why);
	}
	return allowed ? EXIT_DONE : failed ? EXIT_FAILED : EXIT_NO;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	struct permission permission;
	const char *text;
	CLEANUP_FREE char *target = NULL;
	json_t *reply = NULL;
	int r = operands_permission(call->operands, &permission, &text, error);
	if (r < 0) return r;
	if (inside_refuse(NULL) == 0)
		return error_set(
			error, EOPNOTSUPP,
			"this is for programs in a sandbox of sbx, and this is none: 'sbx check' asks outside");
	r = absolute_target(&permission, text, &target, error);
	if (r < 0) return r;
	json_t *message = json_pack("{s:s, s:s, s:o}", "type", "request", "permission", permission.name, "target",
				    message_bytes(target));
	json_put_text(message, "reason", values->reason);
	r = inside_call(message, &reply, error);
	if (r < 0) return r;
	r = print_reply(values, &permission, target, reply);
	json_decref(reply);
	return r;
}

const struct command command_request = {
	.name = "request",
	.operands = "PERM TARGET",
	.summary = "Inside a sandbox: ask for something before it is needed.",
	.details =
		"Where a rule asks, the user is asked, and it waits for the answer; else it is decided at once. When "
		"it ends with 0 the thing can be used: 'sbx request fs:read ~/notes --reason \"to sum them up\" && "
		"cat ~/notes'. Permissions of the user's own, such as db:access, are asked for in the same way. Exit "
		"status: 0 allowed, 1 denied, 125 unknown.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 2,
	.failure = EXIT_FAILED,
	.run = run,
};
