/* ui: command lines, tables, prompts in words, CSV, JSON, help. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/string.h"
#include "commands/commands.h"
#include "completion/complete.h"
#include "schema/grant.h"
#include "schema/limits.h"
#include "ui/command.h"
#include "ui/csv.h"
#include "ui/history_output.h"
#include "ui/human.h"
#include "ui/nearest.h"
#include "ui/option.h"
#include "ui/output.h"
#include "ui/prompt_text.h"
#include "ui/table.h"
#include "ui/words.h"
#include "unit.h"

/* What was printed; a stream that has failed is a told error, as main.c tells it. */
static void tell_printed(FILE *out, int fd) {
	static char text[64 * 1024];
	bool failed = ferror(out) != 0;
	failed |= fclose(out) != 0;
	ssize_t size = pread(fd, text, sizeof text - 1, 0);
	close(fd);
	if (failed || size < 0) {
		unit_tell_error("the output can't be written");
		return;
	}
	text[size] = '\0';
	unit_tell("%s", text);
}

static FILE *print_begin(int *ret_fd) {
	*ret_fd = memfd_create("out", MFD_CLOEXEC);
	FILE *out = *ret_fd < 0 ? NULL : fdopen(dup(*ret_fd), "w");
	if (!out) unit_tell_error("no output");
	return out;
}

struct values {
	bool flag;
	const char *text;
	struct strings list, permissions;
	int64_t duration_ms, time_ms, number;
};

static const struct option_info options[] = {
	{"flag", OPTION_FLAG, NULL, "A flag.", offsetof(struct values, flag)},
	{"text", OPTION_TEXT, "T", "A text.", offsetof(struct values, text)},
	{"list", OPTION_LIST, "L", "A list.", offsetof(struct values, list)},
	{"allow", OPTION_PERMISSION, "PERM=TARGET", "Permissions.", offsetof(struct values, permissions)},
	{"ttl", OPTION_DURATION, "D", "A duration.", offsetof(struct values, duration_ms)},
	{"since", OPTION_TIME, "D", "A time.", offsetof(struct values, time_ms)},
	{"session", OPTION_NUMBER, "ID", "A number.", offsetof(struct values, number)},
};
static const struct option_table table = OPTION_TABLE(options);

static void parse(const char *const *argv) {
	struct values values = {0};
	CLEANUP_STRINGS struct strings operands = {0};
	struct error error = ERROR_NONE;
	if (!unit_failed(options_parse(&table, (char *const *)argv, &values, &operands, &error), &error)) {
		unit_tell("%d %s %lld %lld %lld", values.flag, values.text ? values.text : "-",
			  (long long)values.duration_ms, (long long)values.time_ms, (long long)values.number);
		for (size_t i = 0; i < values.list.count; i++) unit_tell("%s", values.list.items[i]);
		for (size_t i = 0; i < values.permissions.count; i++) unit_tell("%s", values.permissions.items[i]);
		for (size_t i = 0; i < operands.count; i++) unit_tell("%s", operands.items[i]);
	}
	options_finish(&table, &values);
}

static void use_options(void) {
	static const char *const lines[][10] = {
		{"--flag", "--text", "a b", "--list=one", "--list", "two", "--ttl=15m", "operand"},
		{"--allow", "fs:read", "/a", "--allow=net:access=a.test:1", "--session", "#7", "--", "--flag"},
		{"--since", "2026-01-31 14:00", "x"},
		{"--falg"},
		{"--ttl", "never"},
		{"--text"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) parse(lines[i]);
	struct nearest nearest = nearest_start("grnat");
	nearest_offer(&nearest, "grants");
	nearest_offer(&nearest, "grant");
	unit_tell("%s", nearest_found(&nearest));
}

static void use_table(void) {
	static const struct table_column columns[] = {
		{"ID", false, true}, {"TARGET", true, false}, {"END", false, false}};
	int fd;
	FILE *out = print_begin(&fd);
	if (!out) return;
	struct table *rows = table_new(columns, ARRAY_LENGTH(columns));
	for (int i = 0; i < 20; i++) {
		table_cellf(rows, "%d", i);
		table_cell(rows, "/a/rather/long/path/to/something/in/the/project.txt\x1b[2J");
		table_cell(rows, i % 2 ? "never" : NULL);
	}
	table_print(rows, out, 40, true);
	table_free(rows);
	tell_printed(out, fd);
}

static void use_prompt(void) {
	CLEANUP_PROMPT struct prompt prompt = {.id = 3,
					       .session = 9,
					       .permission = permission_of(PERMISSION_NET_ACCESS),
					       .deadline_ms = 60000,
					       .profile = string_copy("default"),
					       .project = string_copy("/home/ada/app"),
					       .target = string_copy("svc.test:8443"),
					       .process = string_copy("curl (412)\x1b[2J"),
					       .reason = string_copy("please"),
					       .why = string_copy("ask rule at default.yaml:7")};
	strings_add(&prompt.parents, "bash (400)");
	CLEANUP_STRING struct string text = {0};
	prompt_describe(&prompt, 2000, 80, &text);
	CLEANUP_FREE char *who = prompt_who(&prompt);
	unit_tell("%s", text.data);
	unit_tell("%s", who);
	const struct grant grant = {.id = 7,
				    .permission = prompt.permission,
				    .pattern = prompt.target,
				    .effect = EFFECT_ALLOW,
				    .profile = prompt.profile,
				    .project = prompt.project,
				    .lifetime = LIFETIME_ALWAYS};
	CLEANUP_FREE char *granted = human_grant(&grant), *end = human_end(&grant, 0), *ago = human_duration(3725000);
	unit_tell("%s %s %s", granted, end, ago);
}

static void use_csv(void) {
	CLEANUP_STRING struct string line = {0};
	static const char *const values[] = {"a", "=1+1", "b,\"c\"", "", NULL, "\x1b[2J", "@x"};
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) csv_append(&line, values[i]);
	unit_tell("%s", line.data);
}

static void use_history(void) {
	for (int format = HISTORY_TABLE; format <= HISTORY_CSV; format++) {
		struct history_output output;
		struct error error = ERROR_NONE;
		int fd;
		FILE *out = print_begin(&fd);
		if (!out) return;
		history_output_init(&output, (enum history_format)format, out);
		bool failed = false;
		for (int i = 1; i < 6 && !failed; i++) {
			json_t *item = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s}", "seq", i, "time",
						 "2026-01-31T12:00:00.000Z", "kind", "decision", "profile", "npm",
						 "permission", "fs:read", "target", "/\x1b", "verdict", "deny");
			failed = unit_failed(history_output_add(&output, item, &error), &error);
			json_decref(item);
		}
		history_output_flush(&output);
		history_output_finish(&output);
		tell_printed(out, fd);
	}
}

static void use_help(void) {
	int fd;
	FILE *out = print_begin(&fd);
	if (!out) return;
	command_help_all(command_all(), out);
	command_help(&command_grant, out);
	tell_printed(out, fd);
}

/* What the tables know; of what files and the broker know it leaves out what isn't to be had, by intent. */
static void use_completion(void) {
	static const char *const lines[][4] = {{"re"},
					       {"policy", ""},
					       {"run", "--p"},
					       {"run", "--", ""},
					       {"grant", "--ttl", "2"},
					       {"history", "--verdict", "d"}};
	int fd;
	FILE *out = print_begin(&fd);
	if (!out) return;
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		size_t count = 0;
		while (lines[i][count]) count++;
		complete_words(command_all(), (char *const *)lines[i], count, out);
	}
	tell_printed(out, fd);
}

static void use_words(void) {
	static const struct {
		const char *permission, *text;
	} cases[] = {{"fs:read", "a/b"},
		     {"fs:write", "~/x"},
		     {"net:access", "A.test:1"},
		     {"net:access", "::"},
		     {"proc:spawn", "git"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission;
		CLEANUP_FREE char *pattern = NULL, *target = NULL;
		struct error error = ERROR_NONE;
		if (unit_failed(permission_parse(cases[i].permission, &permission, &error), &error)) continue;
		if (!unit_failed(words_pattern(&permission, cases[i].text, &pattern, &error), &error))
			unit_tell("%s", pattern);
		if (!unit_failed(words_target(&permission, cases[i].text, &target, &error), &error))
			unit_tell("%s", target);
	}
}

static const struct unit units[] = {
	{.what = "options", .use = use_options}, {.what = "a table", .use = use_table},
	{.what = "a prompt", .use = use_prompt}, {.what = "CSV", .use = use_csv},
	{.what = "history", .use = use_history}, {.what = "help", .use = use_help},
	{.what = "words", .use = use_words},     {.what = "completion", .use = use_completion},
};

const struct unit_room units_ui = UNIT_ROOM("ui: options, words, tables, prompts, CSV, JSON, help, completion", units);
