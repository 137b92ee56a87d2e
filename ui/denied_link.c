#include "ui/denied_link.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"
#include "runner/program_links.h"
#include "schema/message.h"
#include "ui/broker.h"

/* By somebody's word, and not for want of one. */
static bool is_denied(const json_t *reply) {
	const json_t *verdict = json_object_get(reply, "verdict");
	const char *module = json_string_value(json_object_get(verdict, "module"));
	return string_equal(json_string_value(json_object_get(verdict, "effect")), "deny") &&
	       (string_equal(module, "rules") || string_equal(module, "grants"));
}

static json_t *request_of(const json_t *subject, const char *link, const char *file) {
	static const char *const keys[] = {"session", "profile", "project"};
	json_t *body = json_pack("{s:s, s:o, s:o}", "permission", "proc:spawn", "target", message_bytes(link), "name",
				 message_bytes(file));
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (json_object_get(subject, keys[i]))
			json_object_set(body, keys[i], json_object_get(subject, keys[i]));
	return body;
}

char *denied_link(const struct permission *permission, const char *target, const json_t *subject, json_t **ret_reply) {
	CLEANUP_STRINGS struct strings links = {0};
	CLEANUP_FREE char *file = permission->kind == PERMISSION_PROC_SPAWN ? mem_expect(realpath(target, NULL)) : NULL;
	if (file) program_links(file, getenv("PATH"), &links);
	for (size_t i = 0; i < links.count; i++) {
		json_t *reply = NULL;
		if (string_equal(links.items[i], target)) continue;
		if (broker_call("why", request_of(subject, links.items[i], file), &reply, NULL) < 0) continue;
		const bool denied = is_denied(reply);
		if (denied && ret_reply) *ret_reply = json_incref(reply);
		json_decref(reply);
		if (denied) return string_copy(links.items[i]);
	}
	return NULL;
}
