/*
 * project_file: a project's .sbx.yaml, and how much of it counts (design section 4, attack B21).
 *
 * Promises: the file comes from a repository, so until the user has trusted exactly this content in this project only
 * its denials count. Denials in files of enclosing folders, up to the home or the root of the file system, count as
 * well: a tool that makes a repository in a subfolder doesn't get out of the outer project's (attack R27). While it has
 * an error what was good of it last stays for what runs already, and project_file_check refuses to begin anything, for
 * its denials aren't known. Trust is kept for each project and content: files that worktrees and branches differ in can
 * all be trusted.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/string.h"
#include "policy/policy.h"
#include "store/store.h"
#include "watch.h"

struct project_files; /* those that were looked at lately, and those that running sessions follow */

struct project_file {
	TAILQ_ENTRY(project_file) link;
	struct project_files *files;
	unsigned followers;
	bool untold;   /* it was found to be another, and who follows doesn't know yet */
	char *project; /* what trust is kept under */
	char *path;    /* root/.sbx.yaml */
	bool exists;
	struct strings errors;        /* of the last look */
	char hash[HASH_HEX_SIZE];     /* of the content that was good last; "" where there was none */
	bool trusted;                 /* that content */
	struct policy_document *said; /* all that it says; NULL without a file */
	struct policy_document *counting;
	struct policy_document *enclosing; /* its denials, for projects inside */
	struct project_file *outer;        /* of the folder above, followed; NULL: there is none to look at */
	bool foreign;                      /* it is another user's */
	char *seen;
	struct watched *watched;
};

/* `home` is borrowed: above it no file is looked for. */
struct project_files *project_files_new(struct store *store, struct watch *watch, const char *home);
void project_files_free(struct project_files *files);

/* Looked at now; borrowed until the next call, unless it is followed. */
struct project_file *project_files_get(struct project_files *files, const char *root, const char *project);

/* It stays, and is watched. */
struct project_file *project_file_follow(struct project_file *file);
void project_file_leave(struct project_file *file); /* NULL is allowed */

/* For those that are followed: `each` is called with the ones that have changed (documents, trust or errors) since it
 * was last called, also where project_files_get was the first to see it. */
typedef void project_file_changed(void *context, const struct project_file *file);
bool project_files_look(struct project_files *files, bool stirred_only, project_file_changed *each, void *context);

/* The next enclosing one that has something to say, or NULL; of the user's own alone. */
const struct project_file *project_file_outer(const struct project_file *file);

/* May something begin? -EINVAL with the first error of the file, or of an enclosing one, and what to do. */
int project_file_check(const struct project_file *file, struct error *error);
bool project_file_needs_trust(const struct project_file *file); /* some of it doesn't count for want of trust */

/* Within a transaction: -ENOENT, -EINVAL (errors), -ESTALE when its content isn't what `hash` says. */
int project_file_trust(struct project_file *file, const char *hash, int64_t now_ms, struct error *error);
/* Within a transaction: all contents in its project. */
int project_file_forget(struct project_file *file, struct error *error);
/* After the transaction: trust is looked up anew. */
void project_files_judge(struct project_files *files, const char *project);
