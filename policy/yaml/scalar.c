#include "scalar.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
static const char *const bools[] = {"yes", "Yes", "YES", "no",    "No",    "NO",    "true", "True", "TRUE",
				    "on",  "On",  "ON",  "false", "False", "FALSE", "off",  "Off",  "OFF"};
static const char *const floats[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};

static bool is_one_of(const char *text, const char *const *words, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0) return true;
	return false;
}

/* The whole text consists of these characters and at least one of them is a digit. */
static bool is_made_of(const char *text, const char *characters) {
	return strspn(text, characters) == strlen(text) && strpbrk(text, "0123456789");
}

/* yyyy-mm-dd, perhaps with a time behind it */
static bool is_date(const char *text) {
	static const char form[] = "dddd-dd-dd";
	for (size_t i = 0; i < sizeof form - 1; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i]) return false;
	const char *rest = text + sizeof form - 1;
	return *rest == '\0' || strchr("Tt \t", *rest);
}

/* Digits with '_', then perhaps one '.' with digits, then perhaps an exponent with its sign. */
static bool is_float(const char *text) {
	size_t whole = strspn(text, "0123456789_");
	if (text[whole] != '.' || (whole > 0 && *text == '_')) return false;
	const char *rest = text + whole + 1;
	size_t part = strspn(rest, "0123456789_");
	if (whole + part == 0) return false;
	rest += part;
	if (*rest == 'e' || *rest == 'E') {
		rest++;
		if (*rest != '-' && *rest != '+') return false;
		rest++;
		return isdigit((unsigned char)*rest) && is_made_of(rest, "0123456789");
	}
	return *rest == '\0';
}

/* 1:30, 190:20:30 and 12:30.5: base 60 */
static bool is_sexagesimal(const char *text) {
	size_t size = strspn(text, "0123456789_");
	if (size == 0 || *text == '_' || text[size] != ':') return false;
	while (text[size] == ':') {
		text += size + 1;
		size = strspn(text, "0123456789");
		if (size == 0 || size > 2 || (size == 2 && *text > '5')) return false;
	}
	return text[size] == '\0' ||
	       (text[size] == '.' && strspn(text + size + 1, "0123456789_") == strlen(text + size + 1));
}

static bool is_number(const char *text) {
	if (is_date(text) || is_one_of(text, floats, ARRAY_LENGTH(floats))) return true;
	if (*text == '-' || *text == '+') text++;
	if (is_one_of(text, floats, 3)) return true;
	if (text[0] == '0' && text[1] == 'x' && is_made_of(text + 2, "0123456789abcdefABCDEF_")) return true;
	if (text[0] == '0' && text[1] == 'b' && is_made_of(text + 2, "01_")) return true;
	if (isdigit((unsigned char)*text) && is_made_of(text, "0123456789_")) return true;
	return is_float(text) || is_sexagesimal(text);
}

/* Most texts are neither as short as the longest of the words, nor begin as a number does. */
enum node_kind scalar_kind(const char *plain) {
	const bool brief = strnlen(plain, sizeof "false") < sizeof "false";
	if (brief && is_one_of(plain, nulls, ARRAY_LENGTH(nulls))) return NODE_NULL;
	if (brief && is_one_of(plain, bools, ARRAY_LENGTH(bools))) return NODE_BOOL;
	return *plain && strchr("0123456789+-.", *plain) && is_number(plain) ? NODE_NUMBER : NODE_TEXT;
}
