/*
 * scene: everything about a run that is settled before a process is started: who, what, where, and the plan.
 *
 * Promises: every reason why a sandbox can't be as asked is found here, before anything was started.
 */
#pragma once

#include "ask_nodes.h"
#include "command.h"
#include "finds/finds.h"
#include "finds/roots.h"
#include "git/git_survey.h"
#include "plan/plan.h"
#include "runner/options.h"
#include "runner/project.h"
#include "schema/view.h"
#include "session/session.h"

struct scene {
	const struct run_options *options;
	char *home;      /* the user's, canonical */
	char *directory; /* where the command starts: the caller's, canonical */
	const char *search;
	struct strings policy; /* --policy FILE: as it was named and where it lies; nothing for what is no file */
	struct project project;
	struct command command;
	struct view *view;
	bool curtain, trapped; /* the doorbell, set before scene_complete; see layout.h */
	struct plan plan;      /* what the sandbox starts with */
	struct finds finds;    /* what plans were made from, and which folders are real: kept for the next plan */
	struct roots roots;
	struct strings told; /* trees that the broker knows the sandbox may write */
	struct ask_nodes nodes;
	enum view_home home_kind;  /* as the sandbox started */
	enum view_network network; /* likewise */
	bool holds_sockets;        /* calls that name an address are held */
	char *own_home;            /* where the one that lasts lies (runner/homes.h), or NULL */
	int residence;             /* in that (own_home.h); -1: there is none */
	struct git_survey survey;  /* of the project before anything ran */
	char *home_inside;         /* HOME */
	struct strings environment, left_out;
};

/* What is known without the broker: project, directory, command. *ret_status is 126 or 127 when the command can't be
 * run; then nothing else counts. */
int scene_begin(struct scene *scene, const struct run_options *options, int *ret_status, struct error *error);

/* With the view: the plan, the directory inside, the environment. */
int scene_complete(struct scene *scene, struct session *session, int *ret_status, struct error *error);

/* The plan for another view of this run. `fresh`: the host is asked again what is at a path and which names a home
 * has; trees that were walked are not walked again. What the sandbox
 * has of its own (home, network, limits) stays as it started. */
int scene_replan(struct scene *scene, struct session *session, const struct view *view, bool fresh,
		 struct plan *ret_plan, struct error *error);

/* Connections by any program, or by those that speak to a proxy alone: `network: proxy`, and where native isn't to be
 * had (runner/native_needs.h). Both have the proxy's doors. */
bool scene_is_native(const struct scene *scene);
bool scene_is_proxied(const struct scene *scene);
bool scene_has_gate(const struct scene *scene);  /* one of them */
bool scene_is_direct(const struct scene *scene); /* native, and a rule says `direct: true` */
char *scene_text(const struct scene *scene);     /* --print-plan */
void scene_finish(struct scene *scene);
