/* The loader's key tables as JSON, for schema.py: [{"path": [...], "keys": [...]}]. */
#include <stdio.h>

#include "base/memory.h"
#include "keys.h"

static void print_keys(const char *path, const struct keys *keys, const char *end) {
	printf("  {\"path\": %s, \"keys\": [", path);
	for (size_t i = 0; i < keys->count; i++) printf("%s\"%s\"", i > 0 ? ", " : "", keys->items[i].name);
	printf("]}%s\n", end);
}

int main(void) {
	static const struct {
		const char *path;
		const struct keys *keys;
	} maps[] = {
		{"[]", &document_keys},
		{"[\"properties\", \"prompt\"]", &prompt_keys},
		{"[\"properties\", \"history\"]", &history_keys},
		{"[\"$defs\", \"profile\"]", &profile_keys},
		{"[\"$defs\", \"profile\", \"properties\", \"limits\"]", &limits_keys},
		{"[\"$defs\", \"exec\"]", &exec_keys},
		{"[\"$defs\", \"*item\"]", &item_keys},
	};
	printf("[\n");
	for (size_t i = 0; i < ARRAY_LENGTH(maps); i++)
		print_keys(maps[i].path, maps[i].keys, i + 1 < ARRAY_LENGTH(maps) ? "," : "");
	printf("]\n");
	return 0;
}
