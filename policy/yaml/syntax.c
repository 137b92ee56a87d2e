#include "syntax.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

struct source {
	const char *text;
	size_t size;
};

static bool begins_character(char byte) {
	return (byte & 0xc0) != 0x80;
}

struct place syntax_place(const char *text, size_t size, size_t offset) {
	struct place place = {1, 1};
	for (size_t i = 0; i < size && i < offset; i++) {
		if (text[i] == '\n') {
			place.line++;
			place.column = 1;
		} else if (i + 1 == offset || begins_character(text[i + 1])) {
			place.column++;
		}
	}
	return place;
}

/* A mark's index counts characters. */
static size_t mark_offset(const struct source *source, const yaml_mark_t *mark) {
	size_t offset = 0, index = 0;
	for (; offset < source->size; offset++) {
		if (!begins_character(source->text[offset])) continue;
		if (index++ == mark->index) break;
	}
	return offset;
}

static struct place mark_place(const yaml_mark_t *mark) {
	return (struct place){(unsigned)mark->line + 1, (unsigned)mark->column + 1};
}

/* What was written there, up to a blank or what ends a value in a list; with its brackets where it has some. */
static char *written_at(const struct source *source, size_t offset) {
	size_t end = offset;
	int depth = 0;
	for (; end < source->size; end++) {
		char c = source->text[end];
		if (strchr(" \t\r\n,", c)) break;
		if (c == '[' || c == '{') depth++;
		if ((c == ']' || c == '}') && depth-- == 0) break;
	}
	CLEANUP_FREE char *written = string_copy_bytes(source->text + offset, end - offset);
	return text_visible_cut(written, 60);
}

static char character_at(const struct source *source, size_t offset) {
	return offset < source->size ? source->text[offset] : '\0';
}

static bool says(const char *said, const char *what) {
	return said && strstr(said, what);
}

/* "*.x" and "&x": the character where a value begins has a meaning of its own. */
static bool explain_alias(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	bool alias = says(parser->context, "scanning an alias");
	if (!alias && !says(parser->context, "scanning an anchor")) return false;
	CLEANUP_FREE char *written = written_at(source, mark_offset(source, &parser->context_mark));
	problems_add(problems, mark_place(&parser->context_mark),
		     "%s is not quoted, and a '%c' in front is YAML's %s; put quotes around it: \"%s\"", written,
		     alias ? '*' : '&', alias ? "alias" : "anchor", written);
	return true;
}

static bool explain_first_character(const yaml_parser_t *parser, const struct source *source,
				    struct problems *problems) {
	bool tab = says(parser->problem, "tab character");
	if (!tab && !says(parser->problem, "cannot start any token")) return false;
	size_t offset = mark_offset(source, &parser->problem_mark);
	if (tab || character_at(source, offset) == '\t') {
		problems_add(problems, mark_place(&parser->problem_mark),
			     "a tab, expected spaces: YAML is indented with spaces only");
		return true;
	}
	CLEANUP_FREE char *written = written_at(source, offset);
	problems_add(problems, mark_place(&parser->problem_mark),
		     "an unquoted value can't begin with '%c'; put quotes around it: \"%s\"",
		     character_at(source, offset), written);
	return true;
}

static bool explain_variable(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	size_t offset = mark_offset(source, &parser->problem_mark);
	if (character_at(source, offset) != '{' || offset == 0 || source->text[offset - 1] != '$') return false;
	CLEANUP_FREE char *written = written_at(source, offset - 1);
	struct place place = mark_place(&parser->problem_mark);
	place.column--;
	problems_add(problems, place, "%s inside [ ] or { } must be quoted: \"%s\"", written, written);
	return true;
}

/* [::1] and [2001:db8::1]:443: brackets make a list. */
static bool explain_brackets(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	size_t offset = mark_offset(source, &parser->problem_mark), start = offset;
	bool inside = says(parser->problem, "expected node content") && character_at(source, offset) == ':';
	bool behind = offset > 0 && character_at(source, offset) == ':' && source->text[offset - 1] == ']';
	if (!inside && !behind) return false;
	while (start > 0 && source->text[start] != '[' && source->text[start] != '\n') start--;
	if (source->text[start] != '[') return false;
	CLEANUP_FREE char *written = written_at(source, start);
	problems_add(problems, syntax_place(source->text, source->size, start),
		     "%s is a list to YAML; put quotes around an address in brackets: \"%s\"", written, written);
	return true;
}

static bool explain_colon(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	(void)source;
	if (!says(parser->problem, "mapping values are not allowed")) return false;
	problems_add(problems, mark_place(&parser->problem_mark),
		     "a ':' that belongs to no key; indent it under its key, or put quotes around a text with ': ' in "
		     "it");
	return true;
}

static bool explain_bytes(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	if (parser->error != YAML_READER_ERROR) return false;
	struct place place = syntax_place(source->text, source->size, parser->problem_offset);
	if (says(parser->problem, "control characters"))
		problems_add(problems, place, "the control character \\x%02x, expected text",
			     (unsigned)parser->problem_value);
	else
		problems_add(problems, place, "bytes that aren't UTF-8 (%s), expected text", parser->problem);
	return true;
}

/* Errors in the shape of the file. A message with %u is about where something began, and tells its line. */
static bool explain_shape(const yaml_parser_t *parser, const struct source *source, struct problems *problems) {
	static const struct {
		const char *problem, *context, *text;
	} shapes[] = {
		{"expected ',' or ']'", "", "expected ',' or ']': the list that begins in line %u is not closed"},
		{"expected ',' or '}'", "", "expected ',' or '}': the map that begins in line %u is not closed"},
		{"end of stream", "quoted scalar", "expected a quote: the text that begins in line %u is not closed"},
		{"expected key", "block mapping", "this fits nowhere, expected a key indented like its neighbours"},
		{"expected '-'", "block collection", "this fits nowhere, expected '- ' like its neighbours"},
	};
	(void)source;
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
		if (!says(parser->problem, shapes[i].problem) || !parser->context ||
		    !says(parser->context, shapes[i].context))
			continue;
		CLEANUP_STRING struct string text = {0};
		const char *gap = strstr(shapes[i].text, "%u");
		string_append_bytes(&text, shapes[i].text,
				    gap ? (size_t)(gap - shapes[i].text) : strlen(shapes[i].text));
		if (gap) string_appendf(&text, "%zu%s", parser->context_mark.line + 1, gap + 2);
		problems_add(problems, mark_place(&parser->problem_mark), "%s", text.data);
		return true;
	}
	return false;
}

static bool (*const explanations[])(const yaml_parser_t *, const struct source *, struct problems *) = {
	explain_bytes,    explain_alias, explain_first_character, explain_variable,
	explain_brackets, explain_colon, explain_shape,
};

void syntax_explain(const yaml_parser_t *parser, const char *text, size_t size, struct problems *problems) {
	const struct source source = {text, size};
	for (size_t i = 0; i < ARRAY_LENGTH(explanations); i++)
		if (explanations[i](parser, &source, problems)) return;
	problems_add(problems, mark_place(&parser->problem_mark), "this is no YAML: %s%s%s",
		     parser->problem ? parser->problem : "unknown error", parser->context ? " " : "",
		     parser->context ? parser->context : "");
}
