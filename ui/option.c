#include "ui/option.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "ui/nearest.h"

static void *option_place(const struct option_info *option, const void *values) {
	return (char *)values + option->offset;
}

static int store_flag(const char *name, const char *text, void *place, struct error *error) {
	(void)name, (void)text, (void)error;
	*(bool *)place = true;
	return 0;
}

static int store_text(const char *name, const char *text, void *place, struct error *error) {
	if (*text == '\0') return error_set(error, EINVAL, "--%s: the value is empty", name);
	*(const char **)place = text;
	return 0;
}

static int store_list(const char *name, const char *text, void *place, struct error *error) {
	if (*text == '\0') return error_set(error, EINVAL, "--%s: the value is empty", name);
	strings_add(place, text);
	return 0;
}

static int store_duration(const char *name, const char *text, void *place, struct error *error) {
	int r = duration_parse(text, place, error);
	return r < 0 ? error_prefix(error, "--%s", name) : 0;
}

/* Without a Z it is the zone that the tables show. */
static bool local_time_parse(const char *text, int64_t *ret_wall_ms) {
	static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
					    "%Y-%m-%d %H:%M:%S"};
	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
		struct tm said = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &said);
		if (!end || *end != '\0') continue;
		struct tm local = said;
		time_t seconds = mktime(&local);
		if (seconds < 0 || local.tm_mday != said.tm_mday) return false; /* 31st of February */
		*ret_wall_ms = (int64_t)seconds * 1000;
		return true;
	}
	return false;
}

static int time_parse(const char *text, int64_t *ret_wall_ms, struct error *error) {
	int64_t ago;
	if (duration_parse(text, &ago, NULL) == 0) {
		struct moment now;
		clock_read(clock_system(), &now);
		*ret_wall_ms = now.wall_ms - ago;
		return 0;
	}
	if (stamp_parse(text, ret_wall_ms, NULL) == 0) return 0;
	if (local_time_parse(text, ret_wall_ms)) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(text, 40);
	return error_set(error, EINVAL,
			 "'%s' is no time; expected a duration ago such as 90s, 15m, 1h or 7d, or a time such as "
			 "2026-01-31, 2026-01-31T12:00 or, in UTC, 2026-01-31T12:00:00Z",
			 shown);
}

static int store_time(const char *name, const char *text, void *place, struct error *error) {
	int64_t wall_ms = 0;
	int r = time_parse(text, &wall_ms, error);
	if (r == 0 && wall_ms < 1) r = error_set(error, EINVAL, "a time before 1970 is before anything was recorded");
	if (r < 0) return error_prefix(error, "--%s", name);
	*(int64_t *)place = wall_ms;
	return 0;
}

int id_parse(const char *text, const char *what, int64_t *ret_id, struct error *error) {
	unsigned long long id;
	if (string_to_u64(text[0] == '#' ? text + 1 : text, &id) < 0 || id < 1 || id > INT64_MAX) {
		CLEANUP_FREE char *shown = text_visible_cut(text, 40);
		return error_set(error, EINVAL, "'%s' is no id of a %s; expected a number such as 7", shown, what);
	}
	*ret_id = (int64_t)id;
	return 0;
}

int operands_ids(const struct strings *operands, const char *what, json_t *ids, struct error *error) {
	for (size_t i = 0; i < operands->count; i++) {
		int64_t id = 0;
		int r = id_parse(operands->items[i], what, &id, error);
		if (r < 0) return r;
		json_array_append_new(ids, json_integer(id));
	}
	return 0;
}

static int store_number(const char *name, const char *text, void *place, struct error *error) {
	int r = id_parse(text, name, place, error);
	return r < 0 ? error_prefix(error, "--%s", name) : 0;
}

static int store_permission(const char *name, const char *text, void *place, struct error *error) {
	struct permission permission;
	const char *target;
	int r = permission_split(text, &permission, &target, error);
	if (r == 0 && *target == '\0') r = error_set(error, EINVAL, "the target of %s is empty", permission.name);
	if (r < 0) return error_prefix(error, "--%s", name);
	strings_add(place, text);
	return 0;
}

/* What each kind of option does with its value. */
static const struct {
	int (*store)(const char *name, const char *text, void *place, struct error *error);
	size_t size;
	bool takes_value, repeats;
} kinds[] = {
	[OPTION_FLAG] = {store_flag, sizeof(bool), false, true},
	[OPTION_TEXT] = {store_text, sizeof(const char *), true, false},
	[OPTION_LIST] = {store_list, sizeof(struct strings), true, true},
	[OPTION_DURATION] = {store_duration, sizeof(int64_t), true, false},
	[OPTION_TIME] = {store_time, sizeof(int64_t), true, false},
	[OPTION_NUMBER] = {store_number, sizeof(int64_t), true, false},
	[OPTION_PERMISSION] = {store_permission, sizeof(struct strings), true, true},
};
static_assert(ARRAY_LENGTH(kinds) == OPTION_KIND_COUNT, "every kind of option has its row");

/* Was it given? For options whose zero value says nothing (flags, texts, numbers, lists: not zero). */
static bool option_given(const struct option_info *option, const void *values) {
	static const char zero[sizeof(struct strings)];
	return memcmp(option_place(option, values), zero, kinds[option->kind].size) != 0;
}

bool option_repeats(const struct option_info *option) {
	return kinds[option->kind].repeats && kinds[option->kind].takes_value;
}

const struct option_info *option_find(const struct option_table *table, const char *name, size_t size) {
	for (size_t i = 0; i < table->count; i++)
		if (strlen(table->options[i].name) == size && memcmp(table->options[i].name, name, size) == 0)
			return &table->options[i];
	return NULL;
}

static int unknown_option(const struct option_table *table, const char *word, struct error *error) {
	struct nearest nearest = nearest_start(word + strspn(word, "-"));
	for (size_t i = 0; i < table->count; i++) nearest_offer(&nearest, table->options[i].name);
	nearest_offer(&nearest, "help");
	CLEANUP_FREE char *shown = text_visible_cut(word, 40);
	const char *found = nearest_found(&nearest);
	if (found) return error_set(error, EINVAL, "unknown option '%s': did you mean --%s?", shown, found);
	return error_set(error, EINVAL, "unknown option '%s'", shown);
}

/* Parse the option at argv[*index], moving *index past its values. */
static int parse_option(const struct option_table *table, char *const *argv, size_t *index, void *values,
			struct error *error) {
	const char *word = argv[(*index)++], *equals = strchr(word, '=');
	size_t size = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_info *option = size > 2 ? option_find(table, word + 2, size - 2) : NULL;
	if (!option) {
		CLEANUP_FREE char *name = string_copy_bytes(word, size);
		return unknown_option(table, name, error);
	}
	void *place = option_place(option, values);
	if (!kinds[option->kind].repeats && option_given(option, values))
		return error_set(error, EINVAL, "--%s was given twice", option->name);
	if (!kinds[option->kind].takes_value) {
		if (equals) return error_set(error, EINVAL, "--%s takes no value", option->name);
		return kinds[option->kind].store(option->name, NULL, place, error);
	}
	const char *value = equals ? equals + 1 : argv[*index];
	if (!value || (!equals && strcmp(value, "--") == 0))
		return error_set(error, EINVAL, "--%s needs a value: --%s %s", option->name, option->name,
				 option->value);
	if (!equals) (*index)++;
	if (option->kind == OPTION_PERMISSION && !strchr(value, '=') && argv[*index] && argv[*index][0] != '-') {
		CLEANUP_FREE char *joined = string_format("%s=%s", value, argv[(*index)++]);
		return kinds[option->kind].store(option->name, joined, place, error);
	}
	return kinds[option->kind].store(option->name, value, place, error);
}

int options_parse(const struct option_table *table, char *const *argv, void *values, struct strings *operands,
		  struct error *error) {
	bool options = true;
	for (size_t i = 0; argv[i];) {
		const char *word = argv[i];
		if (!options || word[0] != '-' || word[1] == '\0') {
			strings_add(operands, word);
			if (table->stop_at_operand) options = false;
			i++;
		} else if (strcmp(word, "--") == 0) {
			options = false;
			i++;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			return 1;
		} else {
			int r = word[1] == '-' ? parse_option(table, argv, &i, values, error)
					       : unknown_option(table, word, error);
			if (r < 0) return r;
		}
	}
	return 0;
}

void options_finish(const struct option_table *table, void *values) {
	for (size_t i = 0; i < table->count; i++) {
		enum option_kind kind = table->options[i].kind;
		if (kind == OPTION_LIST || kind == OPTION_PERMISSION)
			strings_finish(option_place(&table->options[i], values));
	}
}

int options_exclusive(const struct option_table *table, const void *values, const char *names, struct error *error) {
	const struct option_info *first = NULL;
	for (const char *name = names; *name; name += strspn(name, " ")) {
		size_t size = strcspn(name, " ");
		const struct option_info *option = option_find(table, name, size);
		name += size;
		if (!option || !option_given(option, values)) continue;
		if (first)
			return error_set(error, EINVAL, "--%s and --%s exclude each other: give one of them",
					 first->name, option->name);
		first = option;
	}
	return 0;
}

int operands_permission(const struct strings *operands, struct permission *ret_permission, const char **ret_target,
			struct error *error) {
	if (operands->count == 1) {
		int r = permission_split(operands->items[0], ret_permission, ret_target, error);
		if (r == 0 && **ret_target == '\0')
			r = error_set(error, EINVAL, "the target of %s is empty", ret_permission->name);
		return r;
	}
	if (operands->count != 2)
		return error_set(error, EINVAL,
				 "expected a permission and a target such as net:access example.org:443");
	int r = permission_parse(operands->items[0], ret_permission, error);
	if (r == 0) *ret_target = operands->items[1];
	return r;
}
