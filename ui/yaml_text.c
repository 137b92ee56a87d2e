#include "ui/yaml_text.h"

#include <string.h>

#include "base/text.h"

static void append_point(struct string *out, uint32_t point, const char *bytes, size_t size) {
	if (point == '"' || point == '\\')
		string_append_char(out, '\\');
	else if (!text_point_is_visible(point)) {
		string_appendf(out, point < 0x100 ? "\\x%02X" : point < 0x10000 ? "\\u%04X" : "\\U%08X", point);
		return;
	}
	string_append_bytes(out, bytes, size);
}

bool yaml_append_quoted(struct string *out, const char *text) {
	size_t size = strlen(text);
	if (!text_is_utf8(text, size)) return false;
	string_append_char(out, '"');
	while (size > 0) {
		uint32_t point = 0;
		size_t length = text_point(text, size, &point);
		append_point(out, point, text, length);
		text += length;
		size -= length;
	}
	string_append_char(out, '"');
	return true;
}
