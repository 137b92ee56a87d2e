/*
 * What a tool says at the door in its sandbox: taken or refused with a sentence; a target that is taken is canonical,
 * and nothing is longer than its bound.
 */
#include <string.h>

#include "fuzz.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/target.h"
#include "session/inside_message.h"

static void check_request(const struct inside_message *message) {
	CLEANUP_FREE char *again = NULL;
	struct error error = ERROR_NONE;
	demand(message->target && *message->target, "a request for nothing");
	demand(strlen(message->target) < LIMIT_TARGET, "a target of %zu bytes", strlen(message->target));
	demand(!message->reason || strlen(message->reason) <= LIMIT_REASON, "too long a reason");
	demand(target_parse(&message->permission, message->target, NULL, NULL, &again, &error) == 0, "%s",
	       error.message);
	demand(strcmp(again, message->target) == 0, "'%s' isn't canonical", message->target);
}

/* Said again in our own words it is the same. */
static void check_same(const struct inside_message *message) {
	CLEANUP_INSIDE_MESSAGE struct inside_message again = {0};
	CLEANUP_FREE char *text = NULL;
	struct error error = ERROR_NONE;
	size_t size;
	json_t *json = json_pack("{s:s, s:s, s:o, s:o}", "type", "request", "permission", message->permission.name,
				 "target", message_bytes(message->target), "reason", message_bytes(message->reason));
	demand(message_encode(json, &text, &size, &error) == 0, "%s", error.message);
	json_decref(json);
	demand(size <= LIMIT_DOOR_MESSAGE, "%zu bytes don't go through the door", size);
	demand(inside_message_parse(text, size, &again, &error) == 0, "%s", error.message);
	demand(strcmp(again.target, message->target) == 0 && string_equal(again.reason, message->reason),
	       "it means something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	CLEANUP_FREE char *bytes = mem_copy(data, size);
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	if (inside_message_parse(bytes, size, &message, &error) < 0) {
		demand(*error.message && !message.target && !message.reason, "refused without a word, or by half");
	} else if (message.kind == INSIDE_REQUEST) {
		check_request(&message);
		check_same(&message);
	} else {
		demand(message.kind == INSIDE_DESCRIBE && !message.target && !message.reason, "no such message");
	}
	return 0;
}
