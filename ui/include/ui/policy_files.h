/*
 * policy_files: policy files as the command line sees them: which there are, and whether they are right.
 *
 * Promises: nothing is decided here; the broker alone evaluates rules. Files are only parsed to show their errors and
 * their rules.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/string.h"
#include "policy/policy.h"

/* The layer that a file's place gives it. */
enum policy_layer policy_file_layer(const char *path);

/*
 * Adds what is wrong with the file, as "file:line:column: …", also what shows only together with other files (an
 * unknown profile in `extends`). A negative errno only when it can't be read.
 */
int policy_file_check(const char *path, struct strings *errors, struct error *error);
int policy_text_check(const char *path, const char *text, size_t size, struct strings *errors);

/* All files that the broker reads for the project at `root` (NULL: without its own), read as it reads them. */
void policy_files_check(const char *root, struct strings *paths, struct strings *errors, struct strings *warnings);

/*
 * What the administrator's files, yours and the built-in ones declare, as far as they have no errors: profiles, and
 * permissions of the user's own. Either may be NULL. For completion: no broker is needed.
 */
void policy_files_names(struct strings *profiles, struct strings *permissions);

/* What holds while one of these has errors, as half a sentence; NULL when it has none. */
const char *policy_file_holds(const json_t *file);

/* The rules of the files that the broker named (docs/protocol.md, `policy`) and of the built-in profiles: as a policy,
 * to be unreferenced by the caller, and as text. */
int policy_files_load(const json_t *files, struct policy **ret_policy, struct error *error);
int policy_files_show(const json_t *files, char **ret_text, struct error *error);
