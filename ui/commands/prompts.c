#include <errno.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "schema/prompt.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/prompt_ending.h"
#include "ui/prompt_text.h"
#include "ui/records.h"
#include "ui/table.h"

struct values {
	bool json, follow;
};

static const struct option_info options[] = {
	{"json", OPTION_FLAG, NULL, "One JSON array; with --follow one object a line (keys: sbx(1), JSON).",
	 offsetof(struct values, json)},
	{"follow", OPTION_FLAG, NULL,
	 "Stay, and show prompts as they come and go. While it stays you count as somebody who can be asked.",
	 offsetof(struct values, follow)},
};

struct output {
	struct table *table; /* or NULL: JSON */
	struct json_list json;
	int64_t now_ms;
};

static int each(void *context, const json_t *item, struct error *error) {
	struct output *output = context;
	if (output->table) return records_prompts.add_row(output->table, item, output->now_ms, error);
	CLEANUP_PROMPT struct prompt prompt = {0};
	int r = prompt_from_json(item, &prompt, error);
	if (r < 0) return r;
	prompt.token[0] = '\0';
	json_t *json = prompt_to_json(&prompt);
	json_list_item(&output->json, json);
	json_decref(json);
	return 0;
}

static int list(bool json, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_TABLE struct table *table =
		json ? NULL : table_new(records_prompts.columns, records_prompts.column_count);
	struct output output = {.table = table, .json = {.out = stdout}, .now_ms = clock_ms(CLOCK_REALTIME)};
	struct listing listing = {.what = records_prompts.what, .each = each, .context = &output};
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = broker_list(channel, &listing, error);
	if (r < 0) return r;
	if (!table) {
		json_list_end(&output.json);
	} else if (table_rows(table) == 0) {
		puts(records_prompts.none);
	} else {
		table_print(table, stdout, terminal_width(stdout), true);
		puts("\nAnswer with: sbx allow ID, sbx deny ID");
	}
	return EXIT_DONE;
}

/* A push without its envelope. */
static json_t *push_body(const json_t *push) {
	json_t *body = json_copy((json_t *)push);
	json_object_del(body, "type");
	return body;
}

static int show_prompt(const json_t *push, bool json, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	json_t *body = push_body(push);
	int r = prompt_from_json(body, &prompt, error);
	json_decref(body);
	if (r < 0) return r;
	if (json) {
		prompt.token[0] = '\0';
		json_t *line = prompt_to_json(&prompt);
		json_line(stdout, line);
		json_decref(line);
		return 0;
	}
	CLEANUP_STRING struct string text = {0};
	size_t width = terminal_width(stdout);
	prompt_describe(&prompt, clock_ms(CLOCK_REALTIME), width ? width : 80, &text);
	printf("%s  answer   sbx allow %lld   or   sbx deny %lld\n\n", text.data, (long long)prompt.id,
	       (long long)prompt.id);
	return 0;
}

static int show_gone(const json_t *push, bool json) {
	if (json) {
		json_t *body = push_body(push);
		json_line(stdout, body);
		json_decref(body);
		return 0;
	}
	CLEANUP_FREE char *ending = prompt_ending(push);
	printf("prompt %lld is settled: %s\n\n", (long long)json_integer_value(json_object_get(push, "id")), ending);
	return 0;
}

static int follow(bool json, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *reply = NULL;
	int r = broker_connect(NULL, &channel, error);
	if (r == 0)
		r = channel_call(channel, "agent", json_pack("{s:s, s:n}", "kind", "terminal", "session"), &reply,
				 error);
	json_decref(reply);
	while (r == 0) {
		json_t *push = NULL;
		fflush(stdout);
		r = channel_receive(channel, true, &push, error);
		if (r == -EAGAIN) {
			r = 0;
			continue;
		}
		if (r < 0) break;
		const char *type = json_string_value(json_object_get(push, "type"));
		if (string_equal(type, "prompt")) r = show_prompt(push, json, error);
		if (string_equal(type, "prompt-gone")) r = show_gone(push, json);
		json_decref(push);
		if (ferror(stdout)) return EXIT_NO;
	}
	return r;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	return values->follow ? follow(values->json, error) : list(values->json, error);
}

const struct command command_prompts = {
	.name = "prompts",
	.operands = "",
	.summary = "List what waits for your answer.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
