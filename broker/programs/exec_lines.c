#include "exec_lines.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"

struct exec_lines {
	char *folder;
	struct policy_source source;
	struct policy_document *builtin; /* whose profiles the administrator's may extend */
	char *seen;                      /* policy_source_look */
	struct policy_reading reading;
};

struct exec_lines *exec_lines_new(const char *folder, uid_t owner) {
	struct exec_lines *lines = mem_new(struct exec_lines);
	lines->folder = string_copy(folder);
	lines->source = (struct policy_source){.layer = POLICY_LAYER_ADMIN, .folder = lines->folder, .owner = owner};
	lines->builtin = policy_load_builtin();
	return lines;
}

void exec_lines_free(struct exec_lines *lines) {
	if (!lines) return;
	policy_reading_finish(&lines->reading);
	policy_document_unref(lines->builtin);
	free(lines->seen);
	free(lines->folder);
	free(lines);
}

static void refresh(struct exec_lines *lines) {
	CLEANUP_FREE char *seen = policy_source_look(&lines->source);
	if (string_equal(seen, lines->seen)) return;
	free(lines->seen);
	lines->seen = STEAL(seen);
	struct policy_reading reading;
	policy_source_read(&lines->source, &lines->builtin, 1, &reading);
	struct policy_reading *worse = reading.errors.count > 0 ? &reading : &lines->reading;
	struct policy_reading dropped = *worse;
	if (worse == &lines->reading) lines->reading = reading;
	policy_reading_finish(&dropped);
}

bool exec_lines_has(struct exec_lines *lines, char *const *argv, int64_t timeout_ms) {
	refresh(lines);
	return policy_allows_exec(lines->reading.documents, lines->reading.count, argv, timeout_ms);
}
