/*
 * record: C structures ⇄ JSON objects by a table of fields, so that a record's keys are written down once.
 *
 * Promises: every key of the table is written, absent values as null; reading refuses unknown keys, wrong types and
 * over-long texts, and leaves no half-filled record behind (record_finish has been called).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"

/* The names of an enum's values, in their order. */
struct words {
	const char *what; /* for errors: "effect" */
	const char *const *names;
	size_t count;
};

const char *words_name(const struct words *words, int value); /* "?" when there is none */
int words_parse(const struct words *words, const char *name, int *ret_value, struct error *error);

enum field_type {
	FIELD_ID,          /* int64_t; 0 ⇄ null */
	FIELD_COUNT,       /* int64_t, never negative */
	FIELD_INT_OR_NULL, /* int; -1 ⇄ null */
	FIELD_BOOL,        /* bool */
	FIELD_STAMP,       /* int64_t wall-clock milliseconds ⇄ RFC 3339; 0 ⇄ null */
	FIELD_TEXT,        /* owned char *, any bytes; NULL ⇄ null */
	FIELD_NAME,        /* char[24]; "" ⇄ null */
	FIELD_STRINGS,     /* struct strings ⇄ array of texts */
	FIELD_PERMISSION,  /* struct permission ⇄ its name */
	FIELD_WORD,        /* an enum (int) by `words`; -1 ⇄ null */
	FIELD_OBJECT,      /* owned json_t *; NULL ⇄ null */
};
enum { FIELD_NAME_SIZE = 24 };

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	const struct words *words;
};

struct record {
	const char *what; /* for errors: "grant" */
	const struct field *fields;
	size_t count;
};

json_t *record_to_json(const struct record *record, const void *structure);
void record_write(const struct record *record, const void *structure, struct string *out); /* the same as JSON text */
int record_from_json(const struct record *record, const json_t *json, void *structure, struct error *error);
void record_finish(const struct record *record, void *structure); /* frees what is owned and zeroes these fields */
void record_copy(const struct record *record, void *ret_structure, const void *structure); /* deep, of all fields */
bool record_equal(const struct record *record, const void *a, const void *b);
