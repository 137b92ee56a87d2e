/*
 * sandbox: a home, a project, a view and a fake broker for tests that run real sandboxes as an ordinary user.
 */
#pragma once

#include "runner/run.h"
#include "schema/view.h"

struct sandbox {
	char *top, *home, *project, *events, *socket, *init, *attack; /* inside, $A is the path of attack */
	struct view *view;
	const char *matched; /* a name that patterns take away */
	struct run_options options;
};

struct outcome {
	int status;
	char *out, *err; /* of the tool and of the run */
};

/* Started as root it becomes an ordinary user for the rest of the program. */
void sandbox_make(struct sandbox *sandbox);
void sandbox_remove(struct sandbox *sandbox);

/* Run `line` with sh inside. `meanwhile` (may be NULL) runs on the host as soon as the file `started` is in the
 * project. */
void sandbox_run(struct sandbox *sandbox, const char *line, void (*meanwhile)(struct sandbox *sandbox),
		 struct outcome *ret_outcome);
void outcome_finish(struct outcome *outcome);
#define CLEANUP_OUTCOME __attribute__((cleanup(outcome_finish)))

void sandbox_shell(const struct sandbox *sandbox, const char *line); /* on the host, in the project */
