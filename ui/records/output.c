#include "ui/output.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/message.h"

static void json_write(FILE *out, const json_t *json) {
	CLEANUP_FREE char *text = json_dumps(json, JSON_ENSURE_ASCII | JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text) mem_exhausted();
	fputs(text, out);
}

void json_line(FILE *out, const json_t *json) {
	json_write(out, json);
	fputc('\n', out);
}

void json_list_item(struct json_list *list, const json_t *json) {
	fputs(list->started ? ",\n " : "[", list->out);
	json_write(list->out, json);
	list->started = true;
}

void json_list_end(struct json_list *list) {
	fputs(list->started ? "]\n" : "[]\n", list->out);
}

char *json_visible(const json_t *object, const char *key) {
	const json_t *value = json_object_get(object, key);
	CLEANUP_FREE char *bytes = NULL;
	if (!json_is_string(value) || message_bytes_take(value, &bytes, NULL) < 0 || !bytes) return string_copy("-");
	return text_visible(bytes);
}
