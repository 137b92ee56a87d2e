#include "body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/grant.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/permission.h"
#include "schema/verdict.h"

static int malformed(struct error *error, const char *key, const char *expected) {
	CLEANUP_FREE char *shown = text_visible_cut(key, 40);
	return error_set(error, EPROTO, "malformed message: '%s' must be %s", shown, expected);
}

static int take_text(const char *key, const json_t *json, size_t most, char **ret_text, struct error *error) {
	if (!json_is_string(json)) return malformed(error, key, "a text");
	CLEANUP_FREE char *text = NULL;
	if (message_bytes_take(json, &text, NULL) < 0) return malformed(error, key, "a text");
	if (strlen(text) > most)
		return error_set(error, E2BIG, "'%s' is longer than the limit of %zu bytes", key, most);
	*ret_text = STEAL(text);
	return 0;
}

static int take_texts(const char *key, const json_t *json, size_t most, struct strings *texts, struct error *error) {
	if (!json_is_array(json)) return malformed(error, key, "a list of texts");
	if (json_array_size(json) > most)
		return error_set(error, E2BIG, "'%s' has more than the limit of %zu entries", key, most);
	size_t index;
	json_t *item;
	json_array_foreach (json, index, item) {
		char *text = NULL;
		int r = take_text(key, item, LIMIT_TARGET, &text, error);
		if (r < 0) return r;
		strings_take(texts, text);
	}
	return 0;
}

static int take_integer(const char *key, const json_t *json, int64_t least, int64_t most, int64_t *ret_value,
			struct error *error) {
	if (!json_is_integer(json) || json_integer_value(json) < least || json_integer_value(json) > most)
		return malformed(error, key, "a whole number in its range");
	*ret_value = json_integer_value(json);
	return 0;
}

static int take_numbers(const char *key, const json_t *json, int64_t least, struct body_ids *ids, struct error *error) {
	if (!json_is_array(json)) return malformed(error, key, "a list of numbers");
	size_t index;
	json_t *item;
	ids->items = mem_array(int64_t, json_array_size(json) + 1);
	json_array_foreach (json, index, item) {
		int r = take_integer(key, item, least, INT64_MAX, &ids->items[ids->count], error);
		if (r < 0) return r;
		ids->count++;
	}
	return 0;
}

static int take_effect(const char *key, const json_t *json, enum effect *ret_effect, struct error *error) {
	enum effect effect;
	if (!json_is_string(json) || effect_parse(json_string_value(json), &effect, NULL) < 0 || effect == EFFECT_ASK)
		return malformed(error, key, "allow or deny");
	*ret_effect = effect;
	return 0;
}

static int take_lifetime(const char *key, const json_t *json, struct body_lifetime *lifetime, struct error *error) {
	enum lifetime value;
	if (!json_is_string(json) || lifetime_parse(json_string_value(json), &value, NULL) < 0)
		return malformed(error, key, "once, session, until or always");
	*lifetime = (struct body_lifetime){true, (int)value};
	return 0;
}

static int take_object(const char *key, const json_t *json, size_t most, json_t **ret_object, struct error *error) {
	if (!json_is_object(json)) return malformed(error, key, "an object");
	if (json_dumpb(json, NULL, 0, JSON_COMPACT) > most)
		return error_set(error, E2BIG, "'%s' is larger than the limit of %zu bytes", key, most);
	*ret_object = json_incref((json_t *)json);
	return 0;
}

static int take_flag(const char *key, const json_t *json, bool *ret_flag, struct error *error) {
	if (!json_is_boolean(json)) return malformed(error, key, "true or false");
	*ret_flag = json_is_true(json);
	return 0;
}

static int take_exit(const char *key, const json_t *json, int *ret_exit, struct error *error) {
	int64_t value = 0;
	int r = take_integer(key, json, -2, 255, &value, error);
	if (r == 0) *ret_exit = (int)value;
	return r;
}

static int take_permission(const char *key, const json_t *json, struct permission *permission, struct error *error) {
	if (!json_is_string(json)) return malformed(error, key, "a permission");
	return permission_parse(json_string_value(json), permission, error);
}

static int take_fields(const struct body_shape *shape, const json_t *json, void *body, bool top, struct error *error);

static int take_shape(const struct body_field *field, const json_t *json, char *place, struct error *error) {
	if (!json_is_object(json)) return malformed(error, field->key, "an object");
	*(bool *)place = true;
	return take_fields(field->shape, json, place, false, error);
}

static int take_shapes(const struct body_field *field, const json_t *json, struct body_list *list,
		       struct error *error) {
	if (!json_is_array(json)) return malformed(error, field->key, "a list of objects");
	if (json_array_size(json) > field->most)
		return error_set(error, E2BIG, "'%s' has more than the limit of %zu entries", field->key, field->most);
	size_t index;
	json_t *item;
	list->items = mem_alloc(json_array_size(json) + 1, field->shape->size);
	json_array_foreach (json, index, item) {
		int r = take_shape(field, item, (char *)list->items + list->count++ * field->shape->size, error);
		if (r < 0) return r;
	}
	return 0;
}

static void finish_shapes(const struct body_shape *shape, struct body_list *list) {
	for (size_t i = 0; i < list->count; i++) body_finish(shape, (char *)list->items + i * shape->size);
	free(list->items);
}

static int take_field(const struct body_field *field, const json_t *json, char *place, struct error *error) {
	switch (field->type) {
	case BODY_TEXT:
		return take_text(field->key, json, field->most, (char **)place, error);
	case BODY_TEXTS:
		return take_texts(field->key, json, field->most, (struct strings *)place, error);
	case BODY_INTEGER:
		return take_integer(field->key, json, 0, INT64_MAX, (int64_t *)place, error);
	case BODY_EXIT:
		return take_exit(field->key, json, (int *)place, error);
	case BODY_FLAG:
	case BODY_TRUE:
		return take_flag(field->key, json, (bool *)place, error);
	case BODY_PERMISSION:
		return take_permission(field->key, json, (struct permission *)place, error);
	case BODY_EFFECT:
		return take_effect(field->key, json, (enum effect *)place, error);
	case BODY_LIFETIME:
		return take_lifetime(field->key, json, (struct body_lifetime *)place, error);
	case BODY_IDS:
		return take_numbers(field->key, json, 1, (struct body_ids *)place, error);
	case BODY_INDICES:
		if (json_array_size(json) > field->most)
			return error_set(error, E2BIG, "'%s' has more than %zu entries", field->key, field->most);
		return take_numbers(field->key, json, 0, (struct body_ids *)place, error);
	case BODY_OBJECT:
		return take_object(field->key, json, field->most, (json_t **)place, error);
	case BODY_SHAPE:
		return take_shape(field, json, place, error);
	case BODY_SHAPES:
		return take_shapes(field, json, (struct body_list *)place, error);
	}
	return -EPROTO;
}

static bool is_known(const struct body_shape *shape, const char *key, bool top) {
	if (top && (strcmp(key, "type") == 0 || strcmp(key, "id") == 0)) return true;
	for (size_t i = 0; i < shape->count; i++)
		if (strcmp(shape->fields[i].key, key) == 0) return true;
	return false;
}

static int take_fields(const struct body_shape *shape, const json_t *json, void *body, bool top, struct error *error) {
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)json, key, value) {
		if (is_known(shape, key, top)) continue;
		CLEANUP_FREE char *shown = text_visible_cut(key, 40);
		return error_set(error, EPROTO, "malformed message: unknown key '%s'", shown);
	}
	for (size_t i = 0; i < shape->count; i++) {
		const struct body_field *field = &shape->fields[i];
		char *place = (char *)body + field->offset;
		value = json_object_get(json, field->key);
		if (value && !json_is_null(value)) {
			int r = take_field(field, value, place, error);
			if (r < 0) return r;
		} else if (field->presence == REQUIRED) {
			return error_set(error, EPROTO, "malformed message: '%s' is missing", field->key);
		} else if (field->type == BODY_EFFECT) {
			*(enum effect *)place = EFFECT_ASK;
		} else if (field->type == BODY_TRUE) {
			*(bool *)place = true;
		}
	}
	return 0;
}

int body_take(const struct body_shape *shape, const json_t *json, void *body, struct error *error) {
	int r = take_fields(shape, json, body, true, error);
	if (r < 0) body_finish(shape, body);
	return r;
}

void body_finish(const struct body_shape *shape, void *body) {
	for (size_t i = 0; i < shape->count; i++) {
		const struct body_field *field = &shape->fields[i];
		char *place = (char *)body + field->offset;
		if (field->type == BODY_TEXT) mem_free_p(place);
		if (field->type == BODY_TEXTS) strings_finish((struct strings *)place);
		if (field->type == BODY_IDS || field->type == BODY_INDICES) free(((struct body_ids *)place)->items);
		if (field->type == BODY_OBJECT) json_decref(*(json_t **)place);
		if (field->type == BODY_SHAPE) body_finish(field->shape, place);
		if (field->type == BODY_SHAPES) finish_shapes(field->shape, (struct body_list *)place);
	}
	memset(body, 0, shape->size);
}

int body_check_path(const char *path, struct error *error) {
	CLEANUP_FREE char *normal = NULL;
	int r = path_normalise(NULL, path, &normal, error);
	return r == 0 && strcmp(normal, path) != 0 ? error_set(error, EINVAL, "the path isn't normal") : r;
}

int body_check_paths(const struct strings *paths, struct error *error) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < paths->count; i++) r = body_check_path(paths->items[i], error);
	return r;
}
