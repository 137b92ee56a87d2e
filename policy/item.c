#include "item.h"

#include <string.h>

#include "base/text.h"
#include "schema/limits.h"
#include "schema/pattern.h"

/* What patterns are tried against when a file is read: the subject isn't known yet. */
static const struct pattern_scope stand_in = {.home = "/home/user", .project = "/home/user/project", .uid = 1000};

/* Can a key be said of this effect and permission? */
static bool flag_may_stand(struct reader *reader, const struct node *value, const char *name, bool fits,
			   const char *where) {
	if (!fits) {
		problems_add(reader->problems, value->place, "\"%s\" has no meaning here, expected it %s", name, where);
	} else if (reader->document->layer == POLICY_LAYER_PROJECT && strcmp(name, "confirm") != 0) {
		problems_add(reader->problems, value->place,
			     "\"%s\" can't be set by a project's file, expected it in the user's policy.yaml", name);
		return false;
	}
	return fits;
}

static struct rule_text *item_rule(struct reader *reader) {
	return &reader->profile->rules[reader->profile->rule_count - 1];
}

static void read_target(struct reader *reader, const struct node *value) {
	(void)reader; /* read before the rule was made */
	(void)value;
}

static void read_confirm(struct reader *reader, const struct node *value) {
	if (!flag_may_stand(reader, value, "confirm", reader->effect == EFFECT_ASK, "under ask")) return;
	const char *text = reader_text(reader, value, "terminal");
	if (!text) return;
	SHOWN(shown, text);
	if (strcmp(text, "terminal") != 0)
		problems_add(reader->problems, value->place, "\"%s\", expected terminal", shown);
	item_rule(reader)->confirm_terminal = true;
}

static void read_private(struct reader *reader, const struct node *value) {
	bool fits = reader->permission.kind == PERMISSION_NET_ACCESS && reader->effect != EFFECT_DENY;
	if (flag_may_stand(reader, value, "private", fits, "with net:access under allow or ask"))
		reader_bool(reader, value, &item_rule(reader)->private_allowed);
}

static void read_direct(struct reader *reader, const struct node *value) {
	bool fits = reader->permission.kind == PERMISSION_NET_ACCESS && reader->effect == EFFECT_ALLOW;
	if (flag_may_stand(reader, value, "direct", fits, "with net:access under allow"))
		reader_bool(reader, value, &item_rule(reader)->direct);
}

static void read_per_project(struct reader *reader, const struct node *value) {
	bool fits = reader->permission.kind == PERMISSION_FS_WRITE && reader->effect == EFFECT_ALLOW;
	if (flag_may_stand(reader, value, "per-project", fits, "with fs:write under allow"))
		reader_bool(reader, value, &item_rule(reader)->per_project);
}

static void read_words(struct reader *reader, const struct node *value, char **words, const char *what) {
	const char *text = reader_text(reader, value, what);
	if (!text) return;
	if (strlen(text) > LIMIT_NOTE)
		problems_add(reader->problems, value->place, "a text of more than %d bytes, expected %s", LIMIT_NOTE,
			     what);
	else
		*words = string_copy(text);
}

static void read_note(struct reader *reader, const struct node *value) {
	read_words(reader, value, &item_rule(reader)->note, "a short text such as \"read by direnv\"");
}

static void read_source(struct reader *reader, const struct node *value) {
	read_words(reader, value, &item_rule(reader)->source, "where to look it up, such as direnv(1)");
}

static const struct key item_items[] = {
	{"target", read_target, 0, true},
	{"confirm", read_confirm, 0, false},
	{"private", read_private, 0, false},
	{"direct", read_direct, 0, false},
	{"per-project", read_per_project, 0, false},
	{"note", read_note, 0, false},
	{"source", read_source, 0, false},
};
const struct keys item_keys = {"an item", item_items, ARRAY_LENGTH(item_items)};

/* A port may be written as the number it is. */
static const char *target_text(struct reader *reader, const struct node *node) {
	if (node->kind == NODE_NUMBER && reader->permission.kind == PERMISSION_NET_LISTEN) return node->text;
	return reader_text(reader, node,
			   node->kind == NODE_LIST
				   ? "a target (an address in brackets needs quotes: \"[2001:db8::1]:443\")"
				   : "a target");
}

static void read_item(struct reader *reader, const struct node *node) {
	const struct node *target = node->kind == NODE_MAP ? node_find(node, "target") : node;
	const char *text = target ? target_text(reader, target) : "";
	if (!text) return;
	struct profile *profile = reader->profile;
	profile->rules = array_grow(profile->rules, profile->rule_count, sizeof *profile->rules);
	profile->rules[profile->rule_count++] = (struct rule_text){.permission = reader->permission,
								   .effect = reader->effect,
								   .text = string_copy(text),
								   .place = node->place};
	if (target) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		struct error error = ERROR_NONE;
		if (pattern_compile(&reader->permission, text, &stand_in, &pattern, &error) < 0)
			problems_add(reader->problems, target->place, "%s", error.message);
	}
	if (node->kind == NODE_MAP) keys_read(reader, &item_keys, node);
}

static void refuse_permission(struct reader *reader, const struct node *key) {
	if (problems_are_full(reader->problems)) return;
	const struct pairs *own = &reader->document->permissions;
	size_t count = PERMISSION_CUSTOM + own->count;
	CLEANUP_FREE const char **names = mem_array(const char *, count);
	for (size_t i = 0; i < PERMISSION_CUSTOM; i++)
		names[i] = permission_traits(&(struct permission){.kind = (enum permission_kind)i})->name;
	for (size_t i = 0; i < own->count; i++) names[PERMISSION_CUSTOM + i] = own->items[i].name;
	CLEANUP_FREE char *hint = names_nearest(key->text, names, count), *expected = permission_names();
	SHOWN(shown, key->text);
	problems_add(reader->problems, key->place,
		     "unknown permission \"%s\", expected %s or one that this file declares under permissions%s", shown,
		     expected, hint);
}

static bool read_permission(struct reader *reader, const struct node *key) {
	struct permission *permission = &reader->permission;
	bool good =
		permission_parse(key->text, permission, NULL) == 0 &&
		(permission->kind != PERMISSION_CUSTOM || pairs_find(&reader->document->permissions, permission->name));
	if (!good) refuse_permission(reader, key);
	return good;
}

static bool too_many(struct reader *reader, const struct node *node) {
	size_t count = 0;
	for (size_t i = 0; i < reader->document->profile_count; i++) count += reader->document->profiles[i].rule_count;
	if (count + node->count <= LIMIT_RULES) return false;
	problems_add(reader->problems, node->place, "more than %d rules in one file", LIMIT_RULES);
	return true;
}

void rules_read(struct reader *reader, enum effect effect, const struct node *map) {
	reader->effect = effect;
	if (!reader_is(reader, map, NODE_MAP, "a map of permissions such as {fs:read: [~/notes]}")) return;
	for (size_t i = 0; i < map->count; i++) {
		const struct node *list = map->items[i];
		if (!read_permission(reader, map->keys[i]) ||
		    !reader_is(reader, list, NODE_LIST, "a list of targets such as [~/notes]") ||
		    too_many(reader, list))
			continue;
		for (size_t k = 0; k < list->count; k++) read_item(reader, list->items[k]);
	}
}
