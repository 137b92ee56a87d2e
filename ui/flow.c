#include "ui/flow.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static size_t point_size(const char *point) {
	size_t size = 1;
	while (((unsigned char)point[size] & 0xc0) == 0x80) size++;
	return size;
}

static void begin_line(struct string *out, size_t indent) {
	while (out->size > 0 && out->data[out->size - 1] == ' ') out->data[--out->size] = '\0';
	string_appendf(out, "\n%*s", (int)indent, "");
}

void flow_append(struct string *out, const char *visible, size_t indent, size_t width) {
	size_t column = indent;
	while (*visible) {
		size_t size = strcspn(visible, " ");
		CLEANUP_FREE char *word = string_copy_bytes(visible, size);
		bool fits_a_line = text_columns(word) <= width - indent;
		size_t needed = fits_a_line ? text_columns(word) : 1;
		if (column > indent && column + needed > width) {
			begin_line(out, indent);
			column = indent;
		}
		for (const char *p = word; *p; p += point_size(p)) {
			CLEANUP_FREE char *point = string_copy_bytes(p, point_size(p));
			if (column + text_columns(point) > width) {
				begin_line(out, indent);
				column = indent;
			}
			string_append(out, point);
			column += text_columns(point);
		}
		visible += size;
		if (*visible && column < width) {
			string_append_char(out, ' ');
			column++;
		}
		if (*visible) visible++;
	}
	string_append_char(out, '\n');
}
