/*
 * keys: the words of the policy file as tables, one a map (design section 5; schema/policy.schema.json says the same
 * for editors, and a test holds the two together).
 *
 * Promises: a key that isn't in the map's table is a problem that names the nearest one; a key in a file whose layer
 * may not say it is a problem that says where it belongs.
 */
#pragma once

#include "document.h"
#include "yaml/node.h"

struct stack_exec;

struct reader {
	struct policy_document *document;
	struct problems *problems;
	struct profile *profile;      /* the one being read */
	enum effect effect;           /* of the rules being read */
	struct permission permission; /* likewise */
	struct stack_exec *exec;      /* the line being read */
};

struct key {
	const char *name;
	void (*read)(struct reader *reader, const struct node *value);
	unsigned not_in; /* bits (1 << layer) of the layers that may not say it */
	bool required;
};

struct keys {
	const char *what; /* "a profile" */
	const struct key *items;
	size_t count;
};

enum {
	NOT_PROJECT = 1 << POLICY_LAYER_PROJECT,
	ONLY_ADMIN = 1 << POLICY_LAYER_USER | 1 << POLICY_LAYER_PROJECT | 1 << POLICY_LAYER_BUILTIN,
	ONLY_MAIN_FILE = 1 << POLICY_LAYER_COUNT, /* with ONLY_ADMIN: source.c sees to it */
};

/* Every key once, in the order of the table, so that what others refer to is read first. */
void keys_read(struct reader *reader, const struct keys *keys, const struct node *map);

extern const struct keys document_keys, prompt_keys, history_keys; /* settings.c */
extern const struct keys profile_keys, limits_keys;                /* profile.c */
extern const struct keys item_keys;                                /* item.c */
extern const struct keys exec_keys;                                /* stack_line.c */

/* Each returns NULL or false after adding a problem: "…, expected WHAT". */
const char *reader_text(struct reader *reader, const struct node *node, const char *what);
bool reader_is(struct reader *reader, const struct node *node, enum node_kind kind, const char *what);
bool reader_fits(struct reader *reader, const struct node *node, size_t max); /* what is searched one by one */
bool reader_bool(struct reader *reader, const struct node *node, bool *ret_value);
bool reader_count(struct reader *reader, const struct node *node, int64_t *ret_value);
/* Puts what the node says in the place of *upstream. */
void reader_upstream(struct reader *reader, const struct node *node, char **upstream); /* settings.c */
bool reader_duration(struct reader *reader, const struct node *node, int64_t *ret_ms);

/* Which of the names is most like the text: "; did you mean \"allow\"?" or "". Freed by the caller. */
char *names_nearest(const char *text, const char *const *names, size_t count);
