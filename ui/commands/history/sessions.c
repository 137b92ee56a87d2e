#include "commands/commands.h"
#include "ui/records.h"

struct values {
	bool all, json;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Also those that have ended. Default: those that run.",
	 offsetof(struct values, all)},
	{"json", OPTION_FLAG, NULL, "One JSON array (keys: sbx(1), JSON).", offsetof(struct values, json)},
};

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	int r = records_print(&records_sessions, values->all, values->json, error);
	return r < 0 ? r : EXIT_DONE;
}

const struct command command_sessions = {
	.name = "sessions",
	.operands = "",
	.summary = "List the sandboxes that run.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
