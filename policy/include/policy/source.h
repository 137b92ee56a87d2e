/*
 * source: policy files in their places, read the one way in which everybody has to read them.
 *
 * Promises: folders and files are opened without following links, and only where owner and mode say that nobody else
 * can write them (attack B11); what is read is bounded. Of an administrator's files sbx.yaml comes first, then policy.d
 * by name.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/hash.h"
#include "policy/policy.h"

#define POLICY_ADMIN_FOLDER "/etc/sbx"
#define POLICY_PROJECT_FILE ".sbx.yaml"
#define POLICY_PARTS_FOLDER "policy.d" /* in the administrator's folder */

struct policy_source {
	enum policy_layer layer; /* POLICY_LAYER_ADMIN or POLICY_LAYER_USER */
	const char *folder;
	uid_t owner; /* of folder and files; root's files will do, too */
};

struct policy_reading {
	struct strings paths; /* of the files that there are */
	struct policy_document **documents;
	size_t count;
	struct strings errors;    /* each begins with the path that it is about */
	struct strings warnings;  /* likewise; nothing is wrong with the rules */
	char hash[HASH_HEX_SIZE]; /* of all names, contents and errors; "" where there is none of these */
};

/* `others` are documents that its profiles may extend. A folder that isn't there is no error. */
void policy_source_read(const struct policy_source *source, struct policy_document *const *others, size_t other_count,
			struct policy_reading *ret_reading);
void policy_reading_finish(struct policy_reading *reading);

/* Adds what may not stand in the administrator's file at `path`: only the main file of `folder` has a stack. */
void policy_source_check_place(const char *folder, const char *path, const struct policy_document *document,
			       struct strings *errors);

/* The bytes of a project's file; *ret_exists is false, and no error, where there is none. */
int policy_project_read(const char *root, bool *ret_exists, char **ret_text, size_t *ret_size, struct error *error);

/* Text that is another one when a file is, without reading any. Freed by the caller. */
char *policy_source_look(const struct policy_source *source);
char *policy_project_look(const char *root);
