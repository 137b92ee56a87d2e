#include "schema/message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/limits.h"

static const struct message_info messages[] = {
	[MESSAGE_HELLO] = {"hello", MESSAGE_REQUEST, false},
	[MESSAGE_ERROR] = {"error", MESSAGE_REPLY_ONLY, false},
	[MESSAGE_SESSION_OPEN] = {"session-open", MESSAGE_REQUEST, false},
	[MESSAGE_SESSION_CLOSE] = {"session-close", MESSAGE_REQUEST, true},
	[MESSAGE_RESOLVE] = {"resolve", MESSAGE_REQUEST, true},
	[MESSAGE_WRITABLE] = {"writable", MESSAGE_REQUEST, true},
	[MESSAGE_ROOTS] = {"roots", MESSAGE_REQUEST, true},
	[MESSAGE_DESCRIBE] = {"describe", MESSAGE_REQUEST, false},
	[MESSAGE_WANT] = {"want", MESSAGE_REQUEST, true},
	[MESSAGE_CHECK] = {"check", MESSAGE_REQUEST, false},
	[MESSAGE_NAME] = {"name", MESSAGE_REQUEST, true},
	[MESSAGE_CANCEL] = {"cancel", MESSAGE_REQUEST, false},
	[MESSAGE_EVENT] = {"event", MESSAGE_REQUEST, true},
	[MESSAGE_SETTLED] = {"settled", MESSAGE_REQUEST, true},
	[MESSAGE_SANDBOX] = {"sandbox", MESSAGE_REQUEST, true},
	[MESSAGE_GRANT] = {"grant", MESSAGE_REQUEST, false},
	[MESSAGE_REVOKE] = {"revoke", MESSAGE_REQUEST, false},
	[MESSAGE_KILL] = {"kill", MESSAGE_REQUEST, false},
	[MESSAGE_PUBLISH] = {"publish", MESSAGE_REQUEST, false},
	[MESSAGE_PUBLISHED] = {"published", MESSAGE_REQUEST, true},
	[MESSAGE_LIST] = {"list", MESSAGE_REQUEST, false},
	[MESSAGE_SUMMARY] = {"summary", MESSAGE_REQUEST, false},
	[MESSAGE_VERIFY] = {"verify", MESSAGE_REQUEST, false},
	[MESSAGE_AGENT] = {"agent", MESSAGE_REQUEST, false},
	[MESSAGE_ANSWER] = {"answer", MESSAGE_REQUEST, false},
	[MESSAGE_WHY] = {"why", MESSAGE_REQUEST, false},
	[MESSAGE_POLICY] = {"policy", MESSAGE_REQUEST, false},
	[MESSAGE_TRUST] = {"trust", MESSAGE_REQUEST, false},
	[MESSAGE_STATUS] = {"status", MESSAGE_REQUEST, false},
	[MESSAGE_TURN] = {"turn", MESSAGE_REQUEST, false},
	[MESSAGE_HELD] = {"held", MESSAGE_REQUEST, true},
	[MESSAGE_VIEW] = {"view", MESSAGE_PUSH, false},
	[MESSAGE_ENDED] = {"ended", MESSAGE_PUSH, false},
	[MESSAGE_TERMINATE] = {"terminate", MESSAGE_PUSH, false},
	[MESSAGE_SLEEP] = {"sleep", MESSAGE_PUSH, false},
	[MESSAGE_PUBLISHING] = {"publishing", MESSAGE_PUSH, false},
	[MESSAGE_PROMPT] = {"prompt", MESSAGE_PUSH, false},
	[MESSAGE_PROMPT_GONE] = {"prompt-gone", MESSAGE_PUSH, false},
	[MESSAGE_QUIET] = {"quiet", MESSAGE_PUSH, false},
	[MESSAGE_PROGRESS] = {"progress", MESSAGE_PUSH, false},
	[MESSAGE_HOLD] = {"hold", MESSAGE_PUSH, false},
};
static_assert(ARRAY_LENGTH(messages) == MESSAGE_TYPE_COUNT, "every message is in the table");

/* Jansson's functions fail quietly: a key that there was no memory for is missing, and a grant without its "session"
 * would be one for ever. So before main, in every program that has messages: it doesn't go on without memory. */
__attribute__((constructor)) static void use_memory(void) {
	json_set_alloc_funcs(mem_raw, free);
}

const struct message_info *message_info(enum message_type type) {
	return &messages[type];
}

int message_type_parse(const char *name, enum message_type *ret_type, struct error *error) {
	for (size_t i = 0; i < MESSAGE_TYPE_COUNT; i++) {
		if (strcmp(messages[i].name, name) != 0) continue;
		*ret_type = (enum message_type)i;
		return 0;
	}
	CLEANUP_FREE char *shown = text_visible_cut(name, 40);
	return error_set(error, EINVAL, "there is no message of type '%s'", shown);
}

int message_encode(const json_t *json, char **ret_text, size_t *ret_size, struct error *error) {
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT);
	if (!text) return error_set(error, EINVAL, "a message could not be written as JSON");
	size_t size = strlen(text);
	if (size > LIMIT_MESSAGE)
		return error_set(error, EMSGSIZE, "a message of %zu bytes is over the limit of %d", size,
				 LIMIT_MESSAGE);
	*ret_size = size;
	*ret_text = STEAL(text);
	return 0;
}

/* Jansson's own bound on nesting is 2048: enough to make our recursions deep. */
static bool is_too_deep(const char *text, size_t size) {
	unsigned depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '[') && ++depth > LIMIT_JSON_DEPTH)
			return true;
		else if (!in_string && (c == '}' || c == ']') && depth > 0)
			depth--;
	}
	return false;
}

int message_decode(const char *text, size_t size, json_t **ret_json, struct error *error) {
	json_error_t fault;
	if (size > LIMIT_MESSAGE)
		return error_set(error, EMSGSIZE, "a message of %zu bytes is over the limit of %d", size,
				 LIMIT_MESSAGE);
	if (is_too_deep(text, size))
		return error_set(error, EINVAL, "a message is nested deeper than %d", LIMIT_JSON_DEPTH);
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);
	if (!json) {
		CLEANUP_FREE char *what = text_visible_cut(fault.text, 120);
		return error_set(error, EINVAL, "a message is no valid JSON: %s", what);
	}
	if (!json_is_object(json)) {
		json_decref(json);
		return error_set(error, EINVAL, "a message must be a JSON object");
	}
	*ret_json = json;
	return 0;
}

/* U+F780 … U+F7FF stand for the bytes 0x80 … 0xff: EF 9E 80 … EF 9F BF. */
static void append_byte_point(struct string *out, unsigned char byte) {
	unsigned point = 0xf700U + byte;
	char utf8[3] = {(char)0xef, (char)(0x80 | (point >> 6 & 0x3f)), (char)(0x80 | (point & 0x3f))};
	string_append_bytes(out, utf8, sizeof utf8);
}

static bool is_byte_point(const char *text) {
	const unsigned char *bytes = (const unsigned char *)text;
	return bytes[0] == 0xef && (bytes[1] == 0x9e || bytes[1] == 0x9f);
}

json_t *message_bytes(const char *bytes) {
	if (!bytes) return json_null();
	size_t size = strlen(bytes);
	if (text_is_utf8(bytes, size) && !strstr(bytes, "\xef\x9e") && !strstr(bytes, "\xef\x9f"))
		return json_stringn(bytes, size);

	CLEANUP_STRING struct string out = {0};
	for (const char *p = bytes; *p;) {
		size_t length = 1;
		while (length < 4 && !text_is_utf8(p, length) && p[length]) length++;
		if (!text_is_utf8(p, length)) {
			append_byte_point(&out, (unsigned char)*p);
			length = 1;
		} else if (is_byte_point(p)) {
			for (size_t i = 0; i < length; i++) append_byte_point(&out, (unsigned char)p[i]);
		} else {
			string_append_bytes(&out, p, length);
		}
		p += length;
	}
	return json_stringn(out.data, out.size);
}

void message_write_bytes(struct string *out, const char *bytes) {
	const char *p = bytes;
	while (p && *p >= ' ' && *p <= '~' && *p != '"' && *p != '\\') p++;
	if (p && *p == '\0') {
		string_append_char(out, '"');
		string_append_bytes(out, bytes, (size_t)(p - bytes));
		string_append_char(out, '"');
		return;
	}
	json_t *json = message_bytes(bytes);
	message_write_json(out, json);
	json_decref(json);
}

void message_write_json(struct string *out, const json_t *json) {
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	string_append(out, text ? text : "null");
}

int message_bytes_take(const json_t *json, char **ret_bytes, struct error *error) {
	if (!json || json_is_null(json)) {
		*ret_bytes = NULL;
		return 0;
	}
	const char *text = json_string_value(json);
	if (!text) return error_set(error, EINVAL, "expected a text");
	CLEANUP_STRING struct string out = {0};
	if (!strchr(text, '\xef')) { /* as nearly always */
		*ret_bytes = string_copy(text);
		return 0;
	}
	string_append(&out, "");
	while (*text) {
		if (is_byte_point(text)) {
			unsigned point = ((unsigned char)text[1] & 0x3fU) << 6 | ((unsigned char)text[2] & 0x3fU);
			unsigned byte = point & 0xffU;
			if (byte < 0x80)
				return error_set(error, EINVAL, "a text has a character that stands for no byte");
			string_append_char(&out, (char)byte);
			text += 3;
		} else {
			string_append_char(&out, *text++);
		}
	}
	*ret_bytes = string_steal(&out);
	return 0;
}
