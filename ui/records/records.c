#include "ui/records.h"

#include "base/clock.h"
#include "ui/output.h"

struct output {
	const struct records *records;
	struct table *table; /* or NULL: JSON */
	struct json_list json;
	int64_t now_ms;
};

static int each(void *context, const json_t *item, struct error *error) {
	struct output *output = context;
	if (output->table) return output->records->add_row(output->table, item, output->now_ms, error);
	json_list_item(&output->json, item);
	return 0;
}

struct table *records_table(const struct records *records) {
	struct table *table = table_new(records->columns, records->column_count);
	table_spare(table, records->spare, records->spare_count);
	table_about(table, records->about);
	return table;
}

int records_print(const struct records *records, bool ended_too, bool as_json, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_TABLE struct table *table = as_json ? NULL : records_table(records);
	struct output output = {.records = records, .table = table, .json = {.out = stdout}};
	const struct listing listing = {
		.what = records->what, .ended_too = ended_too, .each = each, .context = &output};
	struct moment now;
	clock_read(clock_system(), &now);
	output.now_ms = now.wall_ms;
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = broker_list(channel, &listing, error);
	if (r < 0) return r;
	if (!table)
		json_list_end(&output.json);
	else if (table_rows(table) == 0)
		puts(ended_too ? records->none_at_all : records->none);
	else
		table_print(table, stdout, terminal_width(stdout), true);
	return 0;
}
