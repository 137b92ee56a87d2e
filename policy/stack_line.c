#include "stack_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/text.h"
#include "document.h"
#include "policy_parts.h"
#include "schema/limits.h"

enum { TIMEOUT_MS = 5 * 1000 }; /* of a program, where its line says nothing else */

static const char *const module_names[] = {
	[STACK_PROTECT] = "protect", [STACK_FLOOD] = "flood", [STACK_RULES] = "rules",
	[STACK_GRANTS] = "grants",   [STACK_ASK] = "ask",     [STACK_EXEC] = "exec",
};
static_assert(ARRAY_LENGTH(module_names) == STACK_MODULE_COUNT, "every module has a name");

const char *stack_module_name(enum stack_module module) {
	return module_names[module];
}

const char *stack_control_name(enum stack_control control) {
	static const char *const names[] = {
		[STACK_ANY] = "", [STACK_REQUISITE] = "requisite", [STACK_SUFFICIENT] = "sufficient"};
	return names[control];
}

char *stack_line_text(const struct stack_line *line) {
	const char *control = stack_control_name(line->control);
	if (!line->exec) return string_format("%s%s%s", control, *control ? ": " : "", stack_module_name(line->module));
	bool usual = line->exec->timeout_ms == TIMEOUT_MS;
	CLEANUP_FREE char *timeout = duration_format(line->exec->timeout_ms);
	return string_format("%s%s{exec: %s%s%s}", control, *control ? ": " : "", line->exec->text,
			     usual ? "" : ", timeout: ", usual ? "" : timeout);
}

void stack_line_finish(struct stack_line *line) {
	if (!line->exec) return;
	strings_finish(&line->exec->argv);
	free(line->exec->text);
	free(line->exec);
	line->exec = NULL;
}

/* exec: [PROGRAM, ARG…] */

static bool is_program(struct reader *reader, const struct node *node, const char *text) {
	CLEANUP_FREE char *normal = NULL;
	if (path_normalise(NULL, text, &normal, NULL) == 0 && strcmp(normal, text) == 0 && text[1] != '\0') return true;
	SHOWN(shown, text);
	problems_add(reader->problems, node->place, "\"%s\", expected the absolute path of a program, without . and ..",
		     shown);
	return false;
}

static void read_command(struct reader *reader, const struct node *value) {
	struct stack_exec *exec = reader->exec;
	struct string text = {0};
	size_t bytes = 0;
	if (!reader_is(reader, value, NODE_LIST, "a program and its arguments such as [/usr/local/bin/judge, -v]") ||
	    !reader_fits(reader, value, LIMIT_EXEC_WORDS))
		return;
	if (value->count == 0) problems_add(reader->problems, value->place, "an empty list, expected a program");
	for (size_t i = 0; i < value->count; i++) {
		const char *word = reader_text(reader, value->items[i], "a word of a command line");
		if (!word || (i == 0 && !is_program(reader, value->items[i], word))) continue;
		strings_add(&exec->argv, word);
		bytes += strlen(word) + 1;
		string_append(&text, i == 0 ? "[" : ", ");
		policy_append_quoted(&text, word);
	}
	if (bytes > LIMIT_EXEC_COMMAND)
		problems_add(reader->problems, value->place, "a command line of %zu bytes, expected at most %d", bytes,
			     LIMIT_EXEC_COMMAND);
	string_append(&text, "]");
	exec->text = string_steal(&text);
}

static void read_timeout(struct reader *reader, const struct node *value) {
	int64_t ms = 0;
	if (!reader_duration(reader, value, &ms)) return;
	if (ms <= LIMIT_EXEC_MS) {
		reader->exec->timeout_ms = ms;
		return;
	}
	SHOWN(shown, value->text);
	problems_add(reader->problems, value->place, "%s, expected at most %ds", shown, LIMIT_EXEC_MS / 1000);
}

static const struct key exec_items[] = {{"exec", read_command, 0, true}, {"timeout", read_timeout, 0, false}};
const struct keys exec_keys = {"an exec line", exec_items, ARRAY_LENGTH(exec_items)};

static bool read_exec(struct reader *reader, const struct node *value, struct stack_line *line) {
	size_t before = reader->problems->total;
	line->module = STACK_EXEC;
	line->exec = reader->exec = mem_new(struct stack_exec);
	line->exec->timeout_ms = TIMEOUT_MS;
	keys_read(reader, &exec_keys, value);
	reader->exec = NULL;
	return reader->problems->total == before;
}

/* Lines */

static const char stack_what[] =
	"protect, flood, rules, grants, ask or {exec: [PROGRAM]}, alone or behind requisite: or sufficient:";

static bool read_name(struct reader *reader, const struct node *value, struct stack_line *line) {
	const char *text = reader_text(reader, value, stack_what);
	if (!text) return false;
	for (int i = 0; i < STACK_MODULE_COUNT; i++) {
		if (i == STACK_EXEC || strcmp(module_names[i], text) != 0) continue;
		line->module = (enum stack_module)i;
		return true;
	}
	SHOWN(shown, text);
	problems_add(reader->problems, value->place, "\"%s\", expected %s", shown, stack_what);
	return false;
}

static bool has_key(const struct node *map, const char *name) {
	for (size_t i = 0; map->kind == NODE_MAP && i < map->count; i++)
		if (strcmp(map->keys[i]->text, name) == 0) return true;
	return false;
}

/* rules, {exec: […]} */
static bool read_module(struct reader *reader, const struct node *value, struct stack_line *line) {
	return has_key(value, "exec") ? read_exec(reader, value, line) : read_name(reader, value, line);
}

/* A module, or {requisite: MODULE} */
static bool read_line(struct reader *reader, const struct node *value, struct stack_line *line) {
	if (value->kind != NODE_MAP || value->count != 1 || has_key(value, "exec"))
		return read_module(reader, value, line);
	if (has_key(value, "requisite")) line->control = STACK_REQUISITE;
	if (has_key(value, "sufficient")) line->control = STACK_SUFFICIENT;
	if (line->control != STACK_ANY) return read_module(reader, value->items[0], line);
	SHOWN(shown, value->keys[0]->text);
	problems_add(reader->problems, value->keys[0]->place, "\"%s\", expected %s", shown, stack_what);
	return false;
}

static void add_line(struct policy_document *document, struct stack_line line) {
	document->stack = array_grow(document->stack, document->stack_count, sizeof *document->stack);
	document->stack[document->stack_count++] = line;
}

void stack_lines_read(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_LIST, "a list of modules")) return;
	if (value->count > STACK_STEPS_MAX) {
		problems_add(reader->problems, value->place, "a stack of %zu lines, expected at most %d", value->count,
			     STACK_STEPS_MAX);
		return;
	}
	for (size_t i = 0; i < value->count; i++) {
		struct stack_line line = {STACK_ANY, STACK_PROTECT, NULL};
		if (read_line(reader, value->items[i], &line))
			add_line(reader->document, line);
		else
			stack_line_finish(&line);
	}
	const struct policy_document *document = reader->document;
	bool begins = document->stack_count > 0 && document->stack[0].module == STACK_PROTECT &&
		      document->stack[0].control != STACK_SUFFICIENT;
	/* What can never be granted can't be granted by an administrator's stack either. */
	if (!begins)
		problems_add(reader->problems, value->place, "expected the stack to begin with requisite: protect");
}
