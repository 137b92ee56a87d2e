#include "rule_name.h"

#include "schema/grant.h"
#include "schema/message.h"
#include "schema/permission.h"

char *rule_name(struct channel *channel, int64_t session, const char *path, bool takes) {
	static const enum permission_kind kinds[] = {PERMISSION_FS_READ, PERMISSION_FS_WRITE};
	CLEANUP_FREE char *gives = NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		json_t *reply = NULL;
		json_t *asked = json_pack("{s:s, s:o, s:I}", "permission", permission_of(kinds[i]).name, "target",
					  message_bytes(path), "session", (json_int_t)session);
		if (channel_call(channel, "why", asked, &reply, NULL) < 0) return NULL;
		const json_t *verdict = json_object_get(reply, "verdict");
		const char *effect = json_string_value(json_object_get(verdict, "effect"));
		const bool allows = string_equal(effect, effect_name(EFFECT_ALLOW));
		CLEANUP_FREE char *rule = NULL;
		message_bytes_take(json_object_get(verdict, "rule"), &rule, NULL);
		json_decref(reply);
		if (rule && !(takes && allows)) return STEAL(rule);
		if (rule && !gives) gives = STEAL(rule);
	}
	return STEAL(gives);
}
