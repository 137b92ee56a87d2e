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

/* By bytes, which for UTF-8 is by code point (RFC 3629, section 1). */
static int compare(const char *a, size_t a_size, const char *b, size_t b_size) {
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
	return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* A set at pattern[0] == '[': its size in the pattern, 0 when it has no end before the next slash (then '[' is an
 * ordinary character). */
static size_t match_set(const char *pattern, size_t size, const char *c, size_t c_size, bool *ret_matches) {
	size_t i = 1;
	bool negated = size > 1 && (pattern[1] == '!' || pattern[1] == '^'), found = false;
	if (negated) i++;
	for (size_t first = i; i < size && pattern[i] != '/';) {
		if (pattern[i] == ']' && i > first) {
			*ret_matches = found != negated;
			return i + 1;
		}
		if (pattern[i] == '\\' && i + 1 < size && pattern[i + 1] != '/') i++;
		const char *low = pattern + i, *high = low;
		size_t low_size = character_size(low, size - i), high_size = low_size;
		i += low_size;
		if (i + 1 < size && pattern[i] == '-' && pattern[i + 1] != ']' && pattern[i + 1] != '/') {
			high = pattern + ++i;
			high_size = character_size(high, size - i);
			i += high_size;
		}
		if (compare(c, c_size, low, low_size) >= 0 && compare(c, c_size, high, high_size) <= 0) found = true;
	}
	return 0;
}

/* Does the pattern's first element (not a star) fit here? Sets how much of both it takes. */
static bool match_one(const char *pattern, size_t pattern_size, const char *text, size_t text_size, size_t *ret_pattern,
		      size_t *ret_text) {
	bool matches = false;
	*ret_text = character_size(text, text_size);
	if (*pattern == '?') {
		*ret_pattern = 1;
		return true;
	}
	if (*pattern == '[' && (*ret_pattern = match_set(pattern, pattern_size, text, *ret_text, &matches)) > 0)
		return matches;
	*ret_text = 1;
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
			t = star_text += character_size(text + star_text, text_size - star_text);
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
			 (*pattern == '[' && match_set(pattern, strlen(pattern), "", 1, &unused) > 0))
			return true;
	}
	return false;
}

size_t glob_step(const char *pattern, size_t size) {
	bool unused;
	size_t set = *pattern == '[' ? match_set(pattern, size, "", 1, &unused) : 0;
	if (set > 0) return set;
	if (*pattern == '\\' && size > 1) return 1 + character_size(pattern + 1, size - 1);
	return character_size(pattern, size);
}

bool glob_step_is_wild(const char *step, size_t size) {
	return *step == '?' || (*step == '[' && size > 1);
}

uint32_t glob_fixed(const char *pattern) {
	uint32_t fixed = 0;
	bool unused;
	while (*pattern) {
		size_t set = *pattern == '[' ? match_set(pattern, strlen(pattern), "", 1, &unused) : 0;
		bool escaped = *pattern == '\\' && pattern[1];
		if (set == 0 && *pattern != '*' && *pattern != '?') fixed++;
		pattern += set > 0 ? set : escaped ? 2 : 1;
	}
	return fixed;
}

char *glob_quote(const char *text) {
	CLEANUP_STRING struct string out = {0};
	for (;;) {
		const size_t plain = strcspn(text, "*?[\\{}$");
		string_append_bytes(&out, text, plain);
		text += plain;
		if (!*text) return string_steal(&out);
		string_append_char(&out, '\\');
		string_append_char(&out, *text++);
	}
}

char *glob_unquote(const char *pattern) {
	CLEANUP_STRING struct string out = {0};
	for (;;) {
		const size_t plain = strcspn(pattern, "\\");
		string_append_bytes(&out, pattern, plain);
		pattern += plain;
		if (!*pattern) return string_steal(&out);
		if (pattern[1]) pattern++;
		string_append_char(&out, *pattern++);
	}
}
