#include <errno.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "description.h"
#include "inside.h"
#include "runner/inside.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/output.h"
#include "ui/words.h"

struct values {
	const char *profile, *project;
	bool json, markdown;
};

static const struct option_info options[] = {
	{"json", OPTION_FLAG, NULL, "Print an object: profile, project, network, allow, ask, permissions, more.",
	 offsetof(struct values, json)},
	{"markdown", OPTION_FLAG, NULL, "Print Markdown, fit for what an assistant is told before it begins.",
	 offsetof(struct values, markdown)},
	{"profile", OPTION_TEXT, "PROFILE", "Outside a sandbox: of which profile. Default: default.",
	 offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "Outside a sandbox: in which project. Default: the current one.",
	 offsetof(struct values, project)},
};

static int describe_inside(const struct values *values, json_t **ret_reply, struct error *error) {
	if (values->profile || values->project)
		return error_set(error, EINVAL,
				 "inside a sandbox it is its own profile and project that are described");
	return inside_call(json_pack("{s:s}", "type", "describe"), ret_reply, error);
}

static int describe_outside(const struct values *values, json_t **ret_reply, struct error *error) {
	CLEANUP_FREE char *project = NULL;
	int r = words_project(values->project, &project, error);
	if (r < 0) return r;
	json_t *body = json_pack("{s:o}", "project", message_bytes(project));
	json_put_text(body, "profile", values->profile);
	return broker_call("describe", body, ret_reply, error);
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	const bool inside = inside_refuse(NULL) < 0;
	json_t *reply = NULL;
	int r = options_exclusive(&call->command->options, values, "json markdown", error);
	if (r == 0) r = inside ? describe_inside(values, &reply, error) : describe_outside(values, &reply, error);
	if (r < 0) return r;
	json_object_del(reply, "type");
	json_object_del(reply, "id");
	if (values->json)
		json_line(stdout, reply);
	else if (values->markdown)
		description_print_markdown(stdout, reply);
	else
		description_print(stdout, reply);
	json_decref(reply);
	return EXIT_DONE;
}

const struct command command_describe = {
	.name = "describe",
	.operands = "",
	.summary = "Show what a tool may do, and what it may ask for.",
	.details =
		"Inside a sandbox: what this one may do now. Outside: what a run would be told. What is denied is not "
		"listed. Exit status: 125 when that is unknown.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.works_inside = true,
	.failure = EXIT_FAILED,
	.run = run,
};
