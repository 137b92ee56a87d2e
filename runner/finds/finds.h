/*
 * finds: what was looked for in the trees that a sandbox is shown: names that the view's patterns match, sockets, the
 * files of repositories that are masked, other names of masked files.
 *
 * Promises: each walk is bounded; what was found is kept for a session, so that one more grant costs a look into the
 * one tree that is new. Names that are made later in a tree that was walked are not looked for: those that are to be
 * hidden are told of (arrivals.h), facts are taken anew (facts.h).
 */
#pragma once

#include "base/error.h"
#include "git/git.h"
#include "git/git_review.h"
#include "git/git_survey.h"
#include "given.h"
#include "led.h"
#include "linked.h"
#include "plan/facts.h"
#include "plan/rule.h"
#include "runner/project.h"
#include "schema/view.h"

/* A folder that is shown, as it was looked into. */
struct finds_root {
	char *path;
	dev_t device;
	ino_t inode;
};

/* In its state: what walks and looks have gone through (known.h). */
#define FINDS_KNOWN  "folders"
#define FINDS_LOOKED "looked"

/* Zero-initialise. */
struct finds {
	struct fact_book book;
	struct strings patterns;  /* of the view, when `trees` were walked */
	struct strings trees;     /* walked for patterns and sockets */
	struct finds_root *roots; /* what lay at the trees then */
	size_t root_count;
	bool swapped;                    /* another folder has come to one of them: finds_were_swapped */
	struct strings matches, sockets; /* in them; the matches are sorted */
	struct strings shut;             /* folders in them that can't be looked into (walk.h) */
	struct strings arrived;          /* of the matches those that came to be only while it runs, sorted */
	size_t arrived_left;             /* of them, when those that were gone were dropped last */
	struct given given;              /* to calls */
	struct linked linked;            /* places in them that patterns name by links */
	bool deep;                       /* more folders than sockets were looked for in */
	struct git_layout git;           /* the project's */
	struct strings repositories;     /* trees that were looked into for repositories */
	struct git_survey *surveys;      /* of each of those trees but the project, before it was shown */
	size_t survey_count;
	struct git_review review;    /* of the repositories, likewise */
	struct strings unlooked;     /* sentences for the user: where repositories aren't known, and not protected */
	struct strings protect;      /* what is masked in repositories */
	struct strings work, nested; /* trees that may be written, repositories in them: ${root} is to stand for each */
	bool look_again;             /* in repositories: finds_look_again */
	struct rules names;          /* for other names of what `named` says */
	struct strings named;
	struct strings shared;      /* masked files that got another name while it ran: finds_shared */
	struct strings own_folders; /* of links, that nobody else may write (foreign.h) */
	struct led led;
	struct strings notes; /* sentences for the user */
	char *state;          /* as in the options */
	char *cgroup;         /* of this process, below /sys/fs/cgroup: "" there is none; NULL: not looked for yet */
};

struct finds_options {
	const struct view *view;
	const struct project *project;
	const char *home;
	struct git_survey *survey; /* is taken here, once */
	bool sockets;              /* all are looked for */
	const char *state;         /* a folder of sbx for the project, whether it is there or not */
};

/* Each brings its lists up to date with the rules there are so far, of which it adds the facts; finds_names adds its
 * own rules to them. */
int finds_matches(struct finds *finds, const struct finds_options *options, const struct rules *rules,
		  struct facts *facts, struct error *error);
void finds_repositories(struct finds *finds, const struct finds_options *options, const struct rules *rules,
			struct facts *facts);
void finds_names(struct finds *finds, const struct finds_options *options, struct rules *rules, struct facts *facts);

/* Other names of the masked file are looked for from the next plan on, too. False: they are already, or
 * it is one of those. */
bool finds_shared(struct finds *finds, const char *path);

/* What is masked is of another kind now: a repository's `.git` may have become a file that names another one. More is
 * masked then, never less. */
void finds_look_again(struct finds *finds);

/* Was a folder that is shown swapped for another one since the last call? What is watched in it is the old one's. */
bool finds_were_swapped(struct finds *finds);

/* The view's patterns that hide (view.h), also as they are where links lead. */
void finds_hiding(const struct finds *finds, const struct view *view, struct strings *ret_patterns);

/* Something that such a pattern matches has come to be; false: it is known. */
bool finds_arrived(struct finds *finds, const char *path);

/* Is there something that the broker judges by its path, whether or not the view changes? */
bool finds_are_judged(const struct finds *finds);

/* The pattern that names the most of what was found, and one such path; NULL: none does. All borrowed. */
const char *finds_most(const struct finds *finds, const struct finds_options *options, size_t *ret_count,
		       const char **ret_path);

void finds_finish(struct finds *finds);
