#include "base/clock.h"
#include "base/memory.h"
#include "schema/grant.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/table.h"

struct values {
	bool all, json;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Also those that have ended or were revoked. Default: those in force.",
	 offsetof(struct values, all)},
	{"json", OPTION_FLAG, NULL, "One JSON array (keys: sbx(1), JSON).", offsetof(struct values, json)},
};

static const struct table_column columns[] = {
	{"ID", false, true},      {"EFFECT", false, false}, {"PERMISSION", false, false}, {"TARGET", true, false},
	{"PROFILE", true, false}, {"PROJECT", true, false}, {"ENDS", false, false},       {"USES", false, true},
};

struct output {
	struct table *table; /* or NULL: JSON */
	struct json_list json;
	int64_t now_ms;
};

static void add_row(struct output *output, const struct grant *grant) {
	CLEANUP_FREE char *place = human_path(grant->project);
	CLEANUP_FREE char *end = human_end(grant, output->now_ms);
	table_cellf(output->table, "%lld", (long long)grant->id);
	table_cell(output->table, effect_name(grant->effect));
	table_cell(output->table, grant->permission.name);
	table_cell(output->table, grant->pattern);
	table_cell(output->table, grant->profile ? grant->profile : "any");
	table_cell(output->table, place);
	table_cell(output->table, end);
	table_cellf(output->table, "%lld", (long long)grant->uses);
}

static int each(void *context, const json_t *item, struct error *error) {
	struct output *output = context;
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(item, &grant, error);
	if (r < 0) return r;
	if (output->table) {
		add_row(output, &grant);
		return 0;
	}
	json_t *json = grant_to_json(&grant);
	json_list_item(&output->json, json);
	json_decref(json);
	return 0;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_TABLE struct table *table = values->json ? NULL : table_new(columns, ARRAY_LENGTH(columns));
	struct output output = {.table = table, .json = {.out = stdout}};
	struct listing listing = {.what = "grants", .ended_too = values->all, .each = each, .context = &output};
	struct moment now;
	clock_read(clock_system(), &now);
	output.now_ms = now.wall_ms;
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = broker_list(channel, &listing, error);
	if (r < 0) return r;
	if (!table)
		json_list_end(&output.json);
	else if (table_rows(table) == 0)
		puts(values->all ? "No grants yet." : "No grants in force ('--all' shows ended ones).");
	else
		table_print(table, stdout, terminal_width(stdout), true);
	return EXIT_DONE;
}

const struct command command_grants = {
	.name = "grants",
	.operands = "",
	.summary = "List what you have granted and denied.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
