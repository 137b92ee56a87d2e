/*
 * Bytes from a socket: what is taken as a message can be sent on and means the same, within the bounds of
 * schema/limits.h; and as one of the records that come in messages. Any byte string survives being a JSON text.
 */
#include <string.h>

#include "fuzz.h"
#include "schema/grant.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "schema/session.h"
#include "schema/verdict.h"
#include "schema/view.h"

static void check_text(const char *bytes) {
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *back = NULL;
	json_t *json = message_bytes(bytes);
	demand(json, "no JSON text");
	demand(message_bytes_take(json, &back, &error) == 0, "%s", error.message);
	demand(strcmp(bytes, back) == 0, "a byte string has changed");
	json_decref(json);
}

static size_t depth_of(const json_t *json) {
	size_t deepest = 0, index;
	const char *key;
	json_t *item;
	if (json_is_object(json)) {
		json_object_foreach ((json_t *)json, key, item) {
			size_t depth = depth_of(item);
			deepest = depth > deepest ? depth : deepest;
		}
	} else if (json_is_array(json)) {
		json_array_foreach ((json_t *)json, index, item) {
			size_t depth = depth_of(item);
			deepest = depth > deepest ? depth : deepest;
		}
	} else {
		return 0;
	}
	return deepest + 1;
}

static void check_grant(const json_t *message) {
	CLEANUP_GRANT struct grant grant = {0}, again = {0};
	struct error error = ERROR_NONE;
	if (grant_from_json(message, &grant, NULL) < 0) return;
	json_t *json = grant_to_json(&grant), *twice;
	demand(grant_from_json(json, &again, &error) == 0, "%s", error.message);
	twice = grant_to_json(&again);
	demand(json_equal(json, twice), "a grant becomes another one");
	json_decref(json);
	json_decref(twice);
}

static void check_view(const json_t *message) {
	CLEANUP_VIEW struct view *before = view_new(), *view = NULL;
	view_add_path(before, "/home/u", false, VIEW_ASK, false);
	(void)view_add_part(&view, before, message, NULL);
}

static void check_records(const json_t *message) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	CLEANUP_VERDICT struct verdict verdict = {0};
	struct session_record session = {0};
	check_grant(message);
	check_view(message);
	(void)prompt_from_json(message, &prompt, NULL);
	(void)verdict_from_json(message, &verdict, NULL);
	if (session_record_from_json(message, &session, NULL) == 0) session_record_finish(&session);
}

static void check_message(const char *bytes, size_t size) {
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *text = NULL;
	size_t text_size;
	json_t *message, *again;
	if (message_decode(bytes, size, &message, &error) < 0) {
		demand(*error.message, "refused without a word");
		return;
	}
	demand(depth_of(message) <= LIMIT_JSON_DEPTH, "nested %zu deep", depth_of(message));
	check_records(message);
	if (message_encode(message, &text, &text_size, &error) == 0) {
		demand(text_size <= LIMIT_MESSAGE, "%zu bytes", text_size);
		demand(message_decode(text, text_size, &again, &error) == 0, "%s", error.message);
		demand(json_equal(message, again), "it means something else: %.*s", (int)text_size, text);
		json_decref(again);
	}
	json_decref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	CLEANUP_FREE char *bytes = mem_copy(data, size);
	CLEANUP_FREE char *text = string_copy_bytes(bytes, size);
	check_text(text);
	check_message(bytes, size);
	return 0;
}
