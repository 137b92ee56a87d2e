/*
 * body: what is in a request, taken out of its JSON by a table of fields before any handler runs.
 *
 * Promises: unknown keys, wrong types and missing keys are -EPROTO (the client is malformed and will be closed); what
 * is of the right type but too long or an unknown word of a user is another error (the client gets a reply). Null is
 * the same as missing. Texts are byte strings (schema/message.h). Nothing is left behind on failure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"

enum body_type {
	BODY_TEXT,       /* owned char *; `most` bytes */
	BODY_TEXTS,      /* struct strings of at most `most` texts, each under LIMIT_TARGET */
	BODY_INTEGER,    /* int64_t, 0 … INT64_MAX */
	BODY_EXIT,       /* int, -2 … 255 */
	BODY_FLAG,       /* bool */
	BODY_TRUE,       /* bool, true when missing */
	BODY_PERMISSION, /* struct permission; its name empty when missing */
	BODY_EFFECT,     /* enum effect: allow or deny; EFFECT_ASK when missing */
	BODY_LIFETIME,   /* struct body_lifetime */
	BODY_IDS,        /* struct body_ids, each from 1 on */
	BODY_INDICES,    /* the same, each from 0 on, at most `most` */
	BODY_OBJECT,     /* json_t *, a reference; `most` bytes as text */
	BODY_SHAPE,      /* another shape's structure, and `present` before it */
	BODY_SHAPES,     /* struct body_list of at most `most` such structures */
};

enum body_presence { OPTIONAL, REQUIRED };

struct body_lifetime {
	bool given;
	int value; /* enum lifetime */
};

struct body_ids {
	int64_t *items;
	size_t count;
};

struct body_list {
	void *items;
	size_t count;
};

struct body_shape;

struct body_field {
	const char *key;
	enum body_type type;
	enum body_presence presence;
	size_t offset;
	size_t most;
	const struct body_shape *shape;
};

struct body_shape {
	const struct body_field *fields;
	size_t count;
	size_t size; /* of the structure */
};

#define BODY_SHAPE_OF(structure, table)                                                                                \
	{ (table), sizeof(table) / sizeof *(table), sizeof(structure) }

/* `body` must be zeroed. Keys "type" and "id" belong to every message and are passed over at the top. */
int body_take(const struct body_shape *shape, const json_t *json, void *body, struct error *error);
void body_finish(const struct body_shape *shape, void *body);

/* -EINVAL where a path isn't absolute and normal (path_normalise). */
int body_check_path(const char *path, struct error *error);
int body_check_paths(const struct strings *paths, struct error *error);
