#include "base/text.h"

#include <stdint.h>
#include <string.h>

#include "base/columns.h"
#include "base/memory.h"
#include "base/string.h"
#include "ranges.h"

/* Unicode 14: general categories Cc, Cf, Zl, Zp, Co, Cs, Zs but the space; variation selectors and the blank letters.
 */
static const struct range invisible[] = {
	{0x0000, 0x001f},   {0x007f, 0x00a0},   {0x00ad, 0x00ad},   {0x034f, 0x034f},    {0x0600, 0x0605},
	{0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},    {0x08e2, 0x08e2},
	{0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},   {0x180b, 0x180f},    {0x2000, 0x200f},
	{0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},   {0x2800, 0x2800},    {0x3000, 0x3000},
	{0x3164, 0x3164},   {0xd800, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},    {0xffa0, 0xffa0},
	{0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x13438},  {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0001, 0xe007f}, {0xe0100, 0xe01ef}, {0xf0000, 0x10ffff},
};

/* The bytes of the code point at `bytes`, 0 when they aren't well-formed UTF-8 (Unicode 14, table 3-7). */
static size_t decode_point(const unsigned char *bytes, size_t size, uint32_t *ret_point) {
	if (size == 0) return 0;
	if (bytes[0] < 0x80) {
		*ret_point = bytes[0];
		return 1;
	}
	size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || length > size) return 0;
	uint32_t point = bytes[0] & (0xffU >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80) return 0;
		point = point << 6 | (bytes[i] & 0x3fU);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return 0;
	*ret_point = point;
	return length;
}

size_t text_point(const char *bytes, size_t size, uint32_t *ret_point) {
	return decode_point((const unsigned char *)bytes, size, ret_point);
}

bool text_point_is_visible(uint32_t point) {
	return !ranges_contain(invisible, ARRAY_LENGTH(invisible), point);
}

bool text_is_utf8(const char *bytes, size_t size) {
	uint32_t point;
	while (size > 0) {
		size_t length = decode_point((const unsigned char *)bytes, size, &point);
		if (length == 0) return false;
		bytes += length;
		size -= length;
	}
	return true;
}

/* Most texts are: this is their short way. */
static bool is_plain(const char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '\\') return false;
	return true;
}

static bool is_hidden(const char *bytes, size_t size, size_t *ret_length) {
	uint32_t point = 0;
	size_t length = decode_point((const unsigned char *)bytes, size, &point);
	*ret_length = length > 0 ? length : 1;
	return length == 0 || ranges_contain(invisible, ARRAY_LENGTH(invisible), point);
}

/* Backslashes are doubled in front of what is escaped, and of letters that would look like that. */
static size_t append_backslashes(struct string *out, const char *bytes, size_t size) {
	const size_t count = strspn(bytes, "\\");
	const char next = bytes[count];
	size_t length;
	const bool doubled = next && (strchr("ntrxu", next) || is_hidden(bytes + count, size - count, &length));
	for (size_t i = 0; i < count; i++) string_append(out, doubled ? "\\\\" : "\\");
	return count;
}

char *text_visible(const char *bytes) {
	CLEANUP_STRING struct string out = {0};
	size_t size = strlen(bytes);
	if (is_plain(bytes, size)) return string_copy_bytes(bytes, size);
	while (size > 0) {
		uint32_t point = 0;
		size_t length = decode_point((const unsigned char *)bytes, size, &point);
		if (length == 0) {
			string_appendf(&out, "\\x%02x", (unsigned char)*bytes);
			length = 1;
		} else if (point == '\\') {
			length = append_backslashes(&out, bytes, size);
		} else if (point == '\n' || point == '\t' || point == '\r') {
			string_appendf(&out, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
		} else if (!ranges_contain(invisible, ARRAY_LENGTH(invisible), point)) {
			string_append_bytes(&out, bytes, length);
		} else {
			string_appendf(&out, point < 0x80 ? "\\x%02x" : "\\u{%x}", point);
		}
		bytes += length;
		size -= length;
	}
	return string_steal(&out);
}

char *text_plain(const char *bytes) {
	struct string out = {0};
	size_t size = strlen(bytes);
	string_append(&out, "");
	for (size_t length; size > 0; bytes += length, size -= length) {
		uint32_t point = 0;
		length = decode_point((const unsigned char *)bytes, size, &point);
		if (point == '\n' || point == '\t' || point == '\r')
			string_append_char(&out, ' ');
		else if (length == 0 || !text_point_is_visible(point))
			string_append(&out, "\xef\xbf\xbd"); /* U+FFFD */
		else
			string_append_bytes(&out, bytes, length);
		if (length == 0) length = 1;
	}
	return string_steal(&out);
}

static size_t point_columns(const char *text, size_t *ret_bytes) {
	uint32_t point = 0;
	*ret_bytes = decode_point((const unsigned char *)text, strlen(text), &point);
	if (*ret_bytes == 0) *ret_bytes = 1;
	return columns_of(point);
}

size_t text_columns(const char *visible) {
	size_t columns = 0, bytes;
	for (; *visible; visible += bytes) columns += point_columns(visible, &bytes);
	return columns;
}

char *text_visible_cut(const char *bytes, size_t max) {
	CLEANUP_FREE char *visible = text_visible(bytes);
	if (strlen(visible) <= max) return STEAL(visible); /* nothing has more columns than bytes */
	size_t columns = text_columns(visible);
	if (columns <= max || max < 3) return STEAL(visible);
	/* The end tells files apart (names, extensions) and the start tells places: keep both halves. */
	size_t head = (max - 1) / 2, skip = columns - (max - 1 - head);
	CLEANUP_STRING struct string out = {0};
	size_t column = 0, length;
	bool cut = false, keep = true;
	for (const char *p = visible; *p; p += length) {
		size_t width = point_columns(p, &length);
		if (width > 0) keep = column + width <= head || column >= skip; /* a mark stays with its letter */
		if (keep) string_append_bytes(&out, p, length);
		if (!keep && !cut) {
			string_append(&out, "…");
			cut = true;
		}
		column += width;
	}
	return string_steal(&out);
}

static bool has_hidden(const char *bytes, size_t size) {
	for (size_t i = 0, length; i < size; i += length)
		if (is_hidden(bytes + i, size - i, &length)) return true;
	return false;
}

char *text_shell_word(const char *bytes) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	const size_t size = strlen(bytes);
	if (size > 0 && *bytes != '=' && strspn(bytes, plain) == size) /* zsh: =PROGRAM */
		return string_copy(bytes);
	const bool escaped = has_hidden(bytes, size); /* $'…': bash, zsh, ksh, busybox */
	struct string out = {0};
	string_append(&out, escaped ? "$'" : "'");
	for (size_t i = 0, length; i < size; i += length) {
		bool hidden = is_hidden(bytes + i, size - i, &length);
		if (escaped && (hidden || bytes[i] == '\'' || bytes[i] == '\\'))
			for (size_t k = 0; k < length; k++) string_appendf(&out, "\\%03o", (unsigned char)bytes[i + k]);
		else if (bytes[i] == '\'' || (bytes[i] == '\\' && strchr("'\\", bytes[i + 1]))) /* also its last one */
			string_appendf(&out, "'\\%c'", bytes[i]); /* fish: within quotes \' and \\ are one letter */
		else
			string_append_bytes(&out, bytes + i, length);
	}
	string_append_char(&out, '\'');
	return string_steal(&out);
}
