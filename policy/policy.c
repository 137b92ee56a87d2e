#include "policy/policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "document.h"
#include "keys.h"
#include "policy/exec_file.h"
#include "policy_parts.h"

struct policy {
	unsigned references;
	struct policy_document **documents; /* in the order of their layers */
	size_t count;
};

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };
static const int64_t year_ms = INT64_C(365) * 24 * HOUR_MS;

static const char *const layer_names[] = {
	[POLICY_LAYER_ADMIN] = "admin",
	[POLICY_LAYER_USER] = "user",
	[POLICY_LAYER_PROJECT] = "project",
	[POLICY_LAYER_BUILTIN] = "built-in",
};
static_assert(ARRAY_LENGTH(layer_names) == POLICY_LAYER_COUNT, "every layer has a name");

const char *policy_layer_name(enum policy_layer layer) {
	return layer_names[layer];
}

int policy_layer_parse(const char *name, enum policy_layer *ret_layer, struct error *error) {
	for (size_t i = 0; i < POLICY_LAYER_COUNT; i++) {
		if (strcmp(layer_names[i], name) != 0) continue;
		*ret_layer = (enum policy_layer)i;
		return 0;
	}
	SHOWN(shown, name);
	return error_set(error, EINVAL, "there is no layer '%s'", shown);
}

struct policy *policy_new(struct policy_document **documents, size_t count) {
	struct policy *policy = mem_new(struct policy);
	policy->references = 1;
	policy->documents = mem_array(struct policy_document *, count);
	for (size_t i = 0; i < count; i++) {
		size_t k = policy->count++;
		for (; k > 0 && policy->documents[k - 1]->layer > documents[i]->layer; k--)
			policy->documents[k] = policy->documents[k - 1];
		policy->documents[k] = documents[i];
	}
	return policy;
}

struct policy *policy_ref(struct policy *policy) {
	policy->references++;
	return policy;
}

void policy_unref(struct policy *policy) {
	if (!policy || --policy->references > 0) return;
	for (size_t i = 0; i < policy->count; i++) policy_document_unref(policy->documents[i]);
	free(policy->documents);
	free(policy);
}

bool policy_equal(const struct policy *a, const struct policy *b) {
	if (a->count != b->count) return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->documents[i] != b->documents[i]) return false;
	return true;
}

struct policy_document *const *policy_documents(const struct policy *policy, size_t *ret_count) {
	*ret_count = policy->count;
	return policy->documents;
}

const char *policy_profile_of_command(const struct policy *policy, const char *name) {
	for (size_t d = 0; d < policy->count; d++) {
		const struct policy_document *document = policy->documents[d];
		for (size_t i = 0; i < document->profile_count; i++)
			if (names_find(&document->profiles[i].commands, name)) return document->profiles[i].name;
	}
	return "default";
}

const char *policy_description(const struct policy *policy, const char *permission) {
	for (size_t i = 0; i < policy->count; i++) {
		const char *description = pairs_find(&policy->documents[i]->permissions, permission);
		if (description) return description;
	}
	return NULL;
}

void policy_permission_names(const struct policy *policy, struct strings *names) {
	for (size_t i = 0; i < policy->count; i++) {
		const struct pairs *own = &policy->documents[i]->permissions;
		for (size_t k = 0; k < own->count; k++)
			if (!strings_contain(names, own->items[k].name)) strings_add(names, own->items[k].name);
	}
}

int policy_check_permission(const struct policy *policy, const struct permission *permission, struct error *error) {
	if (permission->kind != PERMISSION_CUSTOM || policy_description(policy, permission->name)) return 0;
	CLEANUP_STRINGS struct strings names = {0};
	policy_permission_names(policy, &names);
	CLEANUP_FREE char *nearest = names_nearest(permission->name, (const char *const *)names.items, names.count);
	return error_set(error, ENOENT,
			 "no policy file declares %s: expected it in ~/.config/sbx/policy.yaml as "
			 "`permissions: {%s: \"what it is for\"}`%s",
			 permission->name, permission->name, nearest);
}

bool policy_has_profile(const struct policy *policy, const char *name) {
	for (size_t d = 0; d < policy->count; d++)
		if (!policy->documents[d]->untrusted && document_profile(policy->documents[d], name)) return true;
	return false;
}

void policy_profile_names(const struct policy *policy, struct strings *ret_names) {
	for (size_t d = 0; d < policy->count; d++) {
		const struct policy_document *document = policy->documents[d];
		for (size_t i = 0; i < document->profile_count && !document->untrusted; i++)
			if (!strings_contain(ret_names, document->profiles[i].name))
				strings_add(ret_names, document->profiles[i].name);
	}
	strings_sort(ret_names);
}

struct policy_prompt_settings policy_prompt_settings(const struct policy *policy) {
	struct policy_prompt_settings settings = {0};
	int wait = SETTING_UNSET;
	for (size_t d = 0; d < policy->count; d++) {
		const struct policy_document *document = policy->documents[d];
		if (settings.timeout_ms == 0) settings.timeout_ms = document->prompt_timeout_ms;
		if (settings.lifetime_ms == 0) settings.lifetime_ms = document->prompt_lifetime_ms;
		if (wait == SETTING_UNSET) wait = document->wait_without_agent;
	}
	if (settings.timeout_ms == 0) settings.timeout_ms = MINUTE_MS;
	if (settings.lifetime_ms == 0) settings.lifetime_ms = HOUR_MS;
	settings.wait_without_agent = wait == 1;
	return settings;
}

const struct strings *policy_quiet(const struct policy *policy) {
	static const struct strings none = {0};
	for (size_t d = 0; d < policy->count; d++)
		if (policy->documents[d]->quiet.count > 0) return &policy->documents[d]->quiet;
	return &none;
}

int64_t policy_history_keep_ms(const struct policy *policy) {
	for (size_t d = 0; d < policy->count; d++)
		if (policy->documents[d]->history_keep_ms > 0) return policy->documents[d]->history_keep_ms;
	return year_ms;
}

const char *policy_upstream(const struct policy *policy) {
	for (size_t d = 0; d < policy->count; d++)
		if (policy->documents[d]->upstream) return policy->documents[d]->upstream;
	return NULL;
}

/* The order that design section 4 gives. */
static const struct stack_line stack_default[] = {
	{STACK_REQUISITE, STACK_PROTECT, NULL}, {STACK_REQUISITE, STACK_FLOOD, NULL},
	{STACK_REQUISITE, STACK_RULES, NULL},   {STACK_ANY, STACK_GRANTS, NULL},
	{STACK_SUFFICIENT, STACK_RULES, NULL},  {STACK_ANY, STACK_ASK, NULL},
};

const struct stack_line *policy_stack(const struct policy *policy, size_t *ret_count) {
	for (size_t d = 0; d < policy->count; d++) {
		if (policy->documents[d]->stack_count == 0) continue;
		*ret_count = policy->documents[d]->stack_count;
		return policy->documents[d]->stack;
	}
	*ret_count = ARRAY_LENGTH(stack_default);
	return stack_default;
}

static bool is_command(const struct strings *words, char *const *argv) {
	size_t same = 0;
	while (same < words->count && string_equal(words->items[same], argv[same])) same++;
	return same == words->count && !argv[same];
}

bool policy_allows_exec(struct policy_document *const *documents, size_t count, char *const *argv, int64_t timeout_ms) {
	for (size_t d = 0; d < count; d++) {
		for (size_t i = 0; i < documents[d]->stack_count; i++) {
			const struct stack_exec *exec = documents[d]->stack[i].exec;
			if (exec && is_command(&exec->argv, argv) && timeout_ms <= exec->timeout_ms) return true;
		}
	}
	return false;
}

void policy_check_programs(const struct policy_document *document, const char *name, uid_t owner,
			   struct strings *errors) {
	for (size_t i = 0; i < document->stack_count; i++) {
		const struct stack_exec *exec = document->stack[i].exec;
		struct error error = ERROR_NONE;
		if (!exec || exec_file_check(exec->argv.items[0], owner, &error) == 0) continue;
		CLEANUP_FREE char *shown = text_visible(error.message);
		strings_addf(errors, "%s: the program of an exec line can't be run, so it denies: %s", name, shown);
	}
}

void policy_stack_texts(const struct policy *policy, struct strings *texts) {
	size_t count;
	const struct stack_line *lines = policy_stack(policy, &count);
	for (size_t i = 0; i < count; i++) strings_take(texts, stack_line_text(&lines[i]));
}
