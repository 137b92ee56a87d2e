#include "ui/leading.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/words.h"

struct leading {
	struct channel *channel;
	const struct permission *permission;
	char *path;           /* where the target is */
	struct strings asked; /* subjects */
	json_t *items;
};

/* A denial there takes what the link would give. */
static bool is_denied(const struct leading *leading, const char *profile, const char *project, const char *path) {
	json_t *reply = NULL, *body = json_pack("{s:s, s:o, s:o, s:o}", "permission", leading->permission->name,
						"target", message_bytes(path), "profile", message_bytes(profile),
						"project", message_bytes(project));
	if (channel_call(leading->channel, "why", body, &reply, NULL) < 0) return false;
	const json_t *verdict = json_object_get(reply, "verdict");
	const bool denied = string_equal(json_string_value(json_object_get(verdict, "effect")), "deny") &&
			    !string_equal(json_string_value(json_object_get(verdict, "module")), "none");
	json_decref(reply);
	return denied;
}

/* Writing implies reading. */
static bool gives(const struct permission *given, const struct permission *wanted) {
	return given->kind == wanted->kind ||
	       (given->kind == PERMISSION_FS_WRITE && wanted->kind == PERMISSION_FS_READ);
}

static bool is_known(const struct leading *leading, const json_t *found) {
	size_t index;
	json_t *item;
	json_array_foreach (leading->items, index, item)
		if (json_equal(item, found)) return true;
	return false;
}

static void look(struct leading *leading, const char *profile, const char *project, const json_t *item) {
	struct permission given;
	CLEANUP_FREE char *pattern = NULL;
	if (permission_parse(json_string_value(json_object_get(item, "permission")), &given, NULL) < 0 ||
	    !gives(&given, leading->permission) ||
	    message_bytes_take(json_object_get(item, "pattern"), &pattern, NULL) < 0)
		return;
	CLEANUP_FREE char *there = words_resolved(&given, pattern);
	if (!there || (!path_is_below(there, leading->path) && !path_is_below(leading->path, there))) return;
	const char *deeper = path_is_below(there, leading->path) ? there : leading->path;
	if (is_denied(leading, profile, project, deeper)) return;
	json_t *found = json_pack("{s:o, s:s, s:o, s:o}", "profile", message_bytes(profile), "permission", given.name,
				  "target", message_bytes(pattern), "resolved", message_bytes(there));
	if (!is_known(leading, found)) json_array_append(leading->items, found);
	json_decref(found);
}

/* What can't be described, such as a profile of a project that is gone, holds for nobody. */
static void ask_subject(struct leading *leading, const char *profile, const char *project) {
	CLEANUP_FREE char *subject = string_format("%s\n%s", profile, project);
	json_t *reply = NULL, *item;
	size_t index;
	if (strings_contain(&leading->asked, subject)) return;
	strings_take(&leading->asked, STEAL(subject));
	if (channel_call(leading->channel, "describe",
			 json_pack("{s:o, s:o}", "profile", message_bytes(profile), "project", message_bytes(project)),
			 &reply, NULL) < 0)
		return;
	json_array_foreach (json_object_get(reply, "allow"), index, item) look(leading, profile, project, item);
	json_decref(reply);
}

static int ask_session(void *context, const json_t *item, struct error *error) {
	CLEANUP_FREE char *profile = NULL, *project = NULL;
	int r = message_bytes_take(json_object_get(item, "profile"), &profile, error);
	if (r == 0) r = message_bytes_take(json_object_get(item, "project"), &project, error);
	if (r == 0 && profile && project) ask_subject(context, profile, project);
	return r;
}

static int ask_profiles(struct leading *leading, struct error *error) {
	const char *home = getenv("HOME");
	json_t *reply = NULL, *name;
	size_t index;
	int r = home ? channel_call(leading->channel, "policy", json_object(), &reply, error) : 0;
	if (r < 0 || !home) return r;
	json_array_foreach (json_object_get(reply, "profiles"), index, name)
		if (json_is_string(name)) ask_subject(leading, json_string_value(name), home);
	json_decref(reply);
	return 0;
}

int leading_find(struct channel *channel, const struct permission *permission, const char *pattern, json_t *items,
		 struct error *error) {
	struct leading leading = {.channel = channel,
				  .permission = permission,
				  .path = words_real_path(permission, pattern),
				  .items = items};
	const struct listing sessions = {.what = "sessions", .each = ask_session, .context = &leading};
	int r = leading.path ? broker_list(channel, &sessions, error) : 0;
	if (r == 0 && leading.path) r = ask_profiles(&leading, error);
	free(leading.path);
	strings_finish(&leading.asked);
	return r;
}
