#include "policy_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/ruleset.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/pattern.h"
#include "ui/words.h"

static const char project_file[] = ".sbx.yaml", admin_directory[] = "/etc/sbx";

void policy_files_default(struct strings *files) {
	const char *config = getenv("XDG_CONFIG_HOME"), *home = home_directory();
	CLEANUP_FREE char *own = NULL;
	if (config && *config == '/')
		own = string_format("%s/sbx/policy.yaml", config);
	else if (home)
		own = string_format("%s/.config/sbx/policy.yaml", home);
	if (own && access(own, F_OK) == 0) strings_add(files, own);
}

enum policy_layer policy_file_layer(const char *path) {
	if (strcmp(path_name(path), project_file) == 0) return POLICY_LAYER_PROJECT;
	return *path == '/' && path_is_below(path, admin_directory) ? POLICY_LAYER_ADMIN : POLICY_LAYER_USER;
}

/* What only shows when the profiles are put together: unknown names in `extends`, too many rules. */
static void check_profiles(const char *name, struct policy_document *document, struct strings *errors) {
	struct policy_document *documents[] = {document, policy_load_builtin()};
	struct policy *policy = policy_new(documents, 2);
	const char *home = home_directory();
	struct pattern_scope scope = {.home = home ? home : "/root", .project = "/project", .uid = geteuid()};
	CLEANUP_STRINGS struct strings profiles = {0};
	policy_profile_names(policy, &profiles);
	for (size_t i = 0; i < profiles.count; i++) {
		struct error fault = ERROR_NONE;
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		if (ruleset_new(policy, profiles.items[i], &scope, &ruleset, &fault) < 0)
			strings_addf(errors, "%s: profile %s: %s", name, profiles.items[i], fault.message);
	}
	policy_unref(policy);
}

int policy_text_check(const char *path, const char *text, size_t size, struct strings *errors) {
	CLEANUP_FREE char *name = text_visible(path);
	size_t before = errors->count;
	struct policy_document *document = policy_load(policy_file_layer(path), name, text, size, errors);
	if (document) check_profiles(name, document, errors);
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

/* NULL when the broker found errors in it, or there are any by now. */
static int load_shown(const json_t *file, struct policy_document **ret_document, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_STRINGS struct strings errors = {0};
	size_t size = 0;
	*ret_document = NULL;
	if (json_array_size(json_object_get(file, "errors")) > 0) return 0;
	int r = message_bytes_take(json_object_get(file, "path"), &path, error);
	if (r < 0 || !path) return r;
	r = file_read(path, LIMIT_POLICY, &text, &size, error);
	if (r == 0) *ret_document = policy_load(policy_file_layer(path), path, text, size, &errors);
	return r;
}

int policy_files_show(const json_t *files, char **ret_text, struct error *error) {
	size_t count = 0, index;
	json_t *file;
	struct policy_document **documents = mem_alloc(json_array_size(files) + 1, sizeof(void *));
	int r = 0;
	json_array_foreach ((json_t *)files, index, file) {
		if (r == 0) r = load_shown(file, &documents[count], error);
		if (r == 0 && documents[count]) count++;
	}
	documents[count++] = policy_load_builtin();
	struct policy *policy = policy_new(documents, count);
	free(documents);
	if (r == 0) *ret_text = policy_show(policy);
	policy_unref(policy);
	return r;
}
