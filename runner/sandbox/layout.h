/*
 * layout: from what is known before a sandbox starts to the rules its plan is built from.
 *
 * Promises: /etc, /usr and the like read-only, fresh /proc, /dev, /tmp and /run, a home of its own; sbx's state,
 * configuration and runtime folders never, whatever the project is (design section 10.6).
 */
#pragma once

#include "base/error.h"
#include "bwrap.h"
#include "command.h"
#include "finds/finds.h"
#include "foreign.h"
#include "plan/judge.h"
#include "plan/rule.h"
#include "runner/project.h"
#include "schema/view.h"

#define LAYOUT_PROGRAMS BWRAP_RUN "/bin" /* the last of PATH inside, when there is one */
#define LAYOUT_PROGRAM  LAYOUT_PROGRAMS "/sbx"

struct layout {
	const struct view *view;
	const struct project *project;
	const struct command *command;
	const char *home;             /* the user's, canonical */
	bool has_home;                /* inside, too: a fresh one, or */
	const char *own_home;         /* one that lasts (runner/homes.h), or NULL */
	const char *search;           /* PATH */
	const struct strings *policy; /* files of this run's policy, which it can't write */
	const char *program;          /* sbx, where it isn't shown anyway: at LAYOUT_PROGRAM; or NULL */
	struct layout_judge judge;
	struct foreign_judge links;
	struct git_survey *survey; /* is taken here, once; the caller's to finish */
	struct finds *finds;       /* what was found for another view of the session, and now for this one; likewise */
	bool curtain;              /* what may be asked for hangs as a node of it */
	bool holds_sockets;        /* connect(2) and sendto(2) are held (ipc.h) */
	bool texts;                /* with sbx's own files of names (etc_files.h) */
	bool trapped;              /* there is none, and a program that may be asked for stays visible: it is trapped */
};

/* The rules, and what the host has at the path of each. */
int layout_rules(const struct layout *layout, struct rules *rules, struct facts *facts, struct error *error);
