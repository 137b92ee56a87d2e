#include "base/memory.h"
#include "schema/prompt.h"
#include "ui/human.h"
#include "ui/prompt_text.h"
#include "ui/records.h"

static const struct table_column columns[] = {
	{"ID", false, true},     {"PROFILE", true, false},  {"PROJECT", true, false}, {"PERMISSION", true, false},
	{"TARGET", true, false}, {"ASKED BY", true, false}, {"REASON", true, false},  {"LEFT", false, true},
};

enum { COLUMN_PROFILE = 1, COLUMN_PROJECT, COLUMN_TARGET = 4, COLUMN_ASKED_BY, COLUMN_REASON };
static const size_t spare[] = {COLUMN_REASON, COLUMN_ASKED_BY, COLUMN_PROJECT, COLUMN_PROFILE};

static void add_cells(struct table *table, const struct prompt *prompt, int64_t now_ms) {
	CLEANUP_FREE char *place = human_path(prompt->project);
	CLEANUP_FREE char *left = human_duration(prompt->deadline_ms - now_ms);
	CLEANUP_FREE char *asker = prompt_chain(prompt);
	CLEANUP_FREE char *what = prompt->description
					  ? string_format("%s (%s)", prompt->permission.name, prompt->description)
					  : string_copy(prompt->permission.name);
	CLEANUP_FREE char *target = prompt_target(prompt);
	table_cellf(table, "%lld", (long long)prompt->id);
	table_cell(table, prompt->profile);
	table_cell(table, place);
	table_cell(table, what);
	table_cell(table, target);
	table_cell(table, asker);
	table_cell(table, prompt->reason);
	table_cell(table, left);
}

static int add_row(struct table *table, const json_t *item, int64_t now_ms, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	int r = prompt_from_json(item, &prompt, error);
	if (r < 0) return r;
	prompt_shorten(&prompt);
	add_cells(table, &prompt, now_ms);
	return 0;
}

const struct records records_prompts = {
	.what = "prompts",
	.columns = columns,
	.column_count = ARRAY_LENGTH(columns),
	.spare = spare,
	.spare_count = ARRAY_LENGTH(spare),
	.about = COLUMN_TARGET,
	.add_row = add_row,
	.none = "Nothing waits for an answer.",
};
