/*
 * findings: what came of a run that its user should look at, found when it has ended: names that would have been
 * protected, repositories, links that lead out, changes that git no longer shows, and what was not looked at.
 *
 * Promises: at most a line on the terminal for each of these kinds, and a row in the history for each of the first
 * FINDINGS_TOLD findings of one; what came from inside is made visible. Each look is bounded, and says where it ended.
 */
#pragma once

#include <jansson.h>
#include <time.h>

#include "base/string.h"
#include "hold/keeper.h"
#include "plan/plan.h"
#include "sandbox/scene.h"
#include "session/session.h"

enum { FINDINGS_SHOWN = 6, FINDINGS_TOLD = 100 };

enum finding_kind { FINDING_PROTECTED, FINDING_REPOSITORY, FINDING_LINK, FINDING_HIDDEN, FINDING_BOUND };
enum { FINDING_KIND_COUNT = FINDING_BOUND + 1 };

struct finding {
	char *target;   /* a path */
	char *shown;    /* what the line says of it; visible */
	json_t *detail; /* what the history says of it */
};

struct findings_of_kind {
	struct finding *items; /* the first of them */
	size_t count, all;
};

/* Zero-initialise. */
struct findings {
	struct findings_of_kind kinds[FINDING_KIND_COUNT];
	int64_t session;
};

/* When the tool could do anything first, by two clocks: the one that files are dated by may be set meanwhile. */
struct findings_since {
	struct timespec real, boot;
};
void findings_begin(struct findings_since *ret_since);

/* All borrowed. */
struct findings_options {
	const struct scene *scene;
	const struct plan *plan; /* the last one in force */
	const struct keeper_made *made;
	const struct findings_since *since;
};

void findings_look(const struct findings_options *options, struct findings *findings);
/* But for names that would have been protected and are `recorded` already. */
void findings_tell(const struct findings *findings, struct session *session, const struct strings *recorded);
char *findings_line(const struct findings *findings, enum finding_kind kind); /* or NULL: there is none */
void findings_say(const struct findings *findings);
void findings_finish(struct findings *findings);

/* Takes the detail over and adds "what" to it. `shown` NULL: the target itself. */
void findings_add(struct findings *findings, enum finding_kind kind, const char *target, const char *shown,
		  json_t *detail);
