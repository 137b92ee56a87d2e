/* policy, trust. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "core/hooks.h"
#include "handler.h"
#include "policies/policies.h"
#include "policies/project_file.h"
#include "policies/reload.h"
#include "schema/limits.h"
#include "schema/message.h"

/* Of which project: nothing a client names is believed to be a normal path. */
struct place {
	char *project, *root;
};

static int normal(const char *what, const char *path, char **ret_path, struct error *error) {
	int r = path_normalise(NULL, path, ret_path, error);
	return r < 0 ? error_prefix(error, "%s", what) : 0;
}

static int find_file(struct broker *broker, const char *project, const char *root, struct project_file **ret_file,
		     struct error *error) {
	CLEANUP_FREE char *normal_project = NULL;
	CLEANUP_FREE char *normal_root = NULL;
	int r = normal("project", project, &normal_project, error);
	if (r == 0) r = normal("root", root ? root : project, &normal_root, error);
	if (r == 0) *ret_file = policies_project(broker->policies, normal_root, normal_project);
	return r;
}

/* policy */

static const struct body_field policy_fields[] = {
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct place, project), LIMIT_TARGET, NULL},
	{"root", BODY_TEXT, OPTIONAL, offsetof(struct place, root), LIMIT_TARGET, NULL},
};
static const struct body_shape policy_shape = BODY_SHAPE_OF(struct place, policy_fields);

static json_t *texts_to_json(const struct strings *texts) {
	json_t *array = json_array();
	for (size_t i = 0; i < texts->count; i++) json_array_append_new(array, message_bytes(texts->items[i]));
	return array;
}

/* `good`: while it has errors something that was good before holds. */
static json_t *file_to_json(const char *path, enum policy_layer layer, bool good, json_t *errors) {
	json_t *file = json_object();
	json_object_set_new(file, "path", message_bytes(path));
	json_object_set_new(file, "layer", json_string(policy_layer_name(layer)));
	json_object_set_new(file, "errors", errors);
	json_object_set_new(file, "good", json_boolean(good));
	json_object_set_new(file, "trust", json_null());
	return file;
}

/* Errors begin with the path that they are about. */
static bool is_about(const char *error, const char *path) {
	size_t size = strlen(path);
	return strncmp(error, path, size) == 0 && (error[size] == ':' || error[size] == ' ');
}

/* Its files with their errors, then what is wrong with folders. */
static void add_layer(json_t *files, const struct layer *layer) {
	size_t told = 0;
	for (size_t i = 0; i < layer->now.paths.count; i++) {
		json_t *errors = json_array();
		for (size_t k = 0; k < layer->now.errors.count; k++)
			if (is_about(layer->now.errors.items[k], layer->now.paths.items[i]))
				json_array_append_new(errors, message_bytes(layer->now.errors.items[k]));
		told += json_array_size(errors);
		json_array_append_new(
			files, file_to_json(layer->now.paths.items[i], layer->source.layer, layer->known, errors));
	}
	if (told < layer->now.errors.count)
		json_array_append_new(files, file_to_json(layer->source.folder, layer->source.layer, layer->known,
							  texts_to_json(&layer->now.errors)));
}

static void add_project(json_t *files, const struct project_file *project) {
	if (!project || !project->exists) return;
	json_t *file = file_to_json(project->path, POLICY_LAYER_PROJECT, project->said != NULL,
				    texts_to_json(&project->errors));
	if (project->said) {
		bool missing = project_file_needs_trust(project);
		json_object_set_new(file, "trust",
				    json_string(project->trusted ? "trusted"
						: missing        ? "untrusted"
								 : "unneeded"));
	}
	json_array_append_new(files, file);
}

/* Of it the denials count alone, trusted or not. */
static void add_enclosing(json_t *files, const struct project_file *outer) {
	json_t *file =
		file_to_json(outer->path, POLICY_LAYER_PROJECT, outer->said != NULL, texts_to_json(&outer->errors));
	if (outer->said) json_object_set_new(file, "trust", json_string("enclosing"));
	json_array_append_new(files, file);
}

static int policy(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct place *place = body;
	struct broker *broker = client->broker;
	struct project_file *project = NULL;
	reload_now(broker->reload);
	if (place->root && !place->project) return error_set(error, EINVAL, "the project is missing");
	int r = place->project ? find_file(broker, place->project, place->root, &project, error) : 0;
	if (r < 0) return r;
	json_t *files = json_array();
	add_layer(files, policies_layer(broker->policies, POLICY_LAYER_ADMIN));
	add_layer(files, policies_layer(broker->policies, POLICY_LAYER_USER));
	add_project(files, project);
	for (const struct project_file *outer = project; outer && (outer = project_file_outer(outer));)
		add_enclosing(files, outer);
	CLEANUP_STRINGS struct strings profiles = {0}, stack = {0};
	struct policy *assembled;
	if (policies_assemble(broker->policies, NULL, project, &assembled, NULL) == 0) {
		policy_profile_names(assembled, &profiles);
		policy_stack_texts(assembled, &stack);
		policy_unref(assembled);
	}
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "files", files);
	json_object_set_new(*ret_reply, "profiles", texts_to_json(&profiles));
	json_object_set_new(*ret_reply, "stack", texts_to_json(&stack));
	return HANDLED;
}

const struct request_handler handle_policy = {policy, &policy_shape};

/* trust */

struct trust {
	char *project, *root, *hash;
	bool forget;
};
static const struct body_field trust_fields[] = {
	{"project", BODY_TEXT, REQUIRED, offsetof(struct trust, project), LIMIT_TARGET, NULL},
	{"root", BODY_TEXT, OPTIONAL, offsetof(struct trust, root), LIMIT_TARGET, NULL},
	{"hash", BODY_TEXT, OPTIONAL, offsetof(struct trust, hash), HASH_HEX_SIZE - 1, NULL},
	{"forget", BODY_FLAG, OPTIONAL, offsetof(struct trust, forget), 0, NULL},
};
static const struct body_shape trust_shape = BODY_SHAPE_OF(struct trust, trust_fields);

static int record_trust(struct broker *broker, const struct project_file *file, const struct trust *wish,
			struct error *error) {
	struct event event = {.kind = EVENT_POLICY,
			      .verdict = -1,
			      .target = file->path,
			      .project = file->project,
			      .detail = json_object()};
	json_object_set_new(event.detail, "layer", json_string(policy_layer_name(POLICY_LAYER_PROJECT)));
	json_object_set_new(event.detail, "trusted", json_boolean(!wish->forget));
	if (wish->hash) json_object_set_new(event.detail, "hash", json_string(wish->hash));
	return broker_record(broker, &event, error);
}

static int write_trust(struct broker *broker, struct project_file *file, const struct trust *wish,
		       struct error *error) {
	int r = broker_begin(broker, STORE_FULL, error);
	if (r < 0) return r;
	r = wish->forget ? project_file_forget(file, error)
			 : project_file_trust(file, wish->hash, broker_now_ms(broker), error);
	if (r == 0) r = record_trust(broker, file, wish, error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

static int trust(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct trust *wish = body;
	struct broker *broker = client->broker;
	struct project_file *file;
	if (wish->forget == (wish->hash != NULL))
		return error_set(error, EINVAL, "say which content is trusted by its hash, or forget");
	int r = find_file(broker, wish->project, wish->root, &file, error);
	if (r < 0) return r;
	r = write_trust(broker, file, wish, error);
	if (r < 0) return r;
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "path", message_bytes(file->path));
	json_object_set_new(*ret_reply, "trusted", json_boolean(!wish->forget));
	CLEANUP_FREE char *project = string_copy(file->project);
	policies_judge(broker->policies, project);
	broker->hooks->policies_changed(broker);
	return HANDLED;
}

const struct request_handler handle_trust = {trust, &trust_shape};
