#include "glob.h"

#include <stdint.h>
#include <string.h>

#include "base/string.h"

/* The bytes of the character at text (UTF-8; a stray byte counts as one). */
static size_t character_size(const char *text, size_t size) {
	size_t length = 1;
	if ((*text & 0xc0) != 0xc0) return 1;
	while (length < size && length < 4 && (text[length] & 0xc0) == 0x80) length++;
	return length;
}

/* A set at pattern[0] == '[': its size in the pattern, 0 when it has no end (then '[' is an ordinary character). */
static size_t match_set(const char *pattern, size_t size, char c, bool *ret_matches) {
	size_t i = 1;
	bool negated = size > 1 && (pattern[1] == '!' || pattern[1] == '^'), found = false;
	if (negated) i++;
	for (size_t first = i; i < size; i++) {
		if (pattern[i] == ']' && i > first) {
			*ret_matches = found != negated;
			return i + 1;
		}
		if (pattern[i] == '\\' && i + 1 < size) i++;
		unsigned char low = (unsigned char)pattern[i], high = low;
		if (i + 2 < size && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
			high = (unsigned char)pattern[i + 2];
			i += 2;
		}
		if ((unsigned char)c >= low && (unsigned char)c <= high) found = true;
	}
	return 0;
}

/* Does the pattern's first element (not a star) fit here? Sets how much of both it takes. */
static bool match_one(const char *pattern, size_t pattern_size, const char *text, size_t text_size, size_t *ret_pattern,
		      size_t *ret_text) {
	bool matches = false;
	*ret_text = 1;
	if (*pattern == '?') {
		*ret_pattern = 1;
		*ret_text = character_size(text, text_size);
		return true;
	}
	if (*pattern == '[' && (*ret_pattern = match_set(pattern, pattern_size, *text, &matches)) > 0) return matches;
	bool escaped = *pattern == '\\' && pattern_size > 1;
	*ret_pattern = escaped ? 2 : 1;
	return pattern[escaped ? 1 : 0] == *text;
}

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size) {
	size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
	while (t < text_size) {
		size_t p_step, t_step;
		if (p < pattern_size && pattern[p] == '*') {
			star = p++;
			star_text = t;
		} else if (p < pattern_size &&
			   match_one(pattern + p, pattern_size - p, text + t, text_size - t, &p_step, &t_step)) {
			p += p_step;
			t += t_step;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern_size && pattern[p] == '*') p++;
	return p == pattern_size;
}

bool glob_has_wildcard(const char *pattern) {
	for (; *pattern; pattern++) {
		bool unused;
		if (*pattern == '\\' && pattern[1])
			pattern++;
		else if (*pattern == '*' || *pattern == '?' ||
			 (*pattern == '[' && match_set(pattern, strcspn(pattern, "/"), '\0', &unused) > 0))
			return true;
	}
	return false;
}

char *glob_quote(const char *text) {
	CLEANUP_STRING struct string out = {0};
	for (; *text; text++) {
		if (strchr("*?[\\{}$", *text)) string_append_char(&out, '\\');
		string_append_char(&out, *text);
	}
	return string_steal(&out);
}

char *glob_unquote(const char *pattern) {
	CLEANUP_STRING struct string out = {0};
	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1]) pattern++;
		string_append_char(&out, *pattern);
	}
	return string_steal(&out);
}
