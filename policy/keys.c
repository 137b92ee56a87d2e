#include "keys.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b. */
enum { NEAREST_MAX = 32 };

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

static size_t word_distance(const char *a, const char *b) {
	size_t rows[NEAREST_MAX + 1][NEAREST_MAX + 1];
	size_t a_size = strlen(a), b_size = strlen(b);
	if (a_size > NEAREST_MAX || b_size > NEAREST_MAX) return SIZE_MAX;
	for (size_t i = 0; i <= a_size; i++) {
		for (size_t k = 0; k <= b_size; k++) {
			if (i == 0 || k == 0) {
				rows[i][k] = i + k;
				continue;
			}
			size_t same = a[i - 1] == b[k - 1] ? 0 : 1;
			rows[i][k] = least(least(rows[i - 1][k], rows[i][k - 1]) + 1, rows[i - 1][k - 1] + same);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				rows[i][k] = least(rows[i][k], rows[i - 2][k - 2] + 1);
		}
	}
	return rows[a_size][b_size];
}

char *names_nearest(const char *text, const char *const *names, size_t count) {
	const char *nearest = NULL;
	/* A third of the word wrong is a slip; more is another word. */
	size_t best = (strlen(text) + 2) / 3 + 1;
	for (size_t i = 0; i < count; i++) {
		size_t distance = word_distance(text, names[i]);
		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest ? string_format("; did you mean \"%s\"?", nearest) : string_copy("");
}

static const struct key *keys_find(const struct keys *keys, const char *name) {
	for (size_t i = 0; i < keys->count; i++)
		if (strcmp(keys->items[i].name, name) == 0) return &keys->items[i];
	return NULL;
}

static void refuse_unknown(struct reader *reader, const struct keys *keys, const struct node *key) {
	if (problems_are_full(reader->problems)) return;
	CLEANUP_FREE const char **names = mem_array(const char *, keys->count);
	CLEANUP_STRING struct string known = {0};
	for (size_t i = 0; i < keys->count; i++) {
		names[i] = keys->items[i].name;
		string_appendf(&known, "%s%s", i == 0 ? "" : i + 1 == keys->count ? " or " : ", ", names[i]);
	}
	CLEANUP_FREE char *hint = names_nearest(key->text, names, keys->count);
	SHOWN(shown, key->text);
	problems_add(reader->problems, key->place, "unknown key \"%s\" in %s, expected %s%s", shown, keys->what,
		     known.data, hint);
}

static bool key_may_stand(struct reader *reader, const struct key *key, const struct node *place) {
	enum policy_layer layer = reader->document->layer;
	if ((key->not_in & 1U << layer) == 0) return true;
	if ((key->not_in & ONLY_ADMIN) == ONLY_ADMIN)
		problems_add(reader->problems, place->place, "\"%s\" can't be set here, expected it in %s", key->name,
			     key->not_in & ONLY_MAIN_FILE ? "/etc/sbx/sbx.yaml alone"
							  : "an administrator's file in /etc/sbx");
	else
		problems_add(reader->problems, place->place,
			     "\"%s\" can't be set by a project's file, expected it in the user's policy.yaml",
			     key->name);
	return false;
}

void keys_read(struct reader *reader, const struct keys *keys, const struct node *map) {
	CLEANUP_FREE char *what = string_format("%s: a map of keys", keys->what);
	if (!reader_is(reader, map, NODE_MAP, what)) return;
	for (size_t i = 0; i < map->count; i++)
		if (!keys_find(keys, map->keys[i]->text)) refuse_unknown(reader, keys, map->keys[i]);
	for (size_t k = 0; k < keys->count; k++) {
		const struct key *key = &keys->items[k];
		bool found = false;
		for (size_t i = 0; i < map->count; i++) {
			if (strcmp(map->keys[i]->text, key->name) != 0) continue;
			found = true;
			if (key_may_stand(reader, key, map->keys[i])) key->read(reader, map->items[i]);
		}
		if (!found && key->required && !map->torn)
			problems_add(reader->problems, map->place, "no \"%s\" in %s", key->name, keys->what);
	}
}

static const char *const kind_names[] = {
	[NODE_TEXT] = "a text",
	[NODE_NULL] = "nothing",
	[NODE_BOOL] = "a truth value",
	[NODE_NUMBER] = "a number",
	[NODE_LIST] = "a list",
	[NODE_MAP] = "a map",
	[NODE_BAD] = "",
};

static void refuse_kind(struct reader *reader, const struct node *node, const char *what) {
	if (node->kind == NODE_BAD) return;
	if (!node->text || *node->text == '\0') {
		problems_add(reader->problems, node->place, "%s, expected %s", kind_names[node->kind], what);
		return;
	}
	SHOWN(shown, node->text);
	if (node->kind == NODE_TEXT)
		problems_add(reader->problems, node->place, "\"%s\", expected %s", shown, what);
	else
		problems_add(reader->problems, node->place, "%s is %s to YAML, expected %s", shown,
			     kind_names[node->kind], what);
}

bool reader_is(struct reader *reader, const struct node *node, enum node_kind kind, const char *what) {
	if (node->kind == kind) return true;
	refuse_kind(reader, node, what);
	return false;
}

const char *reader_text(struct reader *reader, const struct node *node, const char *what) {
	if (node->kind == NODE_TEXT && *node->text != '\0') return node->text;
	if (node->text && *node->text != '\0' && node->kind != NODE_TEXT) {
		SHOWN(shown, node->text);
		CLEANUP_FREE char *quoted =
			string_format("%s; put quotes around it if you mean the text: \"%s\"", what, shown);
		refuse_kind(reader, node, quoted);
	} else if (node->kind == NODE_TEXT) {
		problems_add(reader->problems, node->place, "an empty text, expected %s", what);
	} else {
		refuse_kind(reader, node, what);
	}
	return NULL;
}

bool reader_fits(struct reader *reader, const struct node *node, size_t max) {
	if (node->count <= max) return true;
	problems_add(reader->problems, node->place, "%zu entries, expected at most %zu", node->count, max);
	return false;
}

bool reader_bool(struct reader *reader, const struct node *node, bool *ret_value) {
	if (!reader_is(reader, node, NODE_BOOL, "true or false")) return false;
	*ret_value = strchr("tToOyY", node->text[0]) && !strchr("fF", node->text[1]);
	return true;
}

bool reader_count(struct reader *reader, const struct node *node, int64_t *ret_value) {
	unsigned long long value = 0;
	static const char what[] = "a whole number from 1 to 1000000000";
	if (!reader_is(reader, node, NODE_NUMBER, what)) return false;
	bool octal = node->text[0] == '0'; /* YAML 1.1 reads 010 as eight */
	if (octal || string_to_u64(node->text, &value) < 0 || value < 1 || value > 1000000000) {
		SHOWN(shown, node->text);
		problems_add(reader->problems, node->place, "%s, expected %s", shown, what);
		return false;
	}
	*ret_value = (int64_t)value;
	return true;
}

bool reader_duration(struct reader *reader, const struct node *node, int64_t *ret_ms) {
	static const char what[] = "a duration of at most ten years such as 90s, 15m, 1h or 7d";
	if (!reader_is(reader, node, NODE_TEXT, what)) return false;
	if (duration_parse(node->text, ret_ms, NULL) == 0) return true;
	SHOWN(shown, node->text);
	problems_add(reader->problems, node->place, "\"%s\", expected %s", shown, what);
	return false;
}
