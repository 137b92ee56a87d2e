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
	struct strings named; /* "ORIGIN\nPATTERN" of `items` */
	json_t *items;
};

/* A running sandbox, or (session 0) who runs something in the project. */
struct whose {
	const char *profile, *project;
	int64_t session;
};

/* As `describe` and `why` are asked. */
static void put_whose(json_t *body, const struct whose *whose) {
	if (whose->session != 0) {
		json_object_set_new(body, "session", json_integer(whose->session));
		return;
	}
	json_object_set_new(body, "profile", message_bytes(whose->profile));
	json_object_set_new(body, "project", message_bytes(whose->project));
}

/* A denial there takes what the link would give. */
static bool is_denied(const struct leading *leading, const struct whose *whose, const char *path) {
	json_t *reply = NULL,
	       *body = json_pack("{s:s, s:o}", "permission", leading->permission->name, "target", message_bytes(path));
	put_whose(body, whose);
	if (channel_call(leading->channel, "why", body, &reply, NULL) < 0) return false;
	const json_t *verdict = json_object_get(reply, "verdict");
	const bool denied = string_equal(json_string_value(json_object_get(verdict, "effect")), "deny") &&
			    !string_equal(json_string_value(json_object_get(verdict, "module")), "none");
	json_decref(reply);
	return denied;
}

/* A grant or a rule is named once, however many profiles have it. */
static void name(struct leading *leading, const struct whose *whose, const json_t *item, const char *pattern,
		 const char *there) {
	const json_t *grant = json_object_get(item, "grant"), *rule = json_object_get(item, "rule"),
		     *stands_in = json_object_get(item, "profile");
	CLEANUP_FREE char *origin = json_dumps(grant ? grant : rule, JSON_ENCODE_ANY);
	CLEANUP_FREE char *key = string_format("%s\n%s", origin ? origin : "", pattern);
	if (strings_contain(&leading->named, key)) return;
	strings_take(&leading->named, STEAL(key));
	json_t *named = json_pack("{s:o, s:O, s:o, s:o, s:O?, s:O?}", "session",
				  whose->session ? json_integer(whose->session) : json_null(), "permission",
				  json_object_get(item, "permission"), "target", message_bytes(pattern), "resolved",
				  message_bytes(there), "grant", grant, "rule", rule);
	json_object_set_new(named, "profile",
			    stands_in ? json_incref((json_t *)stands_in) : message_bytes(whose->profile));
	json_array_append_new(leading->items, named);
}

static void look(struct leading *leading, const struct whose *whose, const json_t *item) {
	struct permission given;
	CLEANUP_FREE char *pattern = NULL;
	if (permission_parse(json_string_value(json_object_get(item, "permission")), &given, NULL) < 0 ||
	    !permission_includes(&given, leading->permission) ||
	    message_bytes_take(json_object_get(item, "pattern"), &pattern, NULL) < 0)
		return;
	CLEANUP_FREE char *there = words_resolved(&given, pattern);
	if (!there || (!path_is_below(there, leading->path) && !path_is_below(leading->path, there))) return;
	const char *deeper = path_is_below(there, leading->path) ? there : leading->path;
	if (!is_denied(leading, whose, deeper)) name(leading, whose, item, pattern, there);
}

/* Who can't be described, such as a session that has just ended, has nothing. */
static void ask_subject(struct leading *leading, const struct whose *whose) {
	json_t *reply = NULL, *item, *body = json_pack("{s:b}", "origins", 1);
	size_t index;
	put_whose(body, whose);
	if (channel_call(leading->channel, "describe", body, &reply, NULL) < 0) return;
	json_array_foreach (json_object_get(reply, "allow"), index, item) look(leading, whose, item);
	json_decref(reply);
}

static int ask_session(void *context, const json_t *item, struct error *error) {
	CLEANUP_FREE char *profile = NULL;
	int r = message_bytes_take(json_object_get(item, "profile"), &profile, error);
	const struct whose whose = {.profile = profile, .session = json_integer_value(json_object_get(item, "id"))};
	if (r == 0 && profile && whose.session != 0) ask_subject(context, &whose);
	return r;
}

static int ask_profiles(struct leading *leading, struct error *error) {
	const char *home = getenv("HOME");
	json_t *reply = NULL, *name;
	size_t index;
	int r = home ? channel_call(leading->channel, "policy", json_object(), &reply, error) : 0;
	if (r < 0 || !home) return r;
	json_array_foreach (json_object_get(reply, "profiles"), index, name)
		if (json_is_string(name))
			ask_subject(leading, &(struct whose){.profile = json_string_value(name), .project = home});
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
	int r = leading.path ? ask_profiles(&leading, error) : 0;
	if (r == 0 && leading.path) r = broker_list(channel, &sessions, error);
	free(leading.path);
	strings_finish(&leading.named);
	return r;
}
