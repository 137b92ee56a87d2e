#include "base/string.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM_FIRST = 64 }; /* most texts need no more than a few steps from here */

char *string_copy(const char *text) {
	return mem_copy(text, strlen(text) + 1);
}

char *string_copy_or_null(const char *text) {
	return text ? string_copy(text) : NULL;
}

char *string_copy_bytes(const char *bytes, size_t size) {
	size_t whole;
	if (__builtin_add_overflow(size, 1, &whole)) mem_exhausted();
	char *copy = mem_resize(NULL, whole, 1);
	if (size > 0) memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list arguments) {
	char *text = NULL;
	if (vasprintf(&text, format, arguments) < 0 || !text) mem_exhausted();
	return text;
}

char *string_format(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	char *text = format_text(format, arguments);
	va_end(arguments);
	return text;
}

bool string_equal(const char *a, const char *b) {
	if (!a || !b) return a == b;
	return strcmp(a, b) == 0;
}

bool string_starts(const char *text, const char *prefix) {
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool string_ends(const char *text, const char *suffix) {
	size_t size = strlen(text), suffix_size = strlen(suffix);
	return size >= suffix_size && memcmp(text + size - suffix_size, suffix, suffix_size) == 0;
}

int string_to_u64(const char *text, unsigned long long *ret_value) {
	unsigned long long value = 0;
	if (*text == '\0') return -EINVAL;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9') return -EINVAL;
		if (__builtin_mul_overflow(value, 10ULL, &value) ||
		    __builtin_add_overflow(value, (unsigned long long)(*p - '0'), &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}

void string_append_bytes(struct string *string, const char *bytes, size_t size) {
	size_t needed;
	if (__builtin_add_overflow(string->size, size, &needed) || needed > SIZE_MAX / 2 - 1) mem_exhausted();
	if (!string->data || needed + 1 > string->room) {
		size_t room = string->room > 0 ? string->room * 2 : ROOM_FIRST;
		string->room = needed + 1 > room ? needed + 1 : room;
		string->data = mem_resize(string->data, string->room, 1);
	}
	if (size > 0) memcpy(string->data + string->size, bytes, size);
	string->size = needed;
	string->data[needed] = '\0';
}

void string_append(struct string *string, const char *text) {
	string_append_bytes(string, text, strlen(text));
}

void string_append_char(struct string *string, char c) {
	string_append_bytes(string, &c, 1);
}

void string_append_integer(struct string *string, int64_t value) {
	char digits[24], *first = digits + sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do *--first = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0) *--first = '-';
	string_append_bytes(string, first, (size_t)(digits + sizeof digits - first));
}

void string_appendf(struct string *string, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	CLEANUP_FREE char *text = format_text(format, arguments);
	va_end(arguments);
	string_append(string, text);
}

char *string_steal(struct string *string) {
	char *text = string->data ? string->data : string_copy("");
	*string = (struct string){0};
	return text;
}

void string_finish(struct string *string) {
	free(string->data);
	*string = (struct string){0};
}

void strings_take(struct strings *strings, char *text) {
	/* One more than counted, for the NULL that ends an argv. */
	strings->items = array_grow(strings->items, strings->count + 1, sizeof *strings->items);
	if (strings->count == 0) strings->items = mem_resize(strings->items, 2, sizeof *strings->items);
	strings->items[strings->count++] = text;
	strings->items[strings->count] = NULL;
}

void strings_add(struct strings *strings, const char *text) {
	strings_take(strings, string_copy(text));
}

void strings_addf(struct strings *strings, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	strings_take(strings, format_text(format, arguments));
	va_end(arguments);
}

bool strings_contain(const struct strings *strings, const char *text) {
	for (size_t i = 0; i < strings->count; i++)
		if (strcmp(strings->items[i], text) == 0) return true;
	return false;
}

static int compare_texts(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool strings_equal(const struct strings *a, const struct strings *b) {
	if (a->count != b->count) return false;
	for (size_t i = 0; i < a->count; i++)
		if (!string_equal(a->items[i], b->items[i])) return false;
	return true;
}

void strings_sort(struct strings *strings) {
	if (strings->count > 1) qsort(strings->items, strings->count, sizeof *strings->items, compare_texts);
}

void strings_subtract(const struct strings *strings, const struct strings *without, struct strings *rest) {
	size_t at = 0;
	for (size_t i = 0; i < strings->count; i++) {
		while (at < without->count && strcmp(without->items[at], strings->items[i]) < 0) at++;
		if (at == without->count || !string_equal(without->items[at], strings->items[i]))
			strings_add(rest, strings->items[i]);
	}
}

void strings_finish(struct strings *strings) {
	for (size_t i = 0; i < strings->count; i++) free(strings->items[i]);
	free(strings->items);
	*strings = (struct strings){0};
}
