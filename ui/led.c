#include "ui/led.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/resolved.h"
#include "base/string.h"
#include "schema/grant.h"
#include "schema/message.h"
#include "ui/broker.h"

struct led {
	const json_t *whose;
	const struct permission *permission;
	const char *target, *real;
	char *project;    /* as the broker has it; owned */
	json_int_t grant; /* that allows the target by its name; 0: none */
};

/* NULL: it can't be told. */
static json_t *verdict_of(struct led *led, const char *permission, const char *path) {
	json_t *reply = NULL, *body = json_deep_copy(led->whose);
	json_object_set_new(body, "permission", json_string(permission));
	json_object_set_new(body, "target", message_bytes(path));
	if (broker_call("why", body, &reply, NULL) < 0) return NULL;
	json_t *verdict = json_incref(json_object_get(reply, "verdict"));
	if (!led->project) message_bytes_take(json_object_get(reply, "project"), &led->project, NULL);
	json_decref(reply);
	return verdict;
}

static bool says(const json_t *verdict, enum effect effect) {
	return string_equal(json_string_value(json_object_get(verdict, "effect")), effect_name(effect));
}

/* By somebody's word, not for want of one. */
static bool is_denied(const json_t *verdict) {
	return says(verdict, EFFECT_DENY) &&
	       !string_equal(json_string_value(json_object_get(verdict, "module")), "none");
}

static int look_at_grant(void *context, const json_t *item, struct error *error) {
	const struct led *led = context;
	CLEANUP_GRANT struct grant grant = {0};
	if (json_integer_value(json_object_get(item, "id")) != led->grant) return 0;
	int r = grant_from_json(item, &grant, error);
	if (r < 0 || !grant.resolved || !path_is_below(led->target, grant.pattern)) return r;
	CLEANUP_FREE char *there = string_format("%s%s", grant.resolved, led->target + strlen(grant.pattern));
	return string_equal(there, led->real);
}

/* Did the path lead there when the user granted it? */
static bool is_granted_there(struct led *led) {
	struct channel *channel;
	if (led->grant == 0 || broker_connect(NULL, &channel, NULL) < 0) return false;
	const struct listing grants = {.what = "grants", .each = look_at_grant, .context = led};
	int r = broker_list(channel, &grants, NULL);
	channel_free(channel);
	return r > 0;
}

static bool leaves_project(const struct led *led, const char *link) {
	return led->project && path_is_below(link, led->project) && !path_is_below(led->real, led->project);
}

/* May a tool, or whoever wrote the project, have made the link? The runner's plan has it that nothing is given so. */
static bool is_planted(struct led *led, const char *link) {
	CLEANUP_FREE char *folder = path_parent(link);
	CLEANUP_FREE char *real = resolved_path(folder);
	json_t *writing = verdict_of(led, permission_of(PERMISSION_FS_WRITE).name, real ? real : folder);
	const bool planted = !writing || says(writing, EFFECT_ALLOW) || leaves_project(led, link);
	json_decref(writing);
	return planted;
}

/* Up to and with the last link in the target; NULL: one may be planted. */
static char *last_link(struct led *led) {
	char *last = NULL;
	for (size_t i = 1; led->target[i - 1]; i++) {
		struct stat status;
		if (led->target[i] != '/' && led->target[i] != '\0') continue;
		CLEANUP_FREE char *path = string_copy_bytes(led->target, i);
		if (lstat(path, &status) < 0 || !S_ISLNK(status.st_mode)) continue;
		free(last);
		last = is_planted(led, path) ? NULL : STEAL(path);
		if (!last) return NULL;
	}
	return last;
}

/* What allows the folder of a link allows nothing of where the link leads. */
static bool is_given_by_name(struct led *led, const json_t *named) {
	led->grant = json_integer_value(json_object_get(named, "grant"));
	if (is_granted_there(led)) return true;
	CLEANUP_FREE char *link = last_link(led);
	if (!link) return false;
	CLEANUP_FREE char *folder = path_parent(link);
	json_t *above = verdict_of(led, led->permission->name, folder);
	const bool same = !above || (says(above, EFFECT_ALLOW) &&
				     json_equal(json_object_get(above, "rule"), json_object_get(named, "rule")) &&
				     json_equal(json_object_get(above, "grant"), json_object_get(named, "grant")));
	json_decref(above);
	return !same;
}

char *led_name(const json_t *whose, const struct permission *permission, const char *target) {
	CLEANUP_FREE char *real = permission_is_of_files(permission) ? resolved_path(target) : NULL;
	if (!real) return NULL;
	struct led led = {.whose = whose, .permission = permission, .target = target, .real = real};
	json_t *there = verdict_of(&led, permission->name, real), *named = verdict_of(&led, permission->name, target);
	bool own = false;
	if (there && named && !is_denied(there))
		own = is_denied(named) ||
		      (!says(there, EFFECT_ALLOW) && says(named, EFFECT_ALLOW) && is_given_by_name(&led, named));
	json_decref(there);
	json_decref(named);
	free(led.project);
	return own ? NULL : STEAL(real);
}
