/*
 * kept: what a run has left in its home, and whether that lasts.
 *
 * Promises: one line at the end, of names that were not there when the sandbox began; made visible, as they came from
 * inside.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "sandbox/scene.h"

/* Zero-initialise, but for `home`: -1. */
struct kept {
	int home; /* the folder, by name alone (O_PATH); -1: there is none */
	struct strings before;
};

/* When all is mounted, and nothing of the tool's runs. */
int kept_begin(struct kept *kept, const struct scene *scene, pid_t init, struct error *error);
/* When nothing of the tool's runs any more; NULL: there is nothing to say. */
char *kept_line(const struct kept *kept, const struct scene *scene);
void kept_finish(struct kept *kept);
