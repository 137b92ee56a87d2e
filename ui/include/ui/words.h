/*
 * words: from what a user writes on the command line to what the broker is told: targets, patterns, projects.
 *
 * Promises: the broker doesn't know the caller's working directory, so relative paths are made absolute here and
 * nowhere else; everything else is passed on as written and judged there.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "schema/permission.h"

const char *home_directory(void); /* $HOME when absolute, else the account's; NULL when there is none. Borrowed */

/* The working directory; freed by the caller. */
int working_directory(char **ret_path, struct error *error);

/* What a request would name: canonical, no wildcards; of a bare program name the first in $PATH. Freed by the caller.
 */
int words_target(const struct permission *permission, const char *text, char **ret_target, struct error *error);
/* Of a program that is a link: what it leads to, freed by the caller; or NULL. */
char *words_program(const struct permission *permission, const char *target);

/*
 * What a grant names: a relative path is below the working directory, unless it starts with "**" + "/" (below every
 * granted tree), and a bare program name stays one. Freed by the caller.
 */
int words_pattern(const struct permission *permission, const char *text, char **ret_pattern, struct error *error);

/* The same for "PERM=TARGET" texts of --allow and --deny, in place. */
int words_patterns(struct strings *texts, struct error *error);

/* The path, visible, if a pattern of fs:read or fs:write is a path without wildcards that does not exist; else NULL. */
char *words_missing(const struct permission *permission, const char *pattern);

/* The path that is written exactly so, where it is there and the text, which has wildcards, doesn't mean it as a
 * pattern ("[id].tsx" means i.tsx and d.tsx); else NULL. Freed by the caller. */
char *words_namesake(const struct permission *permission, const char *text);

/* Where a pattern of fs:read or fs:write that is a path without wildcards leads now, if elsewhere by a link; else NULL.
 */
char *words_resolved(const struct permission *permission, const char *pattern);
/* The same, or the path itself; NULL: it has wildcards, or is of another permission. */
char *words_real_path(const struct permission *permission, const char *pattern);

/* What such a pattern with wildcards is where a link in front of them leads, for calls are judged by that; NULL: there
 * is no link. words_follow: the same of "PERM=TARGET" texts, in place. */
char *words_linked(const struct permission *permission, const char *pattern);
void words_follow(struct strings *texts);

/* The directory that grants are kept under: `asked`, or the current project. Freed by the caller. */
int words_project(const char *asked, char **ret_project, struct error *error);

/* The same of one whose directory may be gone, while its history isn't: then the name is enough. */
int words_past_project(const char *asked, char **ret_project, struct error *error);
