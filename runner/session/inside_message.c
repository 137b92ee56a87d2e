#include "inside_message.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/target.h"

/* Parsing */

/* A text of at most `most` bytes without the byte 0; *ret_text is NULL when there is none. */
static int take_text(const json_t *json, const char *key, size_t most, char **ret_text, struct error *error) {
	CLEANUP_FREE char *text = NULL;
	int r = message_bytes_take(json_object_get(json, key), &text, error);
	if (r < 0) return error_prefix(error, "'%s'", key);
	if (text && strlen(text) > most) return error_set(error, E2BIG, "'%s' is longer than %zu bytes", key, most);
	*ret_text = STEAL(text);
	return 0;
}

static int parse_request(const json_t *json, struct inside_message *message, struct error *error) {
	CLEANUP_FREE char *name = NULL, *target = NULL;
	int r = take_text(json, "permission", LIMIT_PERMISSION, &name, error);
	if (r == 0) r = take_text(json, "target", LIMIT_TARGET, &target, error);
	if (r == 0) r = take_text(json, "reason", LIMIT_REASON, &message->reason, error);
	if (r == 0 && (!name || !target)) r = error_set(error, EINVAL, "a request names 'permission' and 'target'");
	if (r == 0) r = permission_parse(name, &message->permission, error);
	/* Whose home and folder would it be? The asking side has made it absolute. */
	return r < 0 ? r : target_parse(&message->permission, target, NULL, NULL, &message->target, error);
}

static const struct {
	const char *type;
	const char *const *keys; /* that it may have beside `type`; NULL-terminated */
	int (*parse)(const json_t *json, struct inside_message *message,
		     struct error *error); /* NULL: it says it all */
} table[] = {
	[INSIDE_REQUEST] = {"request", (const char *const[]){"permission", "target", "reason", NULL}, parse_request},
	[INSIDE_DESCRIBE] = {"describe", (const char *const[]){NULL}, NULL},
};
static_assert(ARRAY_LENGTH(table) == INSIDE_KIND_COUNT, "every message is in the table");

static bool is_key(enum inside_kind kind, const char *key) {
	for (const char *const *known = table[kind].keys; *known; known++)
		if (string_equal(*known, key)) return true;
	return string_equal(key, "type");
}

static int parse(json_t *json, struct inside_message *message, struct error *error) {
	const char *type = json_string_value(json_object_get(json, "type")), *key;
	json_t *value;
	size_t kind = 0;
	while (kind < INSIDE_KIND_COUNT && !string_equal(table[kind].type, type)) kind++;
	if (kind == INSIDE_KIND_COUNT)
		return error_set(error, EINVAL, "there are two messages here, 'request' and 'describe'");
	message->kind = (enum inside_kind)kind;
	json_object_foreach (json, key, value)
		if (!is_key(message->kind, key))
			return error_set(error, EINVAL, "'%s' has a key that it doesn't know", type);
	return table[kind].parse ? table[kind].parse(json, message, error) : 0;
}

int inside_message_parse(const char *bytes, size_t size, struct inside_message *ret_message, struct error *error) {
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	json_t *json = NULL;
	int r = message_decode(bytes, size, &json, error);
	if (r < 0) return r;
	r = parse(json, &message, error);
	json_decref(json);
	if (r < 0) return r;
	*ret_message = message;
	message = (struct inside_message){0};
	return 0;
}

void inside_message_finish(struct inside_message *message) {
	free(message->target);
	free(message->reason);
	*message = (struct inside_message){0};
}

/* Replies */

struct sentence {
	const char *by, *why;
};

static struct sentence words_of_allow(const struct verdict *verdict) {
	const bool granted = string_equal(verdict->module, "grants");
	if (verdict->once)
		return (struct sentence){"user",
					 "allowed for this once: nothing lasts, so its use may be asked about again"};
	if (verdict->asked_user) return (struct sentence){"user", "the user allowed it"};
	return granted ? (struct sentence){"grant", "the user has granted it"}
		       : (struct sentence){"rule", "a rule allows it"};
}

/* Never the verdict's own sentence: it names rules and files of the host. */
static struct sentence words_of_denial(const struct verdict *verdict) {
	static const struct {
		const char *module;
		struct sentence words;
	} modules[] = {
		{"grants", {"user", "the user has denied it"}},
		{"ask", {"nobody", "nobody answered"}},
		{"flood", {"flood", "there were too many requests: wait before you ask again"}},
		{"broker", {"failure", "sbx could not decide it"}},
	};
	if (verdict->asked_user) return (struct sentence){"user", "the user denied it"};
	for (size_t i = 0; i < ARRAY_LENGTH(modules); i++)
		if (string_equal(modules[i].module, verdict->module)) return modules[i].words;
	return (struct sentence){"rule", "nothing allows it, and nobody is asked about it"};
}

static json_t *reply_of(bool allowed, bool once, struct sentence words) {
	return json_pack("{s:s, s:b, s:b, s:s, s:s}", "type", "request", "allowed", allowed, "once", once, "by",
			 words.by, "why", words.why);
}

json_t *inside_reply_verdict(const struct verdict *verdict) {
	const bool allowed = verdict->effect == EFFECT_ALLOW;
	return reply_of(allowed, allowed && verdict->once,
			allowed ? words_of_allow(verdict) : words_of_denial(verdict));
}

json_t *inside_reply_no(const char *by, const char *why) {
	return reply_of(false, false, (struct sentence){by, why});
}

json_t *inside_reply_yes(const char *by, const char *why) {
	return reply_of(true, false, (struct sentence){by, why});
}

json_t *inside_reply_error(const char *why) {
	return json_pack("{s:s, s:o}", "type", "error", "message", message_bytes(why));
}

json_t *inside_reply_description(const json_t *described) {
	static const char *const told[] = {"profile", "project", "network", "allow", "ask", "permissions", "more"};
	json_t *reply = json_pack("{s:s}", "type", "describe");
	for (size_t i = 0; i < ARRAY_LENGTH(told); i++)
		json_object_set(reply, told[i], json_object_get(described, told[i]));
	return reply;
}
