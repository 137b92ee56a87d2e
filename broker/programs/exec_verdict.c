#include "exec_verdict.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/verdict.h"

enum { VERSION = 1 };

char *exec_verdict_ask(const struct request *request) {
	json_t *json = json_object(), *parents = json_array();
	for (size_t i = 0; i < request->parents.count; i++)
		json_array_append_new(parents, message_bytes(request->parents.items[i]));
	json_object_set_new(json, "version", json_integer(VERSION));
	json_object_set_new(json, "session", request->session ? json_integer(request->session) : json_null());
	json_object_set_new(json, "profile", message_bytes(request->subject.profile));
	json_object_set_new(json, "project", message_bytes(request->subject.project));
	json_object_set_new(json, "permission", json_string(request->permission.name));
	json_object_set_new(json, "target", message_bytes(request->target));
	json_object_set_new(json, "process", message_bytes(request->process));
	json_object_set_new(json, "parents", parents);
	json_object_set_new(json, "reason", message_bytes(request->reason));
	/* json_dumps allocates with malloc, which free(3) takes. */
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT);
	if (!text) mem_exhausted();
	json_decref(json);
	return string_format("%s\n", text);
}

static int refuse_key(const char *key, struct error *error) {
	CLEANUP_FREE char *shown = text_visible_cut(key, 40);
	return error_set(error, EINVAL, "its verdict has an unknown key '%s'", shown);
}

static int read_why(const json_t *json, char **ret_why, struct error *error) {
	if (!json || json_is_null(json)) return 0;
	if (!json_is_string(json)) return error_set(error, EINVAL, "the 'why' of its verdict is no text");
	if (json_string_length(json) > LIMIT_REASON)
		return error_set(error, EINVAL, "the 'why' of its verdict is longer than %d bytes", LIMIT_REASON);
	return message_bytes_take(json, ret_why, error);
}

static int read_word(const json_t *json, struct stack_exec_answer *answer, struct error *error) {
	const char *word = json_string_value(json);
	answer->passes = string_equal(word, "pass");
	answer->effect = string_equal(word, "allow") ? EFFECT_ALLOW : EFFECT_DENY;
	if (answer->passes || answer->effect == EFFECT_ALLOW || string_equal(word, "deny")) return 0;
	return error_set(error, EINVAL, "its verdict is not allow, deny or pass");
}

int exec_verdict_read(const char *output, size_t size, struct stack_exec_answer *ret_answer, struct error *error) {
	struct stack_exec_answer answer = {0};
	json_t *json = NULL, *value;
	const char *key;
	int r = message_decode(output, size, &json, error);
	if (r < 0) return error_prefix(error, "its answer");
	json_object_foreach (json, key, value)
		if (strcmp(key, "verdict") != 0 && strcmp(key, "why") != 0 && r == 0) r = refuse_key(key, error);
	if (r == 0) r = read_word(json_object_get(json, "verdict"), &answer, error);
	if (r == 0) r = read_why(json_object_get(json, "why"), &answer.why, error);
	json_decref(json);
	if (r == 0) *ret_answer = answer;
	return r;
}
