/* What rules a session has: which profile, and which layers they come from. */
#include "session_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "policies/policies.h"
#include "policies/project_file.h"
#include "policy/source.h"
#include "sandbox.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session_tell.h"
#include "session_terminate.h"
#include "wire/client.h"

static bool lies_in_writable_place(const char *path, const struct session_open *wish) {
	const char *const places[] = {wish->project, wish->root, "/tmp", "/var/tmp", "/dev/shm"};
	return path_is_below_any(path, places, ARRAY_LENGTH(places));
}

/* An executable that the sandboxed may have written must not choose its own rights (design section 4). */
static const char *choose_profile(const struct policy *policy, const struct session_open *wish) {
	if (wish->profile) return wish->profile;
	const char *command = wish->command.items[0];
	CLEANUP_FREE char *as_named = NULL;
	if (lies_in_writable_place(wish->executable, wish)) return "default";
	if (strchr(command, '/') &&
	    (path_normalise(wish->cwd, command, &as_named, NULL) < 0 || lies_in_writable_place(as_named, wish)))
		return "default";
	return policy_profile_of_command(policy, path_name(command));
}

static int refuse_profile(const struct session *session, const struct policy *policy, const char *profile,
			  struct error *error) {
	const struct project_file *file = session->project_file;
	CLEANUP_FREE char *shown = text_visible_cut(profile, 60);
	if (project_file_needs_trust(file) && policy_document_has_profile(file->said, profile))
		return error_set(error, ENOENT,
				 "the profile '%s' stands only in %s, which you have not trusted: `sbx policy trust`",
				 shown, file->path);
	CLEANUP_FREE char *hint = policy_profile_hint(policy, profile);
	return error_set(error, ENOENT, "there is no profile '%s' (`sbx policy show` lists what there is)%s", shown,
			 hint);
}

static int assemble(const struct session *session, struct policy **ret_policy, struct error *error) {
	return policies_assemble(session->broker->policies, session->own_policy, session->project_file, ret_policy,
				 error);
}

static int compile_with_roots(const struct session *session, struct policy *policy, const char *profile,
			      struct ruleset **ret_ruleset, struct error *error) {
	struct policies *policies = session->broker->policies;
	const struct policies_place place = {.project = session->root, .roots = &session->roots};
	if (!session->own_policy) return policies_compile(policies, policy, profile, &place, ret_ruleset, error);
	/* nobody else has these */
	return policies_compile_anew(policies, policy, profile, &place, ret_ruleset, error);
}

/* Where there are too many rules with all roots, those that were found last are left out: what a tool makes keeps
 * nobody from working. */
static int compile(struct session *session, struct policy *policy, const char *profile, struct ruleset **ret_ruleset,
		   struct error *error) {
	int r = compile_with_roots(session, policy, profile, ret_ruleset, error);
	while (r == -E2BIG && session->roots.count > 2) {
		free(session->roots.items[--session->roots.count]);
		if (error) *error = ERROR_NONE;
		r = compile_with_roots(session, policy, profile, ret_ruleset, error);
	}
	return r;
}

int session_make_rules(struct session *session, const struct session_open *wish, struct error *error) {
	struct policies *policies = session->broker->policies;
	struct policy *policy = NULL;
	int r = 0;
	session->project_file = project_file_follow(policies_project(policies, wish->root, wish->project));
	if (wish->policy)
		r = policies_load_own(policies, wish->policy_name ? wish->policy_name : "--policy", wish->policy,
				      &session->own_policy, error);
	if (r == 0) r = project_file_check(session->project_file, error);
	if (r == 0) r = assemble(session, &policy, error);
	if (r < 0) return r;
	const char *profile = choose_profile(policy, wish);
	session->subject.profile = string_copy(profile);
	r = policy_has_profile(policy, profile) ? compile(session, policy, profile, &session->ruleset, error)
						: refuse_profile(session, policy, profile, error);
	policy_unref(policy);
	session->has_host_network =
		r == 0 && !session->offline && ruleset_network(session->ruleset) == VIEW_NETWORK_HOST;
	return r == 0 && session->has_host_network ? ruleset_check_network(session->ruleset, error) : r;
}

/* The profile may have gone, or with it the trust in the file that has it, or the rules have become too many. What was
 * allowed before can't stay then: a tool could cause it, and so escape what its user denies meanwhile. */
static struct ruleset *rules_now(struct session *session, struct policy *policy) {
	const char *profile = session->subject.profile;
	struct ruleset *ruleset = NULL;
	struct error error = ERROR_NONE;
	int r = policy_has_profile(policy, profile) ? compile(session, policy, profile, &ruleset, &error)
						    : refuse_profile(session, policy, profile, &error);
	if (r == 0) return ruleset;
	log_warning("session %lld has no rules any more, so everything is denied: %s", (long long)session->record.id,
		    error.message);
	return ruleset_new_empty(policy, profile);
}

/* A network can't be taken from a sandbox that runs, so it is ended. */
static void end_unkept(struct session *session) {
	struct error error = ERROR_NONE, unwritten = ERROR_NONE;
	if (!session->has_host_network || ruleset_check_network(session->ruleset, &error) == 0) return;
	/* Borrowed: broker_note frees only the detail. */
	struct event event = {.kind = EVENT_POLICY,
			      .session = session->record.id,
			      .profile = session->subject.profile,
			      .project = session->subject.project,
			      .verdict = -1,
			      .why = error.message,
			      .detail = json_object()};
	log_warning("session %lld is ended: %s", (long long)session->record.id, error.message);
	if (broker_note(session->broker, &event, &unwritten) < 0) log_error("recording it: %s", unwritten.message);
	session_terminate(session);
}

static bool is_current(const struct session *session, const struct policy *policy) {
	return policy_equal(policy, ruleset_policy(session->ruleset)) &&
	       policies_ruleset_is_current(session->broker->policies, session->ruleset);
}

/* The view that follows from the policy, for whoever has it. */
static void renew(struct session *session, struct policy *policy) {
	struct ruleset *ruleset = rules_now(session, policy);
	ruleset_unref(session->ruleset);
	session->ruleset = ruleset;
	session_push_view(session);
}

void session_refresh_rules(struct session *session) {
	struct policy *policy;
	struct error error = ERROR_NONE;
	if (assemble(session, &policy, &error) < 0) {
		log_warning("session %lld keeps its rules: %s", (long long)session->record.id, error.message);
		return;
	}
	if (!is_current(session, policy)) {
		renew(session, policy);
		session_push_rules_changed(session, false);
		end_unkept(session);
	}
	policy_unref(policy);
}

int session_renew_rules(struct session *session, struct error *error) {
	struct policy *policy;
	int r = assemble(session, &policy, error);
	if (r < 0) return r;
	renew(session, policy);
	if (session->sandbox->init != 0) session_push_rules_changed(session, false);
	policy_unref(policy);
	return 0;
}

void sessions_refresh_rules(struct broker *broker) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		session_refresh_rules(session);
	}
}

bool sessions_have_current_rules(const struct broker *broker) {
	const struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (!policies_ruleset_is_current(broker->policies, session->ruleset)) return false;
	}
	return true;
}

static void warn(json_t *warnings, char *text) {
	json_array_append_new(warnings, message_bytes(text));
	free(text);
}

static void warn_of_layer(json_t *warnings, const struct layer *layer) {
	for (size_t i = 0; i < layer->now.warnings.count; i++)
		json_array_append_new(warnings, message_bytes(layer->now.warnings.items[i]));
	if (layer->now.errors.count == 0) return;
	warn(warnings, string_format("%s has an error (%s): the last good one stays in force; see sbx policy check",
				     layer->path, layer->now.errors.items[0]));
}

/* Did an earlier session work there? What can't be looked up is not said. */
static bool is_known_project(const struct session *session, const char *project) {
	struct store *store = session->broker->store;
	sqlite3_stmt *find = store_statement(store, STORE_SESSION_OF_PROJECT);
	store_bind_text(find, 1, project);
	store_bind_integer(find, 2, session->record.id);
	const bool found = sqlite3_step(find) == SQLITE_ROW;
	sqlite3_reset(find);
	return found;
}

static bool is_repository(const char *root) {
	CLEANUP_FREE char *git = path_join(root, ".git");
	struct stat status;
	return lstat(git, &status) == 0;
}

/* A tool that makes a repository in a subfolder moves the boundary of the project that its user knows (attack R27). */
static void warn_of_new_project(json_t *warnings, const struct session *session) {
	CLEANUP_FREE char *outer = string_copy(session->root);
	if (!is_repository(session->root) || is_known_project(session, session->subject.project)) return;
	while (strcmp(outer, "/") != 0) {
		char *parent = path_parent(outer);
		free(outer);
		outer = parent;
		if (!is_known_project(session, outer)) continue;
		warn(warnings,
		     string_format("%s is a project of its own by now, inside of %s: grants and rules of that "
				   "one don't hold here, but what its %s denies; to work in it, say --project %s",
				   session->root, outer, POLICY_PROJECT_FILE, outer));
		return;
	}
}

json_t *session_warnings(const struct session *session) {
	const struct project_file *file = session->project_file;
	json_t *warnings = json_array();
	warn_of_layer(warnings, policies_layer(session->broker->policies, POLICY_LAYER_ADMIN));
	if (!session->own_policy) warn_of_layer(warnings, policies_layer(session->broker->policies, POLICY_LAYER_USER));
	warn_of_new_project(warnings, session);
	char *unfollowed = ruleset_warning(session->ruleset);
	if (unfollowed) warn(warnings, unfollowed);
	if (project_file_needs_trust(file))
		warn(warnings,
		     string_format("%s is not trusted, so only its denials count: sbx policy trust shows what "
				   "it says and lets you trust it",
				   file->path));
	if (session->view_is_cut)
		warn(warnings,
		     string_format("more than %d grants of files hold for this profile and project: the sandbox "
				   "starts without the oldest of them (sbx grants lists them all)",
				   LIMIT_VIEW_PATHS));
	return warnings;
}
