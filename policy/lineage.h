/*
 * lineage: a profile and what it extends, in the order in which their rules are preferred.
 *
 * Promises: the profile itself first, every profile before what it extends, and among those that one profile extends
 * the first named first. A circle, an unknown name and more than LIMIT_EXTENDS profiles are errors.
 */
#pragma once

#include "document.h"
#include "schema/limits.h"

struct lineage {
	const char *names[LIMIT_EXTENDS]; /* borrowed from the documents */
	size_t count;
};

/* -ENOENT, -ELOOP, -E2BIG. What a profile extends is what all documents say of it, in their order. */
int lineage_find(struct policy_document *const *documents, size_t count, const char *profile,
		 struct lineage *ret_lineage, struct error *error);

/* Circles and unknown names that can be seen from one file, those it may build on and the built-in profiles, as
 * problems with their places. */
void lineage_check(const struct policy_document *document, struct policy_document *const *others, size_t other_count,
		   struct problems *problems);
