/*
 * Theory of operation. A depth-first walk from the profile, in which what a profile extends is visited last to first;
 * the names in the order in which their visits end, read backwards, have every profile before what it extends
 * (a topological order), and siblings as they were written. A name met while its own visit goes on closes a circle.
 */
#include "lineage.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "keys.h"

struct visit {
	struct policy_document *const *documents;
	size_t count;
	struct lineage *lineage; /* visits that have ended */
	const char *path[LIMIT_EXTENDS];
	size_t depth;
	struct error *error;
};

static bool is_among(const char *const *names, size_t count, const char *name) {
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0) return true;
	return false;
}

static bool profile_exists(const struct visit *visit, const char *name) {
	for (size_t i = 0; i < visit->count; i++)
		if (document_profile(visit->documents[i], name)) return true;
	return false;
}

static int circle_error(const struct visit *visit, const char *name) {
	CLEANUP_STRING struct string circle = {0};
	size_t start = 0;
	while (strcmp(visit->path[start], name) != 0) start++;
	for (size_t i = start; i < visit->depth; i++) string_appendf(&circle, "%s → ", visit->path[i]);
	return error_set(visit->error, ELOOP, "the profile %s extends itself: %s%s", name, circle.data, name);
}

static int visit_profile(struct visit *visit, const char *name) { /* NOLINT(misc-no-recursion): LIMIT_EXTENDS deep */
	if (is_among(visit->lineage->names, visit->lineage->count, name)) return 0;
	if (is_among(visit->path, visit->depth, name)) return circle_error(visit, name);
	if (!profile_exists(visit, name)) {
		SHOWN(shown, name);
		return visit->depth == 0
			       ? error_set(visit->error, ENOENT, "there is no profile \"%s\"", shown)
			       : error_set(visit->error, ENOENT, "the profile %s extends \"%s\", which doesn't exist",
					   visit->path[visit->depth - 1], shown);
	}
	if (visit->depth + visit->lineage->count >= LIMIT_EXTENDS)
		return error_set(visit->error, E2BIG, "the profile %s extends more than %d profiles", visit->path[0],
				 LIMIT_EXTENDS - 1);
	visit->path[visit->depth++] = name;
	for (size_t d = visit->count; d-- > 0;) {
		const struct profile *profile = document_profile(visit->documents[d], name);
		for (size_t i = profile ? profile->extends.count : 0; i-- > 0;) {
			int r = visit_profile(visit, profile->extends.items[i].text);
			if (r < 0) return r;
		}
	}
	visit->depth--;
	visit->lineage->names[visit->lineage->count++] = name;
	return 0;
}

int lineage_find(struct policy_document *const *documents, size_t count, const char *profile,
		 struct lineage *ret_lineage, struct error *error) {
	struct lineage ended = {.count = 0};
	struct visit visit = {.documents = documents, .count = count, .lineage = &ended, .error = error};
	int r = visit_profile(&visit, profile);
	if (r < 0) return r;
	for (size_t i = 0; i < ended.count; i++) ret_lineage->names[i] = ended.names[ended.count - 1 - i];
	ret_lineage->count = ended.count;
	return 0;
}

static void check_names(struct policy_document *const *documents, size_t count, const struct profile *profile,
			struct problems *problems) {
	CLEANUP_FREE const char **names = NULL;
	size_t known = 0;
	for (size_t d = 0; d < count; d++)
		for (size_t i = 0; i < documents[d]->profile_count; i++) {
			names = array_grow(names, known, sizeof *names);
			names[known++] = documents[d]->profiles[i].name;
		}
	for (size_t i = 0; i < profile->extends.count; i++) {
		const struct name *name = &profile->extends.items[i];
		if (problems_are_full(problems) || is_among(names, known, name->text)) continue;
		CLEANUP_FREE char *hint = names_nearest(name->text, names, known);
		SHOWN(shown, name->text);
		problems_add(problems, name->place,
			     "there is no profile \"%s\", expected one of this file or a built-in one%s", shown, hint);
	}
}

/* One circle is told of once, at the first of its profiles in the file. */
static void check_circles(struct policy_document *const *documents, size_t count, struct problems *problems) {
	const struct policy_document *document = documents[0];
	CLEANUP_STRING struct string told = {0};
	for (size_t i = 0; i < document->profile_count; i++) {
		const struct profile *profile = &document->profiles[i];
		struct lineage lineage;
		struct error error = ERROR_NONE;
		int r = lineage_find(documents, count, profile->name, &lineage, &error);
		if (r != -ELOOP && r != -E2BIG) continue;
		CLEANUP_FREE char *member = string_format(" %s →", profile->name);
		if (r == -ELOOP && (!strstr(error.message, member) || (told.data && strstr(told.data, member))))
			continue;
		problems_add(problems, profile->place, "%s", error.message);
		if (r == -ELOOP) string_append(&told, error.message);
	}
}

void lineage_check(const struct policy_document *document, struct policy_document *const *others, size_t other_count,
		   struct problems *problems) {
	bool extends = false;
	for (size_t i = 0; i < document->profile_count; i++)
		extends = extends || document->profiles[i].extends.count > 0;
	if (!extends) return;
	CLEANUP_DOCUMENT struct policy_document *builtin = policy_load_builtin();
	size_t count = 0;
	CLEANUP_FREE struct policy_document **documents = mem_array(struct policy_document *, other_count + 2);
	documents[count++] = (struct policy_document *)document;
	for (size_t i = 0; i < other_count; i++) documents[count++] = others[i];
	documents[count++] = builtin;
	/* A project's file may extend profiles of the user's: those are known only when the policy is put together. */
	if (document->layer != POLICY_LAYER_PROJECT)
		for (size_t i = 0; i < document->profile_count; i++)
			check_names(documents, count, &document->profiles[i], problems);
	check_circles(documents, count, problems);
}

char *policy_profile_hint(const struct policy *policy, const char *name) {
	CLEANUP_STRINGS struct strings names = {0};
	policy_profile_names(policy, &names);
	return names_nearest(name, (const char *const *)names.items, names.count);
}
