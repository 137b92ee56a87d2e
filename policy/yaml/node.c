/*
 * Theory of operation
 *
 * libyaml's event parser is asked for one event at a time, so a limit stops the reading before the text behind it is
 * looked at; its document loader, which follows aliases, is not used. A node whose content is refused but whose shape
 * is known (an alias, a tag) becomes NODE_BAD, and the reading goes on to find more. Duplicate keys are looked for when
 * a map is whole, by sorting, since a map may have as many keys as the file has room for.
 */
#include "node.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/text.h"
#include "scalar.h"
#include "schema/limits.h"
#include "syntax.h"

struct reading {
	yaml_parser_t parser;
	const char *text;
	size_t size;
	struct problems *problems;
	size_t nodes;
};

void node_free(struct node *node) {
	if (!node) return;
	for (size_t i = 0; i < node->count; i++) {
		if (node->keys) node_free(node->keys[i]);
		node_free(node->items[i]);
	}
	free(node->keys);
	free(node->items);
	free(node->text);
	free(node);
}

const struct node *node_find(const struct node *map, const char *key) {
	for (size_t i = 0; i < map->count; i++)
		if (map->keys && strcmp(map->keys[i]->text, key) == 0) return map->items[i];
	return NULL;
}

static struct place event_place(const yaml_event_t *event) {
	return (struct place){(unsigned)event->start_mark.line + 1, (unsigned)event->start_mark.column + 1};
}

static bool next_event(struct reading *reading, yaml_event_t *event) {
	if (yaml_parser_parse(&reading->parser, event)) return true;
	if (reading->parser.error == YAML_MEMORY_ERROR) mem_exhausted();
	syntax_explain(&reading->parser, reading->text, reading->size, reading->problems);
	return false;
}

static struct node *read_node(struct reading *reading, const yaml_event_t *event, unsigned depth);

/* Anchors and tags: what a value may not have in front of it. */
static bool refuse_properties(struct reading *reading, struct place place, const yaml_char_t *anchor,
			      const yaml_char_t *tag) {
	if (anchor) {
		SHOWN(shown, (const char *)anchor);
		problems_add(reading->problems, place,
			     "the anchor &%s, expected a plain value: anchors and aliases aren't used here (quote a "
			     "text that begins with '&')",
			     shown);
	} else if (tag) {
		SHOWN(shown, (const char *)tag);
		problems_add(reading->problems, place,
			     "the tag %s, expected a plain value: tags aren't used here (quote a text that begins "
			     "with '!')",
			     shown);
	}
	return anchor || tag;
}

static void read_scalar(struct reading *reading, const yaml_event_t *event, struct node *node) {
	const char *value = (const char *)event->data.scalar.value;
	size_t size = event->data.scalar.length;
	if (refuse_properties(reading, node->place, event->data.scalar.anchor, event->data.scalar.tag)) return;
	if (size > LIMIT_POLICY_SCALAR) {
		problems_add(reading->problems, node->place, "a text of %zu bytes, expected at most %d", size,
			     LIMIT_POLICY_SCALAR);
		return;
	}
	if (memchr(value, '\0', size)) { /* "\0" in double quotes */
		problems_add(reading->problems, node->place, "a NUL character, expected text");
		return;
	}
	node->text = string_copy_bytes(value, size);
	node->kind = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? scalar_kind(node->text) : NODE_TEXT;
}

/* Returns false when the reading must end. */
static bool read_list(struct reading *reading, struct node *node, unsigned depth) {
	for (;;) {
		yaml_event_t event;
		if (!next_event(reading, &event)) return false;
		bool end = event.type == YAML_SEQUENCE_END_EVENT;
		struct node *item = end ? NULL : read_node(reading, &event, depth);
		yaml_event_delete(&event);
		if (end) return true;
		if (!item) return false;
		node->items = array_grow(node->items, node->count, sizeof(struct node *));
		node->items[node->count++] = item;
	}
}

static bool key_is_good(struct reading *reading, const struct node *key) {
	if (key->kind == NODE_TEXT && strcmp(key->text, "<<") == 0) {
		problems_add(reading->problems, key->place,
			     "a merge key (<<), expected the keys themselves: merging isn't used here");
		return false;
	}
	if (key->kind == NODE_TEXT || key->kind == NODE_BAD) return key->kind == NODE_TEXT;
	if (key->text) {
		SHOWN(shown, key->text);
		problems_add(reading->problems, key->place,
			     "the key %s is no text to YAML; put quotes around it: \"%s\"",
			     *shown ? shown : "(nothing)", shown);
	} else {
		problems_add(reading->problems, key->place,
			     "a key that is a %s, expected a text (an address in brackets needs quotes: "
			     "\"[2001:db8::1]:443\")",
			     key->kind == NODE_LIST ? "list" : "map");
	}
	return false;
}

struct key_position {
	const struct node *key;
	size_t position;
};

static int compare_keys(const void *a, const void *b) {
	const struct key_position *x = a, *y = b;
	int order = strcmp(x->key->text, y->key->text);
	return order != 0 ? order : x->position < y->position ? -1 : x->position > y->position;
}

static void refuse_duplicates(struct reading *reading, const struct node *map) {
	if (map->count < 2) return;
	CLEANUP_FREE struct key_position *sorted = mem_array(struct key_position, map->count);
	for (size_t i = 0; i < map->count; i++) sorted[i] = (struct key_position){map->keys[i], i};
	qsort(sorted, map->count, sizeof *sorted, compare_keys);
	const struct node *first = sorted[0].key;
	for (size_t i = 1; i < map->count; i++) {
		const struct node *key = sorted[i].key;
		if (strcmp(key->text, first->text) == 0) {
			SHOWN(shown, key->text);
			problems_add(reading->problems, key->place,
				     "duplicate key \"%s\", expected it once: it stands in line %u already", shown,
				     first->place.line);
		} else {
			first = key;
		}
	}
}

/* One key and its value; a pair with a bad key is left out. Returns false when the reading must end. */
static bool read_pair(struct reading *reading, struct node *map, const yaml_event_t *key_event, unsigned depth) {
	CLEANUP_NODE struct node *key = read_node(reading, key_event, depth);
	if (!key) return false;
	yaml_event_t event;
	if (!next_event(reading, &event)) return false;
	CLEANUP_NODE struct node *value = read_node(reading, &event, depth);
	yaml_event_delete(&event);
	if (!value) return false;
	if (!key_is_good(reading, key)) {
		map->torn = true;
		return true;
	}
	map->keys = array_grow(map->keys, map->count, sizeof(struct node *));
	map->items = array_grow(map->items, map->count, sizeof(struct node *));
	map->keys[map->count] = STEAL(key);
	map->items[map->count++] = STEAL(value);
	return true;
}

static bool read_map(struct reading *reading, struct node *node, unsigned depth) {
	for (bool more = true; more;) {
		yaml_event_t event;
		if (!next_event(reading, &event)) return false;
		bool end = event.type == YAML_MAPPING_END_EVENT;
		more = !end && read_pair(reading, node, &event, depth);
		yaml_event_delete(&event);
		if (end) {
			refuse_duplicates(reading, node);
			return true;
		}
	}
	return false;
}

static bool read_collection(struct reading *reading, const yaml_event_t *event, struct node *node, unsigned depth) {
	bool list = event->type == YAML_SEQUENCE_START_EVENT;
	if (depth >= LIMIT_POLICY_DEPTH) {
		problems_add(reading->problems, node->place, "nested deeper than %d levels", LIMIT_POLICY_DEPTH);
		return false;
	}
	bool bad = list ? refuse_properties(reading, node->place, event->data.sequence_start.anchor,
					    event->data.sequence_start.tag)
			: refuse_properties(reading, node->place, event->data.mapping_start.anchor,
					    event->data.mapping_start.tag);
	if (!(list ? read_list : read_map)(reading, node, depth + 1)) return false;
	node->kind = bad ? NODE_BAD : list ? NODE_LIST : NODE_MAP;
	return true;
}

static void refuse_alias(struct reading *reading, const yaml_event_t *event, struct place place) {
	SHOWN(shown, (const char *)event->data.alias.anchor);
	problems_add(reading->problems, place,
		     "*%s is not quoted, and a '*' in front is YAML's alias; put quotes around it: \"*%s\"", shown,
		     shown);
}

/* NULL when the reading must end. */
static struct node *read_node(struct reading *reading, const yaml_event_t *event, unsigned depth) {
	CLEANUP_NODE struct node *node = mem_new(struct node);
	*node = (struct node){.kind = NODE_BAD, .place = event_place(event)};
	if (++reading->nodes > LIMIT_POLICY_NODES) {
		problems_add(reading->problems, node->place, "more than %d values in one file", LIMIT_POLICY_NODES);
		return NULL;
	}
	if (problems_are_full(reading->problems)) return NULL;
	if (event->type == YAML_SCALAR_EVENT)
		read_scalar(reading, event, node);
	else if (event->type == YAML_ALIAS_EVENT)
		refuse_alias(reading, event, node->place);
	else if (!read_collection(reading, event, node, depth))
		return NULL;
	return STEAL(node);
}

/* stream start, document start, the node, document end, stream end */
static struct node *read_document(struct reading *reading) {
	CLEANUP_NODE struct node *root = NULL;
	for (;;) {
		yaml_event_t event;
		if (!next_event(reading, &event)) return NULL;
		yaml_event_type_t type = event.type;
		struct place place = event_place(&event);
		bool good = true;
		if (type == YAML_DOCUMENT_START_EVENT && root) {
			problems_add(reading->problems, place, "a second document (---), expected one");
			good = false;
		} else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT &&
			   type != YAML_DOCUMENT_END_EVENT && type != YAML_STREAM_END_EVENT) {
			root = read_node(reading, &event, 0);
			good = root != NULL;
		}
		yaml_event_delete(&event);
		if (!good) return NULL;
		if (type == YAML_STREAM_END_EVENT) return STEAL(root);
	}
}

struct node *node_parse(const char *text, size_t size, struct problems *problems) {
	/* A byte order mark would count as a column for libyaml. */
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		size -= 3;
	}
	struct reading reading = {.text = text, .size = size, .problems = problems};
	const char *nul = memchr(text, '\0', size);
	if (size > LIMIT_POLICY) {
		problems_add(problems, (struct place){1, 1}, "a file of %zu bytes, expected at most %d", size,
			     LIMIT_POLICY);
		return NULL;
	}
	if (nul) {
		problems_add(problems, syntax_place(text, size, (size_t)(nul - text)), "a NUL byte, expected text");
		return NULL;
	}
	if (!yaml_parser_initialize(&reading.parser)) mem_exhausted();
	/* Not guessed from the first bytes: a policy is UTF-8. */
	yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text, size);
	struct node *root = read_document(&reading);
	yaml_parser_delete(&reading.parser);
	return root;
}
