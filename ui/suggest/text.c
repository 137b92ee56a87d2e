#include "suggest/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "ui/human.h"
#include "ui/yaml_text.h"

enum { PLACE_COLUMNS = 60, PLACES_SHOWN = 3, NOTE_COLUMNS = 120 };

/* Comments: why */

static void append_count(struct string *out, const char *what, int64_t count) {
	string_appendf(out, "%s %lld time%s", what, (long long)count, count == 1 ? "" : "s");
}

static void append_place(struct string *out, const char *project) {
	CLEANUP_FREE char *place = human_path(project);
	CLEANUP_FREE char *shown = text_visible_cut(place, PLACE_COLUMNS);
	string_append(out, shown);
}

static void append_places(struct string *out, const struct suggestion *suggestion) {
	string_append(out, "in ");
	append_place(out, suggestion->project);
	for (size_t i = 0; i < suggestion->elsewhere.count && i + 1 < PLACES_SHOWN; i++) {
		string_append(out, ", ");
		append_place(out, suggestion->elsewhere.items[i]);
	}
	if (suggestion->elsewhere.count >= PLACES_SHOWN)
		string_appendf(out, " and %zu more projects", suggestion->elsewhere.count + 1 - PLACES_SHOWN);
}

static char *lifetime_words(const struct suggestion *suggestion) {
	switch (suggestion->lifetime) {
	case LIFETIME_ONCE:
		return string_copy(" once");
	case LIFETIME_SESSION:
		return string_copy(" for the session");
	case LIFETIME_ALWAYS:
		return string_copy(" always");
	case LIFETIME_UNTIL:
		break;
	}
	CLEANUP_FREE char *duration = human_duration(suggestion->ttl_ms);
	return string_format(" for %s", duration);
}

/* "in ~/app: asked 3 times, allowed always, last 2026-11-21 14:03:05; used 7 times" */
static char *why_suggested(const struct suggestion *suggestion) {
	CLEANUP_STRING struct string out = {0};
	if (suggestion->basis == SUGGESTION_KEPT) {
		CLEANUP_FREE char *rule = text_visible_cut(suggestion->rule ? suggestion->rule : "", PLACE_COLUMNS);
		string_appendf(&out, "%s denies it; a rule above that allows more would lift it", rule);
		return string_steal(&out);
	}
	append_places(&out, suggestion);
	string_append(&out, ": ");
	if (suggestion->asked > 0) append_count(&out, "asked", suggestion->asked);
	if (suggestion->basis == SUGGESTION_ANSWERED) {
		CLEANUP_FREE char *lifetime = lifetime_words(suggestion);
		string_appendf(&out, "%s%s%s", suggestion->asked > 0 ? ", " : "",
			       suggestion->effect == EFFECT_ALLOW ? "allowed" : "denied", lifetime);
	}
	CLEANUP_FREE char *time = human_time(suggestion->last_ms);
	string_appendf(&out, ", last %s", time);
	if (suggestion->used > 0) append_count(&out, "; used", suggestion->used);
	return string_steal(&out);
}

/* The file */

struct writing {
	struct string *out;
	const struct suggestion *before; /* the last rule that was written */
};

/* A name that no reader of YAML takes for anything else, else quoted. */
static void append_key(struct string *out, const char *name) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char *const words[] = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"};
	size_t size = strspn(name, letters);
	bool plain = size > 0 &&
		     name[size + strspn(name + size, "0123456789-_abcdefghijklmnopqrstuvwxyz"
						     "ABCDEFGHIJKLMNOPQRSTUVWXYZ:")] == '\0' &&
		     name[strlen(name) - 1] != ':';
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) plain = plain && strcasecmp(words[i], name) != 0;
	if (plain)
		string_append(out, name);
	else
		yaml_append_quoted(out, name); /* a name in use has passed the policy's own check */
}

static void append_heads(struct writing *writing, const struct suggestion *suggestion) {
	const struct suggestion *before = writing->before;
	bool profile = !before || !string_equal(before->profile, suggestion->profile);
	bool effect = profile || before->effect != suggestion->effect;
	bool permission = effect || !permission_equal(&before->permission, &suggestion->permission);
	if (!before) string_append(writing->out, "profiles:\n");
	if (profile) {
		string_append(writing->out, "  ");
		append_key(writing->out, suggestion->profile);
		string_append(writing->out, ":\n");
	}
	if (effect) string_appendf(writing->out, "    %s:\n", effect_name(suggestion->effect));
	if (permission) string_appendf(writing->out, "      %s:\n", suggestion->permission.name);
	if (suggestion->basis == SUGGESTION_RECORDED && (permission || before->basis != SUGGESTION_RECORDED))
		string_append(writing->out,
			      "        # NOT ALLOWED YET: --record denied what follows. Look at each before "
			      "you paste it.\n");
}

static void append_rule(struct writing *writing, const struct suggestion *suggestion) {
	CLEANUP_FREE char *why = why_suggested(suggestion);
	append_heads(writing, suggestion);
	string_append(writing->out, "        - ");
	if (suggestion->private_allowed) string_append(writing->out, "{target: ");
	yaml_append_quoted(writing->out, suggestion->text);
	if (suggestion->private_allowed) string_append(writing->out, ", private: true}");
	string_appendf(writing->out, " # %s\n", why);
	writing->before = suggestion;
}

/* "# default, fs:read "~/x": in ~/app: asked 1 time, …: allowed for one call only" */
static void append_note(struct string *out, const struct suggestion *suggestion) {
	CLEANUP_FREE char *why = why_suggested(suggestion);
	const char *text = suggestion->text ? suggestion->text : suggestion->pattern;
	CLEANUP_FREE char *profile = text_visible_cut(suggestion->profile, PLACE_COLUMNS);
	CLEANUP_FREE char *shown = text_visible_cut(text, NOTE_COLUMNS);
	const bool is_short = strlen(text) <= NOTE_COLUMNS;
	string_appendf(out, "#   %s: %s ", profile, suggestion->permission.name);
	/* Of what is cut nothing can be pasted, and in quotes it can't be taken for words of this line. */
	if (!is_short || !yaml_append_quoted(out, text)) yaml_append_quoted(out, shown);
	string_appendf(out, " (%s): %s\n", why, suggestion->left_out);
}

static size_t append_notes(struct string *out, const struct suggestion *items, size_t count) {
	size_t notes = 0;
	for (size_t i = 0; i < count; i++) {
		if (!items[i].left_out || items[i].decided || items[i].covered) continue;
		if (notes++ == 0) string_append(out, "\n# Not suggested:\n");
		if (notes <= LIMIT_SUGGESTIONS) append_note(out, &items[i]);
	}
	return notes > LIMIT_SUGGESTIONS ? notes - LIMIT_SUGGESTIONS : 0;
}

static const char *description_of(const struct suggest_words *words, const char *permission) {
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)words->permissions, index, item) {
		const char *name = json_string_value(json_object_get(item, "name"));
		if (string_equal(name, permission)) return json_string_value(json_object_get(item, "description"));
	}
	return NULL;
}

/* A file declares the permissions of the user's own that its rules are about. */
static void append_permissions(struct string *out, const struct suggest_words *words, const struct suggestion *items,
			       size_t count) {
	CLEANUP_STRINGS struct strings names = {0};
	for (size_t i = 0; i < count; i++)
		if (suggestion_is_rule(&items[i]) && items[i].permission.kind == PERMISSION_CUSTOM &&
		    !strings_contain(&names, items[i].permission.name))
			strings_add(&names, items[i].permission.name);
	if (names.count > 0) string_append(out, "permissions: # leave out what your file declares already\n");
	for (size_t i = 0; i < names.count; i++) {
		const char *description = description_of(words, names.items[i]);
		string_appendf(out, "  %s: ", names.items[i]);
		if (!description || !yaml_append_quoted(out, description)) yaml_append_quoted(out, names.items[i]);
		string_append_char(out, '\n');
	}
}

static void append_head(struct string *out, const char *about) {
	string_appendf(
		out,
		"# What was asked in %s, as rules for ~/.config/sbx/policy.yaml.\n"
		"# Read each before you paste it: a rule has no end and holds for its profile in every project.\n"
		"# Where you have no such file yet this is one; else put the items under the same keys of yours.\n"
		"# 'sbx policy check' then finds what is wrong with it.\n"
		"version: 1\n",
		about);
}

void suggest_text(struct suggest *suggest, const struct suggest_words *words, struct string *out) {
	struct writing writing = {.out = out};
	size_t count, rules = 0, decided = 0;
	const struct suggestion *items = suggest_items(suggest, &count);
	for (size_t i = 0; i < count; i++) {
		rules += suggestion_is_rule(&items[i]);
		decided += items[i].decided;
	}
	if (rules > 0) {
		append_head(out, words->about);
		append_permissions(out, words, items, count);
	} else {
		string_appendf(out, "# Nothing was asked in %s that a rule should answer.\n", words->about);
	}
	for (size_t i = 0; i < count; i++)
		if (suggestion_is_rule(&items[i])) append_rule(&writing, &items[i]);
	size_t left = append_notes(out, items, count) + suggest_left(suggest);
	if (decided > 0)
		string_appendf(out, "# %zu more %s decided by a rule by now.\n", decided, decided == 1 ? "is" : "are");
	if (left > 0) string_appendf(out, "# And %zu more; --session, --profile and --project choose.\n", left);
}

/* JSON */

static const char *const basis_names[SUGGESTION_BASIS_COUNT] = {[SUGGESTION_ANSWERED] = "answered",
								[SUGGESTION_RECORDED] = "recorded",
								[SUGGESTION_OPEN] = "open",
								[SUGGESTION_KEPT] = "kept"};

static json_t *to_json(const struct suggestion *suggestion) {
	char stamp[CLOCK_STAMP_SIZE];
	json_t *json = json_object(), *projects = json_array();
	json_array_append_new(projects, message_bytes(suggestion->project));
	for (size_t i = 0; i < suggestion->elsewhere.count; i++)
		json_array_append_new(projects, message_bytes(suggestion->elsewhere.items[i]));
	stamp_format(suggestion->last_ms, stamp);
	bool said = suggestion->basis == SUGGESTION_ANSWERED, kept = suggestion->basis == SUGGESTION_KEPT;
	json_object_set_new(json, "profile", message_bytes(suggestion->profile));
	json_object_set_new(json, "projects", projects);
	json_object_set_new(json, "permission", json_string(suggestion->permission.name));
	json_object_set_new(json, "target", message_bytes(suggestion->text ? suggestion->text : suggestion->pattern));
	json_object_set_new(json, "effect", json_string(effect_name(suggestion->effect)));
	json_object_set_new(json, "private", json_boolean(suggestion->private_allowed));
	json_object_set_new(json, "basis", json_string(basis_names[suggestion->basis]));
	json_object_set_new(json, "asked", json_integer(suggestion->asked));
	json_object_set_new(json, "used", json_integer(suggestion->used));
	json_object_set_new(json, "lifetime", said ? json_string(lifetime_name(suggestion->lifetime)) : json_null());
	json_object_set_new(json, "last", kept ? json_null() : json_string(stamp));
	json_object_set_new(json, "rule", message_bytes(suggestion->rule));
	json_object_set_new(json, "left_out", message_bytes(suggestion->left_out));
	return json;
}

json_t *suggest_json(struct suggest *suggest) {
	size_t count, notes = 0;
	const struct suggestion *items = suggest_items(suggest, &count);
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		if (items[i].decided || items[i].covered) continue;
		if (items[i].left_out && notes++ >= LIMIT_SUGGESTIONS) continue;
		json_array_append_new(list, to_json(&items[i]));
	}
	return list;
}
