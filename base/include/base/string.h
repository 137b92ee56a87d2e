/*
 * string: owned text, text that grows, lists of text.
 *
 * Promises: everything is NUL-terminated; lengths are bytes; nothing here knows about encodings (base/text.h does).
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

char *string_copy(const char *text) __attribute__((returns_nonnull));
char *string_copy_or_null(const char *text); /* NULL stays NULL */
char *string_copy_bytes(const char *bytes, size_t size) __attribute__((returns_nonnull));
char *string_format(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
bool string_equal(const char *a, const char *b); /* NULL equals NULL only */
bool string_starts(const char *text, const char *prefix);
bool string_ends(const char *text, const char *suffix);
int string_to_u64(const char *text, unsigned long long *ret_value); /* whole text, decimal; -EINVAL, -ERANGE */

/* A text under construction. Zero-initialise; `data` is NULL until something is appended. */
struct string {
	char *data;
	size_t size; /* without the NUL */
	size_t room;
};

void string_append(struct string *string, const char *text);
void string_append_bytes(struct string *string, const char *bytes, size_t size);
void string_append_char(struct string *string, char c);
void string_append_integer(struct string *string, int64_t value); /* decimal */
void string_appendf(struct string *string, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *string_steal(struct string *string) __attribute__((returns_nonnull)); /* "" when nothing was appended */
void string_finish(struct string *string);
#define CLEANUP_STRING CLEANUP(string_finish)

/* A list of owned texts; items[count] is NULL once something was added (so it serves as an argv). */
struct strings {
	char **items;
	size_t count;
};

void strings_add(struct strings *strings, const char *text);
void strings_take(struct strings *strings, char *text); /* takes ownership */
void strings_addf(struct strings *strings, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool strings_contain(const struct strings *strings, const char *text);
bool strings_equal(const struct strings *a, const struct strings *b); /* in the same order */
void strings_sort(struct strings *strings);                           /* by byte */
/* Adds to `rest` what `strings` has and `without` has not; both are sorted. */
void strings_subtract(const struct strings *strings, const struct strings *without, struct strings *rest);
void strings_finish(struct strings *strings);
#define CLEANUP_STRINGS CLEANUP(strings_finish)
