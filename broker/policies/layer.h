/*
 * layer: the policy files of one layer, and what was good of them last.
 *
 * Promises: a layer is taken as a whole: while a file of it, or the folder that it lies in, has an error, all its
 * documents stay what they were. One that has never been good since sbxd started is not known, and then nothing may be
 * allowed, for its denials aren't known either.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "core/places.h"
#include "policy/source.h"
#include "watch.h"

struct layer {
	struct policy_source source;
	const char *path;          /* what a change of it is said of: the user's file, the administrator's folder */
	bool known;                /* its documents were good, or there is no file */
	struct policy_reading now; /* paths and errors of the last look, documents of the last good one */
	char *seen;                /* what told the files' contents apart, without reading them */
	struct watched *folder, *parts;
};

/* `places` is borrowed. */
void layer_init(struct layer *layer, enum policy_layer kind, const struct places *places, struct watch *watch);
void layer_finish(struct layer *layer);

/* Has something been told of it since the last look? */
bool layer_is_stirred(const struct layer *layer);

/*
 * Look at its files, and read them when they aren't what they were, or `anew`. `others` are documents that its profiles
 * may extend. True when its documents are other ones now, or its errors.
 */
bool layer_look(struct layer *layer, bool anew, struct policy_document *const *others, size_t other_count);
