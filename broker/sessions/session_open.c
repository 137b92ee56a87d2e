#include "session_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "core/hooks.h"
#include "core/processes.h"
#include "flood.h"
#include "grants/granting.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "policies/project_file.h"
#include "sandbox.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/upstream.h"
#include "schema/view.h"
#include "session_denials.h"
#include "session_roots.h"
#include "session_rules.h"
#include "session_tell.h"
#include "wire/client.h"

void session_free(struct session *session) {
	if (!session) return;
	session_record_finish(&session->record);
	subject_finish(&session->subject);
	if (session->sandbox) sandbox_free(session->sandbox);
	free(session->root);
	strings_finish(&session->roots);
	strings_finish(&session->repositories);
	ruleset_unref(session->ruleset);
	policy_document_unref(session->own_policy);
	project_file_leave(session->project_file);
	strings_finish(&session->environment);
	strings_finish(&session->given);
	view_free(session->view);
	flood_free(session->flood);
	free(session->granted.items);
	strings_finish(&session->denied_names);
	if (session->terminating) event_free(session->terminating);
	free(session);
}

DEFINE_CLEANUP(struct session *, session_free);

static int check_path(const char *what, const char *path, struct error *error) {
	return body_check_path(path, error) < 0 ? error_prefix(error, "%s", what) : 0;
}

static char *command_line(const struct strings *command) {
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < command->count && line.size < LIMIT_COMMAND; i++)
		string_appendf(&line, "%s%s", i == 0 ? "" : " ", command->items[i]);
	if (line.size > LIMIT_COMMAND) line.data[LIMIT_COMMAND] = '\0';
	return string_steal(&line);
}

static int insert_row(struct session *session, struct error *error) {
	struct session_record *record = &session->record;
	struct store *store = session->broker->store;
	sqlite3_stmt *insert = store_statement(store, STORE_SESSION_INSERT);
	store_bind_text(insert, 1, record->profile);
	store_bind_text(insert, 2, record->project);
	store_bind_text(insert, 3, record->command);
	store_bind_integer(insert, 4, record->pid);
	store_bind_integer(insert, 5, record->started_ms);
	int r = store_run(store, insert, error, "recording a session");
	if (r == 0) record->id = store_last_id(store);
	return r;
}

static int write_wish(struct session *session, const char *text, enum effect effect, const char *resolved,
		      int64_t *ret_id, struct error *error) {
	struct granting wish = {.effect = effect,
				.resolved = resolved && *resolved ? resolved : NULL,
				.profile = session->subject.profile,
				.project = session->subject.project,
				.session = session->record.id,
				.lifetime = LIFETIME_SESSION,
				.origin = GRANT_ORIGIN_CLI};
	struct pattern_scope scope = policies_scope(session->broker->policies, session->root);
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	CLEANUP_GRANT struct grant grant = {0};
	int r = permission_split(text, &wish.permission, &wish.target, error);
	if (r == 0) r = granting_check_resolved(wish.resolved, error);
	if (r == 0) r = policy_check_permission(ruleset_policy(session->ruleset), &wish.permission, error);
	if (r == 0) r = granting_compile(session->broker, &wish, &scope, session->ruleset, &pattern, error);
	if (r == 0) r = granting_write(session->broker, &wish, pattern, true, &grant, error);
	*ret_id = grant.id;
	return r;
}

/* What a runner wishes again, since its broker is another one, may have been revoked meanwhile. What can't be read is
 * taken for that. */
static bool was_revoked(const struct session *session, int64_t id) {
	CLEANUP_GRANT struct grant grant = {0};
	bool active;
	if (id == 0) return false;
	return grants_read(session->broker->grants, id, &grant, &active, NULL) < 0 || grant.revoked_ms > 0;
}

static int write_allows(struct session *session, const struct session_open *wish, struct error *error) {
	struct body_ids *granted = &session->granted;
	granted->items = mem_array(int64_t, wish->allow.count + 1);
	for (size_t i = 0; i < wish->allow.count; i++) {
		int64_t *id = &granted->items[granted->count++];
		*id = i < wish->granted.count ? wish->granted.items[i] : 0;
		if (was_revoked(session, *id)) continue;
		const char *resolved = i < wish->resolved.count ? wish->resolved.items[i] : NULL;
		int r = write_wish(session, wish->allow.items[i], EFFECT_ALLOW, resolved, id, error);
		if (r < 0) return r;
	}
	return 0;
}

static int write_wishes(struct session *session, const struct session_open *wish, struct error *error) {
	int64_t id;
	int r = write_allows(session, wish, error);
	for (size_t i = 0; r == 0 && i < wish->deny.count; i++)
		r = write_wish(session, wish->deny.items[i], EFFECT_DENY, NULL, &id, error);
	return r;
}

/* A proxy's password is no part of what is recorded. */
static char *view_text(const struct view *view) {
	CLEANUP_VIEW struct view *recorded = view_copy(view);
	if (view->upstream) {
		free(recorded->upstream);
		recorded->upstream = upstream_shown(view->upstream);
	}
	json_t *parts = view_to_parts(recorded);
	char *text = json_dumps(parts, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(parts);
	if (!text) mem_exhausted();
	return text;
}

/* Many sessions have the same. */
static int keep_view(const struct session *session, char ret_hash[HASH_HEX_SIZE], struct error *error) {
	struct store *store = session->broker->store;
	CLEANUP_FREE char *text = view_text(session->view);
	hash_hex(ret_hash, text, strlen(text));
	sqlite3_stmt *insert = store_statement(store, STORE_VIEW_INSERT);
	store_bind_text(insert, 1, ret_hash);
	store_bind_text(insert, 2, text);
	int r = store_run(store, insert, error, "recording a view");
	if (r < 0) return r;
	sqlite3_stmt *update = store_statement(store, STORE_SESSION_VIEW);
	store_bind_integer(update, 1, session->record.id);
	store_bind_text(update, 2, ret_hash);
	return store_run(store, update, error, "recording a session's view");
}

/* The view as it was at the start, by its hash, in the session's row and in the chain. */
static int record_start(struct session *session, struct error *error) {
	char hash[HASH_HEX_SIZE];
	session->view = session_make_view(session, &session->view_is_cut, error);
	if (!session->view) return -EIO;
	int r = keep_view(session, hash, error);
	if (r < 0) return r;
	struct event event = {.kind = EVENT_SESSION_START,
			      .session = session->record.id,
			      .profile = session->subject.profile,
			      .project = session->subject.project,
			      .verdict = -1,
			      .detail = json_object()};
	json_object_set_new(event.detail, "command", message_bytes(session->record.command));
	json_object_set_new(event.detail, "view", json_string(hash));
	const struct project_file *file = session->project_file;
	if (file->said)
		json_object_set_new(event.detail, "project_file",
				    json_pack("{s:s, s:b}", "hash", file->hash, "trusted", file->trusted));
	return broker_record(session->broker, &event, error);
}

/* What --env names needs no allow, but a denial is a denial. */
static int check_passed(const struct session *session, const struct session_open *wish, struct error *error) {
	const struct decision_state opening = {.offline = session->offline};
	for (size_t i = 0; i < wish->passed.count; i++) {
		const struct request request = {.session = session->record.id,
						.subject = session->subject, /* borrowed texts: not finished */
						.permission = permission_of(PERMISSION_ENV_READ),
						.target = wish->passed.items[i]};
		CLEANUP_DECISION struct decision decision;
		decision_judge(session->broker, session->ruleset, &opening, &request, NULL, &decision, NULL);
		const struct verdict *verdict = &decision.verdict;
		if (verdict->effect != EFFECT_DENY || strcmp(verdict->module, "none") == 0) continue;
		CLEANUP_FREE char *name = text_visible_cut(request.target, 60);
		return error_set(error, EPERM, "--env %s: %s%s%s%s", name, verdict->why, verdict->rule ? " (" : "",
				 verdict->rule ? verdict->rule : "", verdict->rule ? ")" : "");
	}
	return 0;
}

static int write_session(struct session *session, const struct session_open *wish, struct error *error) {
	int r = broker_begin(session->broker, STORE_NORMAL, error);
	if (r < 0) return r;
	r = insert_row(session, error);
	if (r == 0) r = write_wishes(session, wish, error);
	if (r == 0) r = session_carry_denials(session, wish->before, error);
	if (r == 0) r = check_passed(session, wish, error);
	if (r == 0) r = record_start(session, error);
	if (r < 0) {
		broker_rollback(session->broker);
		return r;
	}
	return broker_commit(session->broker, error);
}

int session_open(struct client *client, const struct session_open *wish, struct session **ret_session,
		 struct error *error) {
	CLEANUP(session_free_p) struct session *session = mem_new(struct session);
	if (wish->command.count == 0) return error_set(error, EINVAL, "there is no command");
	int r = check_path("executable", wish->executable, error);
	if (r == 0) r = check_path("project", wish->project, error);
	if (r == 0) r = check_path("root", wish->root, error);
	if (r == 0) r = check_path("cwd", wish->cwd, error);
	if (r == 0) r = body_check_paths(&wish->roots, error);
	if (r < 0) return r;
	session->broker = client->broker;
	session->client = client;
	session->terminal = process_terminal_session(client->pid);
	session->flood = flood_new();
	session->root = string_copy(wish->root);
	session->subject.project = string_copy(wish->project);
	session->offline = wish->offline;
	session->recording = wish->record;
	for (size_t i = 0; i < wish->environment.count; i++)
		strings_add(&session->environment, wish->environment.items[i]);
	r = sandbox_new(client, wish->before != 0, wish->answering, &session->sandbox, error);
	if (r == 0) r = session_first_roots(session, wish, error);
	if (r == 0) r = session_make_rules(session, wish, error);
	if (r < 0) return r;
	session->record = (struct session_record){.profile = string_copy(session->subject.profile),
						  .project = string_copy(session->subject.project),
						  .command = command_line(&wish->command),
						  .pid = client->pid,
						  .started_ms = broker_now_ms(client->broker),
						  .exit = SESSION_RUNNING};
	r = write_session(session, wish, error);
	if (r < 0) return r;
	sandbox_name(session->sandbox, session);
	TAILQ_INSERT_TAIL(&client->broker->sessions, session, link);
	client->broker->session_count++;
	client->session = session;
	session->broker->hooks->session_opened(session);
	*ret_session = STEAL(session);
	return 0;
}
