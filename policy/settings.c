/* The file's top level: settings that belong to no profile. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "item.h"
#include "keys.h"
#include "schema/limits.h"
#include "schema/upstream.h"
#include "stack_line.h"

static void read_version(struct reader *reader, const struct node *value) {
	static const char what[] = "1 (is the file from a newer sbx?)";
	if (!reader_is(reader, value, NODE_NUMBER, what) || strcmp(value->text, "1") == 0) return;
	SHOWN(shown, value->text);
	problems_add(reader->problems, value->place, "version %s, expected %s", shown, what);
}

/* Permissions of the user's own: what to call them when they are shown. */
static void read_permissions(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_MAP, "a map of permission names with a description each") ||
	    !reader_fits(reader, value, LIMIT_ENVIRONMENT))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const struct node *key = value->keys[i];
		struct permission permission;
		SHOWN(shown, key->text);
		int r = string_starts(key->text, "sbx:") ? -EINVAL : permission_parse(key->text, &permission, NULL);
		if (r < 0)
			problems_add(reader->problems, key->place,
				     "\"%s\" can't be a permission's name, expected two words such as db:access, the "
				     "first none of fs, net, proc, ipc, env and sbx",
				     shown);
		else if (permission.kind != PERMISSION_CUSTOM)
			problems_add(reader->problems, key->place,
				     "%s is built in, expected a name of your own such as db:access", shown);
		const char *text = reader_text(reader, value->items[i], "a description such as \"use the database\"");
		if (text && r == 0) pairs_add(&reader->document->permissions, permission.name, text);
	}
}

static void read_timeout(struct reader *reader, const struct node *value) {
	reader_duration(reader, value, &reader->document->prompt_timeout_ms);
}

static void read_lifetime(struct reader *reader, const struct node *value) {
	reader_duration(reader, value, &reader->document->prompt_lifetime_ms);
}

static void read_without_agent(struct reader *reader, const struct node *value) {
	const char *text = reader_text(reader, value, "deny or wait");
	if (!text) return;
	if (strcmp(text, "deny") == 0 || strcmp(text, "wait") == 0) {
		reader->document->wait_without_agent = strcmp(text, "wait") == 0;
		return;
	}
	SHOWN(shown, text);
	problems_add(reader->problems, value->place, "\"%s\", expected deny or wait", shown);
}

static const struct key prompt_items[] = {
	{"timeout", read_timeout, 0, false},
	{"lifetime", read_lifetime, 0, false},
	{"without-agent", read_without_agent, 0, false},
};
const struct keys prompt_keys = {"prompt", prompt_items, ARRAY_LENGTH(prompt_items)};

static void read_prompt(struct reader *reader, const struct node *value) {
	keys_read(reader, &prompt_keys, value);
}

static void read_keep(struct reader *reader, const struct node *value) {
	reader_duration(reader, value, &reader->document->history_keep_ms);
}

static const struct key history_items[] = {{"keep", read_keep, 0, false}};
const struct keys history_keys = {"history", history_items, ARRAY_LENGTH(history_items)};

static void read_history(struct reader *reader, const struct node *value) {
	keys_read(reader, &history_keys, value);
}

/* "22:00-07:00" */
static bool is_span(const char *text) {
	static const char form[] = "00:00-00:00";
	if (strlen(text) != sizeof form - 1) return false;
	for (size_t i = 0; i < sizeof form - 1; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
	for (size_t i = 0; i < 2; i++) {
		const char *time = text + 6 * i;
		int hour = (time[0] - '0') * 10 + time[1] - '0';
		if (hour > 23 || time[3] > '5') return false;
	}
	return true;
}

/* Hours in which no prompt pops up. */
static void read_quiet(struct reader *reader, const struct node *value) {
	static const char what[] = "hours such as \"22:00-07:00\"";
	if (!reader_is(reader, value, NODE_LIST, "a list of hours such as [\"22:00-07:00\"]")) return;
	for (size_t i = 0; i < value->count; i++) {
		const char *text = reader_text(reader, value->items[i], what);
		if (!text) continue;
		bool span = is_span(text), empty = span && memcmp(text, text + 6, 5) == 0;
		SHOWN(shown, text);
		if (empty) {
			problems_add(reader->problems, value->items[i]->place,
				     "\"%s\" begins when it ends, expected two times of the day; for all of it "
				     "[\"00:00-12:00\", \"12:00-00:00\"]",
				     shown);
			continue;
		}
		if (span) {
			strings_add(&reader->document->quiet, text);
			continue;
		}
		problems_add(reader->problems, value->items[i]->place, "\"%s\", expected %s", shown, what);
	}
}

void reader_upstream(struct reader *reader, const struct node *value, char **upstream) {
	static const char what[] = "a proxy such as http://proxy.corp.example:3128, or none";
	CLEANUP_UPSTREAM struct upstream parsed = {0};
	struct error error = ERROR_NONE;
	const char *text = reader_text(reader, value, what);
	if (!text) return;
	if (strcmp(text, UPSTREAM_NONE) != 0 && upstream_parse(text, &parsed, &error) < 0) {
		/* Not shown: it may hold a password. */
		problems_add(reader->problems, value->place, "%s, expected %s", error.message, what);
		return;
	}
	free(*upstream);
	*upstream = string_copy(text);
}

static void read_upstream(struct reader *reader, const struct node *value) {
	reader_upstream(reader, value, &reader->document->upstream);
}

static void read_profiles(struct reader *reader, const struct node *value);
static void read_deny(struct reader *reader, const struct node *value);

static const struct key document_items[] = {
	{"version", read_version, 0, true},
	{"permissions", read_permissions, 0, false},
	{"prompt", read_prompt, NOT_PROJECT, false},
	{"history", read_history, NOT_PROJECT, false},
	{"quiet", read_quiet, NOT_PROJECT, false},
	{"upstream", read_upstream, NOT_PROJECT, false},
	{"stack", stack_lines_read, ONLY_ADMIN | ONLY_MAIN_FILE, false},
	{"profiles", read_profiles, 0, false},
	{"deny", read_deny, ONLY_ADMIN, false},
};
const struct keys document_keys = {"a policy", document_items, ARRAY_LENGTH(document_items)};

bool policy_is_profile_name(const char *name) {
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t size = strlen(name);
	return size > 0 && size <= 64 && strspn(name, characters) == size && !strchr("._-", name[0]);
}

static void read_profiles(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_MAP, "a map of profiles") || !reader_fits(reader, value, LIMIT_PROFILES))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const struct node *key = value->keys[i];
		if (!policy_is_profile_name(key->text)) {
			SHOWN(shown, key->text);
			problems_add(
				reader->problems, key->place,
				"\"%s\" can't be a profile's name, expected letters, digits and . _ - , at most 64",
				shown);
			continue;
		}
		reader->profile = document_add_profile(reader->document, key->text, reader->problems->file, key->place);
		keys_read(reader, &profile_keys, value->items[i]);
	}
}

/* What an administrator denies at the top is as if it stood in base: it holds for every run (ruleset.c). */
static void read_deny(struct reader *reader, const struct node *value) {
	struct policy_document *document = reader->document;
	reader->profile = NULL;
	for (size_t i = 0; i < document->profile_count; i++)
		if (strcmp(document->profiles[i].name, POLICY_BASE) == 0) reader->profile = &document->profiles[i];
	if (!reader->profile)
		reader->profile = document_add_profile(document, POLICY_BASE, reader->problems->file, value->place);
	rules_read(reader, EFFECT_DENY, value);
}
