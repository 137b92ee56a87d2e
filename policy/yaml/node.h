/*
 * node: YAML text → a small tree with the place of every node. The only file that hostile YAML bytes pass through
 * (libyaml's events; attack B17).
 *
 * Promises: bounded by LIMIT_POLICY, _DEPTH, _NODES and _SCALAR before memory is used for it. Anchors, aliases, merge
 * keys, tags, duplicate keys, keys that are no text and second documents are problems. Faults that leave the tree's
 * shape intact are collected and the reading goes on; a syntax error ends it. Knows nothing of the policy's words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "problems.h"

enum node_kind {
	NODE_TEXT,
	NODE_NULL,   /* unquoted: nothing, ~, null */
	NODE_BOOL,   /* unquoted: true false yes no on off */
	NODE_NUMBER, /* unquoted: what YAML takes for a number or a date */
	NODE_LIST,
	NODE_MAP,
	NODE_BAD, /* its problem is recorded: say nothing more about it */
};

struct node {
	enum node_kind kind;
	struct place place;
	char *text;          /* of a scalar, as written, without its quotes */
	struct node **keys;  /* of a map, each a NODE_TEXT */
	struct node **items; /* of a list, or the values of a map */
	size_t count;
	bool torn; /* a map of which a pair with a bad key was left out */
};

/* NULL when the text is no YAML or past a limit; problems may have been added otherwise too. */
struct node *node_parse(const char *text, size_t size, struct problems *problems);
void node_free(struct node *node);

/* The value behind a key of a map, or NULL. */
const struct node *node_find(const struct node *map, const char *key);

DEFINE_CLEANUP(struct node *, node_free);
#define CLEANUP_NODE CLEANUP(node_free_p)
