#include "schema/prompt.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "schema/record.h"

static const struct field fields[] = {
	{"id", FIELD_ID, offsetof(struct prompt, id), NULL},
	{"session", FIELD_ID, offsetof(struct prompt, session), NULL},
	{"bundle", FIELD_ID, offsetof(struct prompt, bundle), NULL},
	{"profile", FIELD_TEXT, offsetof(struct prompt, profile), NULL},
	{"project", FIELD_TEXT, offsetof(struct prompt, project), NULL},
	{"command", FIELD_TEXT, offsetof(struct prompt, command), NULL},
	{"permission", FIELD_PERMISSION, offsetof(struct prompt, permission), NULL},
	{"description", FIELD_TEXT, offsetof(struct prompt, description), NULL},
	{"target", FIELD_TEXT, offsetof(struct prompt, target), NULL},
	{"name", FIELD_TEXT, offsetof(struct prompt, name), NULL},
	{"process", FIELD_TEXT, offsetof(struct prompt, process), NULL},
	{"parents", FIELD_STRINGS, offsetof(struct prompt, parents), NULL},
	{"reason", FIELD_TEXT, offsetof(struct prompt, reason), NULL},
	{"why", FIELD_TEXT, offsetof(struct prompt, why), NULL},
	{"confirm", FIELD_BOOL, offsetof(struct prompt, confirm_terminal), NULL},
	{"opens_folder", FIELD_BOOL, offsetof(struct prompt, opens_folder), NULL},
	{"denial_lasts", FIELD_BOOL, offsetof(struct prompt, denial_lasts), NULL},
	{"scopes", FIELD_STRINGS, offsetof(struct prompt, scopes), NULL},
	{"deadline", FIELD_STAMP, offsetof(struct prompt, deadline_ms), NULL},
	{"lifetime_ms", FIELD_COUNT, offsetof(struct prompt, lifetime_ms), NULL},
	{"desktop", FIELD_BOOL, offsetof(struct prompt, desktop), NULL},
};
static const struct record prompt_record = {"prompt", fields, ARRAY_LENGTH(fields)};

void prompt_finish(struct prompt *prompt) {
	record_finish(&prompt_record, prompt);
	*prompt = (struct prompt){0};
}

json_t *prompt_to_json(const struct prompt *prompt) {
	json_t *json = record_to_json(&prompt_record, prompt);
	if (prompt->token[0]) json_object_set_new(json, "token", json_string(prompt->token));
	return json;
}

int prompt_from_json(const json_t *json, struct prompt *ret_prompt, struct error *error) {
	const char *token = json_string_value(json_object_get(json, "token"));
	if (token && strlen(token) != RANDOM_TOKEN_SIZE - 1)
		return error_set(error, EINVAL, "the token of a prompt has the wrong length");
	json_t *rest = json_copy((json_t *)json);
	json_object_del(rest, "token");
	json_object_del(rest, "type"); /* of the push that brought it */
	struct prompt prompt = {0};
	int r = record_from_json(&prompt_record, rest, &prompt, error);
	json_decref(rest);
	if (r < 0) return r;
	if (token) memcpy(prompt.token, token, RANDOM_TOKEN_SIZE);
	*ret_prompt = prompt;
	return 0;
}
