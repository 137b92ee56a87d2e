#include "schema/record.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/message.h"
#include "schema/permission.h"

const char *words_name(const struct words *words, int value) {
	return value >= 0 && (size_t)value < words->count ? words->names[value] : "?";
}

int words_parse(const struct words *words, const char *name, int *ret_value, struct error *error) {
	CLEANUP_STRING struct string known = {0};
	for (size_t i = 0; i < words->count; i++) {
		if (strcmp(words->names[i], name) == 0) {
			*ret_value = (int)i;
			return 0;
		}
		string_appendf(&known, "%s%s", i == 0 ? "" : i + 1 == words->count ? " or " : ", ", words->names[i]);
	}
	CLEANUP_FREE char *shown = text_visible_cut(name, 40);
	return error_set(error, EINVAL, "'%s' is no %s; expected %s", shown, words->what, known.data);
}

static json_t *stamp_to_json(int64_t wall_ms) {
	char stamp[CLOCK_STAMP_SIZE];
	if (wall_ms == 0) return json_null();
	stamp_format(wall_ms, stamp);
	return json_string(stamp);
}

static json_t *strings_to_json(const struct strings *strings) {
	json_t *array = json_array();
	for (size_t i = 0; i < strings->count; i++) json_array_append_new(array, message_bytes(strings->items[i]));
	return array;
}

static json_t *field_to_json(const struct field *field, const char *place) {
	switch (field->type) {
	case FIELD_ID:
		return *(const int64_t *)place == 0 ? json_null() : json_integer(*(const int64_t *)place);
	case FIELD_COUNT:
		return json_integer(*(const int64_t *)place);
	case FIELD_INT_OR_NULL:
		return *(const int *)place == -1 ? json_null() : json_integer(*(const int *)place);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)place);
	case FIELD_STAMP:
		return stamp_to_json(*(const int64_t *)place);
	case FIELD_TEXT:
		return message_bytes(*(char *const *)place);
	case FIELD_NAME:
		return *place ? json_string(place) : json_null();
	case FIELD_STRINGS:
		return strings_to_json((const struct strings *)place);
	case FIELD_PERMISSION:
		return json_string(((const struct permission *)place)->name);
	case FIELD_WORD:
		return *(const int *)place == -1 ? json_null()
						 : json_string(words_name(field->words, *(const int *)place));
	case FIELD_OBJECT:
		return *(json_t *const *)place ? json_incref(*(json_t *const *)place) : json_null();
	}
	return json_null();
}

json_t *record_to_json(const struct record *record, const void *structure) {
	json_t *json = json_object();
	for (size_t i = 0; i < record->count; i++) {
		const struct field *field = &record->fields[i];
		json_object_set_new(json, field->key, field_to_json(field, (const char *)structure + field->offset));
	}
	return json;
}

static void write_word(struct string *out, const char *word) {
	string_append_char(out, '"');
	string_append(out, word);
	string_append_char(out, '"');
}

static void field_write(const struct field *field, const char *place, struct string *out) {
	json_t *json;
	switch (field->type) {
	case FIELD_ID:
	case FIELD_COUNT:
		if (field->type == FIELD_COUNT || *(const int64_t *)place != 0)
			string_append_integer(out, *(const int64_t *)place);
		else
			string_append(out, "null");
		return;
	case FIELD_BOOL:
		string_append(out, *(const bool *)place ? "true" : "false");
		return;
	case FIELD_TEXT:
		message_write_bytes(out, *(char *const *)place);
		return;
	case FIELD_WORD:
		if (*(const int *)place == -1)
			string_append(out, "null");
		else
			write_word(out, words_name(field->words, *(const int *)place));
		return;
	case FIELD_INT_OR_NULL:
	case FIELD_STAMP:
	case FIELD_NAME:
	case FIELD_STRINGS:
	case FIELD_PERMISSION:
	case FIELD_OBJECT:
		json = field_to_json(field, place);
		message_write_json(out, json);
		json_decref(json);
		return;
	}
}

void record_write(const struct record *record, const void *structure, struct string *out) {
	for (size_t i = 0; i < record->count; i++) {
		const struct field *field = &record->fields[i];
		string_append_char(out, i == 0 ? '{' : ',');
		write_word(out, field->key);
		string_append_char(out, ':');
		field_write(field, (const char *)structure + field->offset, out);
	}
	string_append_char(out, '}');
}

static int take_strings(const json_t *json, struct strings *strings, struct error *error) {
	size_t index;
	json_t *item;
	if (!json_is_array(json)) return -EINVAL;
	json_array_foreach (json, index, item) {
		char *text = NULL;
		if (!json_is_string(item) || message_bytes_take(item, &text, error) < 0) return -EINVAL;
		strings_take(strings, text);
	}
	return 0;
}

static int take_integer(const json_t *json, int64_t least, int64_t most, int64_t *ret_value) {
	if (!json_is_integer(json)) return -EINVAL;
	int64_t value = json_integer_value(json);
	if (value < least || value > most) return -EINVAL;
	*ret_value = value;
	return 0;
}

static int take_null(const struct field *field, char *place) {
	switch (field->type) {
	case FIELD_INT_OR_NULL:
	case FIELD_WORD:
		*(int *)place = -1;
		return 0;
	case FIELD_ID:
	case FIELD_STAMP:
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_STRINGS:
	case FIELD_OBJECT:
		return 0;
	case FIELD_COUNT:
	case FIELD_BOOL:
	case FIELD_PERMISSION:
		return -EINVAL;
	}
	return -EINVAL;
}

static int field_from_json(const struct field *field, const json_t *json, char *place, struct error *error) {
	if (!json || json_is_null(json)) return take_null(field, place);
	const char *text = json_string_value(json);
	int64_t integer;
	int r;
	switch (field->type) {
	case FIELD_ID:
	case FIELD_COUNT:
		return take_integer(json, 0, INT64_MAX, (int64_t *)place);
	case FIELD_INT_OR_NULL:
		if ((r = take_integer(json, INT32_MIN, INT32_MAX, &integer)) == 0) *(int *)place = (int)integer;
		return r;
	case FIELD_BOOL:
		if (!json_is_boolean(json)) return -EINVAL;
		*(bool *)place = json_is_true(json);
		return 0;
	case FIELD_STAMP:
		return text ? stamp_parse(text, (int64_t *)place, error) : -EINVAL;
	case FIELD_TEXT:
		return message_bytes_take(json, (char **)place, error);
	case FIELD_NAME:
		if (!text || strlen(text) >= FIELD_NAME_SIZE) return -EINVAL;
		memcpy(place, text, strlen(text) + 1);
		return 0;
	case FIELD_STRINGS:
		return take_strings(json, (struct strings *)place, error);
	case FIELD_PERMISSION:
		return text ? permission_parse(text, (struct permission *)place, error) : -EINVAL;
	case FIELD_WORD:
		return text ? words_parse(field->words, text, (int *)place, error) : -EINVAL;
	case FIELD_OBJECT:
		if (!json_is_object(json)) return -EINVAL;
		*(json_t **)place = json_incref((json_t *)json);
		return 0;
	}
	return -EINVAL;
}

static const struct field *record_field(const struct record *record, const char *key) {
	for (size_t i = 0; i < record->count; i++)
		if (strcmp(record->fields[i].key, key) == 0) return &record->fields[i];
	return NULL;
}

int record_from_json(const struct record *record, const json_t *json, void *structure, struct error *error) {
	if (!json_is_object(json)) return error_set(error, EINVAL, "a %s must be an object", record->what);
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)json, key, value) {
		if (!record_field(record, key))
			return error_set(error, EINVAL, "a %s has no key '%.40s'", record->what, key);
	}
	for (size_t i = 0; i < record->count; i++) {
		const struct field *field = &record->fields[i];
		struct error detail = ERROR_NONE;
		int r = field_from_json(field, json_object_get(json, field->key), (char *)structure + field->offset,
					&detail);
		if (r < 0) {
			record_finish(record, structure);
			return error_set(error, EINVAL, "'%s' of a %s is wrong%s%s", field->key, record->what,
					 detail.code ? ": " : "", detail.message);
		}
	}
	return 0;
}

static size_t field_size(enum field_type type) {
	switch (type) {
	case FIELD_ID:
	case FIELD_COUNT:
	case FIELD_STAMP:
		return sizeof(int64_t);
	case FIELD_INT_OR_NULL:
	case FIELD_WORD:
		return sizeof(int);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_TEXT:
		return sizeof(char *);
	case FIELD_NAME:
		return FIELD_NAME_SIZE;
	case FIELD_STRINGS:
		return sizeof(struct strings);
	case FIELD_PERMISSION:
		return sizeof(struct permission);
	case FIELD_OBJECT:
		return sizeof(json_t *);
	}
	return 0;
}

void record_finish(const struct record *record, void *structure) {
	for (size_t i = 0; i < record->count; i++) {
		const struct field *field = &record->fields[i];
		char *place = (char *)structure + field->offset;
		if (field->type == FIELD_TEXT) free(*(char **)place);
		if (field->type == FIELD_STRINGS) strings_finish((struct strings *)place);
		if (field->type == FIELD_OBJECT) json_decref(*(json_t **)place);
		memset(place, 0, field_size(field->type));
	}
}

void record_copy(const struct record *record, void *ret_structure, const void *structure) {
	for (size_t i = 0; i < record->count; i++) {
		const struct field *field = &record->fields[i];
		char *to = (char *)ret_structure + field->offset;
		const char *from = (const char *)structure + field->offset;
		memcpy(to, from, field_size(field->type));
		if (field->type == FIELD_TEXT && *(char *const *)from) *(char **)to = string_copy(*(char *const *)from);
		if (field->type == FIELD_OBJECT) json_incref(*(json_t *const *)from);
		if (field->type == FIELD_STRINGS) {
			*(struct strings *)to = (struct strings){0};
			const struct strings *list = (const struct strings *)from;
			for (size_t j = 0; j < list->count; j++) strings_add((struct strings *)to, list->items[j]);
		}
	}
}

static bool field_equal(const struct field *field, const void *a, const void *b) {
	switch (field->type) {
	case FIELD_ID:
	case FIELD_COUNT:
	case FIELD_STAMP:
		return *(const int64_t *)a == *(const int64_t *)b;
	case FIELD_INT_OR_NULL:
	case FIELD_WORD:
		return *(const int *)a == *(const int *)b;
	case FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case FIELD_TEXT:
		return string_equal(*(char *const *)a, *(char *const *)b);
	case FIELD_NAME:
		return strcmp(a, b) == 0;
	case FIELD_STRINGS:
		return strings_equal(a, b);
	case FIELD_PERMISSION:
		return permission_equal(a, b);
	case FIELD_OBJECT:
		return *(json_t *const *)a == *(json_t *const *)b ||
		       json_equal(*(json_t *const *)a, *(json_t *const *)b);
	}
	return false;
}

bool record_equal(const struct record *record, const void *a, const void *b) {
	bool equal = true;
	for (size_t i = 0; equal && i < record->count; i++) {
		const struct field *field = &record->fields[i];
		equal = field_equal(field, (const char *)a + field->offset, (const char *)b + field->offset);
	}
	return equal;
}
