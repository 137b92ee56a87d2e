/*
 * git_survey: what lies in a project that makes git on the host go to another repository or go on with a plan of
 * commands: nested `.git` files and folders, gitlinks of the index, the todo lists of rebase, am and sequencer.
 *
 * Promises: bounded in folders and entries, shallow ones first; follows no link, reads nothing but the index. Taken
 * before a sandbox starts and again when it has ended; what was not understood or left out is in `notes`.
 */
#pragma once

#include "base/string.h"
#include "git.h"

struct git_survey {
	char *root;                  /* the project, canonical */
	char *top, *directory;       /* the repository around it when the survey was taken first; may be NULL */
	size_t hash_size;            /* of its object names */
	struct strings repositories; /* folders with a `.git`, below the project or where a gitlink says */
	struct strings bare;         /* folders that are git directories themselves */
	struct strings plans;        /* the gitlinks and todo lists there are, as paths */
	struct strings notes;        /* sentences for the user */
};

void git_survey_take(const char *root, const struct git_layout *layout, const char *home,
		     struct git_survey *ret_survey);

/* The same places once more: adds to `paths` what wasn't there. */
void git_survey_compare(const struct git_survey *before, struct strings *paths);

void git_survey_finish(struct git_survey *survey);
#define CLEANUP_GIT_SURVEY CLEANUP(git_survey_finish)
