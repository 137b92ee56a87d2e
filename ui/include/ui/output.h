/*
 * output: JSON for programs, sentences for people.
 *
 * Promises: JSON is ASCII only (jansson's JSON_ENSURE_ASCII), so no control, bidi or zero-width character of a target
 * reaches a terminal raw (attack B9).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

void json_line(FILE *out, const json_t *json);

/* A JSON array printed item by item, "[]" when there was none. */
struct json_list {
	FILE *out;
	bool started;
};
void json_list_item(struct json_list *list, const json_t *json);
void json_list_end(struct json_list *list);

/* The text of a key made visible; "-" when it is absent or null. Freed by the caller. */
char *json_visible(const json_t *object, const char *key);
