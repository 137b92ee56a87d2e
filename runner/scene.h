/*
 * scene: everything about a run that is settled before a process is started: who, what, where, and the plan.
 *
 * Promises: every reason why a sandbox can't be as asked is found here, before anything was started.
 */
#pragma once

#include "command.h"
#include "git_survey.h"
#include "plan.h"
#include "runner/project.h"
#include "runner/run.h"
#include "schema/view.h"
#include "session.h"

struct scene {
	const struct run_options *options;
	char *home;      /* the user's, canonical */
	char *directory; /* where the command starts: the caller's, canonical */
	const char *search;
	struct project project;
	struct command command;
	struct view *view;
	struct plan plan;
	struct git_survey survey; /* of the project before anything ran */
	char *home_inside;        /* HOME */
	struct strings environment, left_out;
};

/* What is known without the broker: project, directory, command. *ret_status is 126 or 127 when the command can't be
 * run; then nothing else counts. */
int scene_begin(struct scene *scene, const struct run_options *options, int *ret_status, struct error *error);

/* With the view: the plan, the directory inside, the environment. */
int scene_complete(struct scene *scene, struct session *session, int *ret_status, struct error *error);

bool scene_is_proxied(const struct scene *scene);
char *scene_text(const struct scene *scene); /* --print-plan */
void scene_finish(struct scene *scene);
