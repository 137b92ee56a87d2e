/* What `sbx complete` asks of others: a broker that runs already, and the policy files. Without one it asks nobody. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "completion/complete.h"
#include "runner/home_list.h"
#include "runner/homes.h"
#include "runner/inside.h"
#include "runner/project.h"
#include "schema/grant.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "schema/session.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/policy_files.h"
#include "ui/words.h"

/* NULL: none runs, or it isn't ours to ask. */
static struct channel *connect_running(void) {
	struct channel *channel = NULL;
	CLEANUP_FREE char *path = NULL;
	if (geteuid() == 0 || inside_refuse(NULL) < 0 || channel_socket_path(&path, NULL) < 0 ||
	    channel_connect(path, &channel, NULL) < 0)
		return NULL;
	return channel;
}

/* The newest first. */
static void list(struct completion *completion, const char *what, bool ended_too,
		 int (*each)(void *context, const json_t *item, struct error *error)) {
	CLEANUP_CHANNEL struct channel *channel = connect_running();
	const struct listing listing = {
		.what = what, .newest = true, .ended_too = ended_too, .each = each, .context = completion};
	if (channel) broker_list(channel, &listing, NULL);
}

/* Not again what stands in the line already. 1, which ends the listing, when there is no room for more. */
static int offer_id(struct completion *completion, int64_t id, const char *description) {
	CLEANUP_FREE char *text = string_format("%lld", (long long)id);
	if (!strings_contain(&completion->operands, text)) complete_offer(completion, text, description);
	return completion->offered >= LIMIT_COMPLETIONS;
}

/* A path of the home as people write it; any other target as it is. */
static char *target_words(const struct permission *permission, const char *target) {
	return permission_is_of_path(permission) && target ? human_path(target) : string_copy(target ? target : "");
}

/* Grants: "npm: fs:read ~/.npmrc, in 58m" */

static int offer_grant(void *context, const json_t *item, struct error *error) {
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(item, &grant, error);
	if (r < 0) return r;
	CLEANUP_FREE char *end = human_end(&grant, clock_ms(CLOCK_REALTIME));
	CLEANUP_FREE char *target = target_words(&grant.permission, grant.pattern);
	CLEANUP_FREE char *text =
		string_format("%s: %s%s %s, %s", grant.profile ? grant.profile : "any",
			      grant.effect == EFFECT_DENY ? "not " : "", grant.permission.name, target, end);
	return offer_id(context, grant.id, text);
}

void complete_grants(struct completion *completion) {
	list(completion, "grants", false, offer_grant);
}

/* Prompts: "npm: net:access example.org:443" */

static int offer_prompt(void *context, const json_t *item, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	int r = prompt_from_json(item, &prompt, error);
	if (r < 0) return r;
	CLEANUP_FREE char *target = target_words(&prompt.permission, prompt.target);
	CLEANUP_FREE char *text = string_format("%s: %s %s", prompt.profile, prompt.permission.name, target);
	return offer_id(context, prompt.id, text);
}

void complete_prompts(struct completion *completion) {
	list(completion, "prompts", false, offer_prompt);
}

static int offer_scopes(void *context, const json_t *item, struct error *error) {
	struct completion *completion = context;
	CLEANUP_PROMPT struct prompt prompt = {0};
	int64_t asked = 0;
	int r = prompt_from_json(item, &prompt, error);
	if (r == 0) r = id_parse(completion->operands.items[0], "prompt", &asked, error);
	if (r < 0 || prompt.id != asked) return r;
	for (size_t i = 0; i < prompt.scopes.count; i++)
		complete_offer(completion, prompt.scopes.items[i],
			       string_equal(prompt.scopes.items[i], "exact") ? prompt.target : NULL);
	return 1;
}

void complete_scopes(struct completion *completion) {
	if (completion->operands.count > 0) list(completion, "prompts", false, offer_scopes);
}

/* Sessions: "npm: npm install, in ~/app" */

static int offer_session(void *context, const json_t *item, struct error *error) {
	CLEANUP_SESSION struct session_record session = {0};
	int r = session_record_from_json(item, &session, error);
	if (r < 0) return r;
	CLEANUP_FREE char *place = human_path(session.project);
	CLEANUP_FREE char *text = string_format("%s: %s, in %s", session.profile, session.command, place);
	return offer_id(context, session.id, text);
}

void complete_sessions(struct completion *completion) {
	list(completion, "sessions", false, offer_session);
}

void complete_sessions_ever(struct completion *completion) {
	list(completion, "sessions", true, offer_session);
}

/* What policies name */

/* As the broker has read them, a trusted project's among them. false: nobody to ask. */
static bool offer_known_profiles(struct completion *completion) {
	CLEANUP_CHANNEL struct channel *channel = connect_running();
	CLEANUP_FREE char *directory = NULL;
	CLEANUP_PROJECT struct project project = {0};
	if (!channel) return false;
	json_t *reply = NULL, *body = json_object();
	if (working_directory(&directory, NULL) == 0 &&
	    project_find(NULL, directory, home_directory(), &project, NULL) == 0) {
		json_put_text(body, "project", project.project);
		json_put_text(body, "root", project.root);
	}
	if (channel_call(channel, "policy", body, &reply, NULL) < 0) return false;
	size_t index;
	json_t *name;
	json_array_foreach (json_object_get(reply, "profiles"), index, name)
		complete_offer(completion, json_string_value(name), NULL);
	json_decref(reply);
	return true;
}

void complete_profiles(struct completion *completion) {
	if (offer_known_profiles(completion)) return;
	CLEANUP_STRINGS struct strings profiles = {0};
	policy_files_names(&profiles, NULL);
	for (size_t i = 0; i < profiles.count; i++) complete_offer(completion, profiles.items[i], NULL);
}

/* What a tool has left: as `sbx home keep` takes it, relative to the home. */
void complete_kept(struct completion *completion) {
	const char *profile = completion->profile ? completion->profile : "default", *home = home_directory();
	if (!home || !policy_is_profile_name(profile)) return;
	CLEANUP_FREE char *place = homes_place(VIEW_HOME_OWN, home, profile, NULL);
	CLEANUP_FD int folder = home_open(place, NULL);
	CLEANUP_STRINGS struct strings names = {0};
	if (folder >= 0) homes_names(folder, &names);
	for (size_t i = 0; i < names.count; i++) complete_offer(completion, names.items[i], NULL);
}

void complete_permissions(struct completion *completion) {
	for (size_t i = 0; i < PERMISSION_CUSTOM; i++) {
		const struct permission permission = permission_of((enum permission_kind)i);
		CLEANUP_FREE char *text = permission_sentence(&permission, NULL, "");
		if (string_ends(text, " ")) text[strlen(text) - 1] = '\0';
		complete_offer(completion, permission.name, text);
	}
	CLEANUP_STRINGS struct strings own = {0};
	policy_files_names(NULL, &own);
	for (size_t i = 0; i < own.count; i++) complete_offer(completion, own.items[i], "of your own");
}
