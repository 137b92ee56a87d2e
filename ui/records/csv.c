#include "ui/csv.h"

#include <string.h>

#include "base/text.h"

void csv_append(struct string *line, const char *bytes) {
	if (line->data) string_append_char(line, ',');
	/* Also for an empty first value: the next one must see that something is before it. */
	string_append(line, "");
	if (!bytes || !*bytes) return;
	CLEANUP_FREE char *visible = text_visible(bytes);
	const char *guard = strchr("=+-@", *visible) ? "'" : "";
	if (!strpbrk(visible, ",\"")) {
		string_appendf(line, "%s%s", guard, visible);
		return;
	}
	string_appendf(line, "\"%s", guard);
	for (const char *p = visible; *p; p++) {
		if (*p == '"') string_append_char(line, '"');
		string_append_char(line, *p);
	}
	string_append_char(line, '"');
}
