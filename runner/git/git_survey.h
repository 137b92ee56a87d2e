/*
 * git_survey: what lies in a project that makes git on the host go to another repository: nested `.git` files and
 * folders, and gitlinks of the index.
 *
 * Promises: bounded in folders and entries, shallow ones first; follows no link, reads nothing but the index. Taken
 * before a sandbox starts and again when it has ended; what was not understood or left out is in `notes`.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "git.h"

struct git_survey {
	char *root;                  /* the project, canonical */
	char *top, *directory;       /* the repository around it when the survey was taken first; may be NULL */
	size_t hash_size;            /* of its object names */
	struct strings repositories; /* folders with a `.git`, below the project or where a gitlink says */
	struct strings bare;         /* folders that are git directories themselves */
	struct strings shut;         /* folders of the user's own that can't be looked into */
	size_t folders;              /* that were looked into */
	bool cut;                    /* there are more of them, or of their entries, than a bound */
	struct strings notes;        /* sentences for the user */
};

void git_survey_take(const char *root, const struct git_layout *layout, struct git_survey *ret_survey);

/* The same places once more: adds to `paths` what wasn't there. False past a bound; *ret_folders were looked into. */
bool git_survey_compare(const struct git_survey *before, struct strings *paths, size_t *ret_folders);

void git_survey_finish(struct git_survey *survey);
#define CLEANUP_GIT_SURVEY CLEANUP(git_survey_finish)
