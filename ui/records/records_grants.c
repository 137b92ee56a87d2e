#include "base/memory.h"
#include "schema/grant.h"
#include "ui/human.h"
#include "ui/records.h"

static const struct table_column columns[] = {
	{"ID", false, true},      {"EFFECT", false, false}, {"PERMISSION", false, false}, {"TARGET", true, false},
	{"PROFILE", true, false}, {"PROJECT", true, false}, {"ENDS", false, false},       {"USES", false, true},
};

enum { COLUMN_PERMISSION = 2, COLUMN_PROFILE = 4, COLUMN_PROJECT, COLUMN_ENDS, COLUMN_USES };
static const size_t spare[] = {COLUMN_USES, COLUMN_PROJECT, COLUMN_PROFILE, COLUMN_ENDS, COLUMN_PERMISSION};

static int add_row(struct table *table, const json_t *item, int64_t now_ms, struct error *error) {
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(item, &grant, error);
	if (r < 0) return r;

	CLEANUP_FREE char *place = human_path(grant.project);
	CLEANUP_FREE char *end = human_end(&grant, now_ms);
	table_cellf(table, "%lld", (long long)grant.id);
	table_cell(table, effect_name(grant.effect));
	table_cell(table, grant.permission.name);
	if (grant.resolved)
		table_cellf(table, "%s → %s", grant.pattern, grant.resolved);
	else
		table_cell(table, grant.pattern);
	table_cell(table, grant.profile ? grant.profile : "any");
	table_cell(table, place);
	table_cell(table, end);
	table_cellf(table, "%lld", (long long)grant.uses);
	return 0;
}

const struct records records_grants = {
	.what = "grants",
	.columns = columns,
	.column_count = ARRAY_LENGTH(columns),
	.spare = spare,
	.spare_count = ARRAY_LENGTH(spare),
	.add_row = add_row,
	.none = "No grants in force ('--all' shows ended ones).",
	.none_at_all = "No grants yet.",
};
