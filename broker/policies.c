#include "policies.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "schema/limits.h"

enum { RULESETS_MAX = 8 };

/* What tells one content of a file from another without reading it. */
struct identity {
	bool exists;
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

struct remembered {
	char *project;
	struct ruleset *ruleset;
};

struct policies {
	const struct places *places;
	struct identity seen;
	bool looked;
	struct policy *current;
	struct strings errors;
	struct remembered rulesets[RULESETS_MAX];
	size_t next; /* the one to be forgotten next */
};

static struct identity identify(const char *path) {
	struct stat status;
	if (stat(path, &status) < 0) return (struct identity){.exists = errno != ENOENT && errno != ENOTDIR};
	return (struct identity){.exists = true,
				 .device = status.st_dev,
				 .inode = status.st_ino,
				 .size = status.st_size,
				 .modified = status.st_mtim,
				 .changed = status.st_ctim};
}

static bool same_time(struct timespec a, struct timespec b) {
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_identity(const struct identity *a, const struct identity *b) {
	return a->exists == b->exists && a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(a->modified, b->modified) && same_time(a->changed, b->changed);
}

struct policies *policies_new(const struct places *places) {
	struct policies *policies = mem_new(struct policies);
	policies->places = places;
	policies_refresh(policies);
	return policies;
}

static void forget_rulesets(struct policies *policies) {
	for (size_t i = 0; i < RULESETS_MAX; i++) {
		free(policies->rulesets[i].project);
		ruleset_free(policies->rulesets[i].ruleset);
		policies->rulesets[i] = (struct remembered){0};
	}
}

void policies_free(struct policies *policies) {
	if (!policies) return;
	forget_rulesets(policies);
	policy_unref(policies->current);
	strings_finish(&policies->errors);
	free(policies);
}

/* NULL and the errors when the text has any. */
static struct policy *assemble(const char *name, const char *text, size_t size, struct strings *errors) {
	struct policy_document *documents[2] = {policy_load_builtin()};
	size_t count = 1;
	if (text) {
		documents[count] = policy_load(POLICY_LAYER_USER, name, text, size, errors);
		if (!documents[count]) {
			policy_document_free(documents[0]);
			return NULL;
		}
		count++;
	}
	return policy_new(documents, count);
}

static int read_policy(const char *path, char **ret_text, size_t *ret_size, struct error *error) {
	/* Not blocking: a FIFO in its place must not stop the broker. */
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) return error_errno(error, "%s", path);
	struct stat status;
	if (fstat(fd, &status) < 0) return error_errno(error, "%s", path);
	if (!S_ISREG(status.st_mode)) return error_set(error, EINVAL, "%s: is no regular file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return error_set(error, EPERM, "%s: belongs to another user", path);
	if (status.st_mode & 0002)
		return error_set(error, EPERM, "%s: can be written by everybody: chmod o-w it", path);
	return file_read_fd(fd, path, LIMIT_POLICY, ret_text, ret_size, error);
}

static bool strings_same(const struct strings *a, const struct strings *b) {
	if (a->count != b->count) return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0) return false;
	return true;
}

bool policies_refresh(struct policies *policies) {
	const char *path = policies->places->policy;
	struct identity now = identify(path);
	if (policies->looked && same_identity(&now, &policies->seen)) return false;
	policies->looked = true;
	policies->seen = now;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	struct strings errors = {0};
	struct error error = ERROR_NONE;
	struct policy *policy = NULL;
	if (now.exists && read_policy(path, &text, &size, &error) < 0)
		strings_add(&errors, error.message);
	else
		policy = assemble(path, text, size, &errors);
	bool changed = policy || !strings_same(&errors, &policies->errors);
	strings_finish(&policies->errors);
	policies->errors = errors;
	if (policy) {
		forget_rulesets(policies);
		policy_unref(policies->current);
		policies->current = policy;
	}
	return changed;
}

int policies_current(struct policies *policies, struct policy **ret_policy, struct error *error) {
	if (!policies->current)
		return error_set(error, EINVAL, "%s (nothing is allowed until it is mended: `sbx policy check`)",
				 policies->errors.count > 0 ? policies->errors.items[0] : "there is no policy");
	*ret_policy = policies->current;
	return 0;
}

int policies_with_user_text(struct policies *policies, const char *name, const char *text, struct policy **ret_policy,
			    struct error *error) {
	(void)policies;
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy *policy = assemble(name, text, strlen(text), &errors);
	if (!policy) {
		CLEANUP_STRING struct string all = {0};
		for (size_t i = 0; i < errors.count; i++)
			string_appendf(&all, "%s%s", i == 0 ? "" : "\n", errors.items[i]);
		return error_set(error, EINVAL, "%s", all.data ? all.data : "the policy has errors");
	}
	*ret_policy = policy;
	return 0;
}

int policies_ruleset(struct policies *policies, const char *profile, const char *project,
		     const struct ruleset **ret_ruleset, struct error *error) {
	struct policy *policy;
	int r = policies_current(policies, &policy, error);
	if (r < 0) return r;
	for (size_t i = 0; i < RULESETS_MAX; i++) {
		const struct remembered *known = &policies->rulesets[i];
		if (!known->ruleset || strcmp(known->project, project) != 0 ||
		    strcmp(ruleset_profile(known->ruleset), profile) != 0)
			continue;
		*ret_ruleset = known->ruleset;
		return 0;
	}
	struct pattern_scope scope = policies_scope(policies, project);
	struct ruleset *ruleset;
	r = ruleset_new(policy, profile, &scope, &ruleset, error);
	if (r < 0) return r;
	struct remembered *slot = &policies->rulesets[policies->next++ % RULESETS_MAX];
	free(slot->project);
	ruleset_free(slot->ruleset);
	*slot = (struct remembered){string_copy(project), ruleset};
	*ret_ruleset = ruleset;
	return 0;
}

struct pattern_scope policies_scope(const struct policies *policies, const char *project) {
	return (struct pattern_scope){.home = policies->places->home, .project = project, .uid = geteuid()};
}

const struct strings *policies_errors(const struct policies *policies) {
	return &policies->errors;
}

bool policies_file_exists(const struct policies *policies) {
	return policies->seen.exists;
}
