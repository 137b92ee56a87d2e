#include "ui/policy_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/ruleset.h"
#include "policy/source.h"
#include "policy/stack.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/pattern.h"
#include "ui/words.h"

/* In the order of their layers; each is a reference. */
struct documents {
	struct policy_document **items;
	size_t count;
};

static void documents_finish(struct documents *documents) {
	for (size_t i = 0; i < documents->count; i++) policy_document_unref(documents->items[i]);
	free(documents->items);
}

static void documents_add(struct documents *documents, struct policy_document *document) {
	if (!document) return;
	documents->items = array_grow(documents->items, documents->count, sizeof(void *));
	documents->items[documents->count++] = document;
}

/* Together with the built-in ones. */
static struct policy *documents_policy(const struct documents *documents) {
	CLEANUP_FREE struct policy_document **all = mem_alloc(documents->count + 1, sizeof(void *));
	for (size_t i = 0; i < documents->count; i++) all[i] = policy_document_ref(documents->items[i]);
	all[documents->count] = policy_load_builtin();
	return policy_new(all, documents->count + 1);
}

enum policy_layer policy_file_layer(const char *path) {
	if (strcmp(path_name(path), POLICY_PROJECT_FILE) == 0) return POLICY_LAYER_PROJECT;
	return *path == '/' && path_is_below(path, POLICY_ADMIN_FOLDER) ? POLICY_LAYER_ADMIN : POLICY_LAYER_USER;
}

/* Reading */

/* Of the lists each may be NULL. */
static void read_source(enum policy_layer layer, const char *folder, struct documents *documents, struct strings *paths,
			struct strings *errors, struct strings *warnings) {
	const struct policy_source source = {
		.layer = layer, .folder = folder, .owner = layer == POLICY_LAYER_ADMIN ? 0 : geteuid()};
	struct policy_reading reading;
	policy_source_read(&source, documents->items, documents->count, &reading);
	for (size_t i = 0; i < reading.count; i++) documents_add(documents, policy_document_ref(reading.documents[i]));
	for (size_t i = 0; paths && i < reading.paths.count; i++) strings_add(paths, reading.paths.items[i]);
	for (size_t i = 0; errors && i < reading.errors.count; i++) strings_add(errors, reading.errors.items[i]);
	for (size_t i = 0; warnings && i < reading.warnings.count; i++)
		strings_add(warnings, reading.warnings.items[i]);
	policy_reading_finish(&reading);
}

static char *user_folder(void) {
	const char *config = getenv("XDG_CONFIG_HOME"), *home = home_directory();
	if (config && *config == '/') return path_join(config, "sbx");
	return home ? path_join(home, ".config/sbx") : NULL;
}

static void read_project(const char *root, struct documents *documents, struct strings *paths, struct strings *errors) {
	CLEANUP_FREE char *path = path_join(root, POLICY_PROJECT_FILE);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	bool exists;
	struct error error = ERROR_NONE;
	int r = policy_project_read(root, &exists, &text, &size, &error);
	if (exists) strings_add(paths, path);
	if (r < 0)
		strings_add(errors, error.message);
	else if (text)
		documents_add(documents, policy_load(POLICY_LAYER_PROJECT, path, text, size, errors));
}

/* Checking */

/* What only shows when the profiles are put together: unknown names in `extends`, too many rules. */
static void check_profiles(const char *name, const struct documents *documents, struct strings *errors) {
	struct policy *policy = documents_policy(documents);
	const char *home = home_directory();
	struct pattern_scope scope = {.home = home ? home : "/root", .project = "/project", .uid = geteuid()};
	CLEANUP_STRINGS struct strings profiles = {0};
	policy_profile_names(policy, &profiles);
	for (size_t i = 0; i < profiles.count; i++) {
		struct error fault = ERROR_NONE;
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		int r = ruleset_new(policy, profiles.items[i], &scope, NULL, &ruleset, &fault);
		if (r == 0) r = ruleset_check_network(ruleset, &fault);
		if (r < 0)
			strings_addf(errors, "%s%sprofile %s: %s", name, *name ? ": " : "", profiles.items[i],
				     fault.message);
	}
	policy_unref(policy);
}

int policy_text_check(const char *path, const char *text, size_t size, struct strings *errors) {
	CLEANUP(documents_finish) struct documents documents = {0};
	CLEANUP_FREE char *name = text_visible(path);
	CLEANUP_FREE char *folder = user_folder();
	enum policy_layer layer = policy_file_layer(path);
	size_t before = errors->count;
	/* What it may build on; those have their own errors elsewhere. */
	if (layer != POLICY_LAYER_ADMIN)
		read_source(POLICY_LAYER_ADMIN, POLICY_ADMIN_FOLDER, &documents, NULL, NULL, NULL);
	if (layer == POLICY_LAYER_PROJECT && folder)
		read_source(POLICY_LAYER_USER, folder, &documents, NULL, NULL, NULL);
	struct policy_document *document =
		policy_load_among(documents.items, documents.count, layer, name, text, size, errors);
	documents_add(&documents, document);
	if (document && layer == POLICY_LAYER_ADMIN)
		policy_source_check_place(POLICY_ADMIN_FOLDER, name, document, errors);
	if (document) check_profiles(name, &documents, errors);
	if (document && layer == POLICY_LAYER_ADMIN) policy_check_programs(document, name, 0, errors);
	return errors->count > before ? -EINVAL : 0;
}

int policy_file_check(const char *path, struct strings *errors, struct error *error) {
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int r = file_read(path, LIMIT_POLICY, &text, &size, error);
	if (r < 0) return r;
	policy_text_check(path, text, size, errors);
	return 0;
}

void policy_files_check(const char *root, struct strings *paths, struct strings *errors, struct strings *warnings) {
	CLEANUP(documents_finish) struct documents documents = {0};
	CLEANUP_FREE char *folder = user_folder();
	read_source(POLICY_LAYER_ADMIN, POLICY_ADMIN_FOLDER, &documents, paths, errors, warnings);
	size_t admin_count = documents.count;
	if (folder) read_source(POLICY_LAYER_USER, folder, &documents, paths, errors, warnings);
	if (root) read_project(root, &documents, paths, errors);
	if (errors->count == 0) check_profiles("", &documents, errors);
	/* The only file that may have such lines. */
	for (size_t i = 0; i < admin_count; i++)
		policy_check_programs(documents.items[i], POLICY_ADMIN_FOLDER "/sbx.yaml", 0, errors);
}

void policy_files_names(struct strings *profiles, struct strings *permissions) {
	CLEANUP(documents_finish) struct documents documents = {0};
	CLEANUP_FREE char *folder = user_folder();
	read_source(POLICY_LAYER_ADMIN, POLICY_ADMIN_FOLDER, &documents, NULL, NULL, NULL);
	if (folder) read_source(POLICY_LAYER_USER, folder, &documents, NULL, NULL, NULL);
	struct policy *policy = documents_policy(&documents);
	if (profiles) policy_profile_names(policy, profiles);
	if (permissions) policy_permission_names(policy, permissions);
	policy_unref(policy);
}

/* Showing */

const char *policy_file_holds(const json_t *file) {
	const char *layer = json_string_value(json_object_get(file, "layer"));
	if (json_array_size(json_object_get(file, "errors")) == 0) return NULL;
	if (string_equal(layer, policy_layer_name(POLICY_LAYER_PROJECT)))
		return "nothing begins in this project until it is mended";
	return json_is_true(json_object_get(file, "good")) ? "the last good version holds until it is mended"
							   : "nothing is allowed until it is mended";
}

/* Nothing when the broker found errors in it, or there are any by now. */
static int load_shown(const json_t *file, struct documents *documents, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	enum policy_layer layer;
	const char *name = json_string_value(json_object_get(file, "layer"));
	const char *trust = json_string_value(json_object_get(file, "trust"));
	if (json_array_size(json_object_get(file, "errors")) > 0) return 0;
	int r = message_bytes_take(json_object_get(file, "path"), &path, error);
	if (r < 0 || !path) return r;
	r = policy_layer_parse(name ? name : "", &layer, error);
	if (r == 0) r = file_read(path, LIMIT_POLICY, &text, &size, error);
	if (r < 0) return r;
	struct policy_document *document =
		policy_load_among(documents->items, documents->count, layer, path, text, size, NULL);
	CLEANUP_FREE char *root = string_equal(trust, "enclosing") ? path_parent(path) : NULL;
	if (document && (root || string_equal(trust, "untrusted"))) {
		documents_add(documents, policy_document_enclosing(document, root));
		policy_document_unref(document);
	} else {
		documents_add(documents, document);
	}
	return 0;
}

int policy_files_load(const json_t *files, struct policy **ret_policy, struct error *error) {
	CLEANUP(documents_finish) struct documents documents = {0};
	size_t index;
	json_t *file;
	json_array_foreach ((json_t *)files, index, file) {
		int r = load_shown(file, &documents, error);
		if (r < 0) return r;
	}
	*ret_policy = documents_policy(&documents);
	return 0;
}

int policy_files_show(const json_t *files, char **ret_text, struct error *error) {
	struct policy *policy = NULL;
	int r = policy_files_load(files, &policy, error);
	if (r < 0) return r;
	*ret_text = policy_show(policy);
	policy_unref(policy);
	return 0;
}
