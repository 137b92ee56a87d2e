/*
 * blocked: the summary of what a run was denied, on stderr at its end.
 *
 * Promises: the first ten targets (with --record all), each with why and what can be done about it (schema/advice.h),
 * and where the others are found. On a terminal the commands stand by themselves, to be copied as they are; elsewhere
 * a denial is one line that begins "sbx: blocked PERM TARGET", for logs. Everything that came from inside is visible.
 */
#pragma once

#include "net/gate/denied.h"
#include "net/gate/gate.h"
#include "sandbox/scene.h"

/* Borrowed. */
struct blocked {
	const struct scene *scene;
	const struct gate *gate;     /* or NULL */
	const struct denied *denied; /* one for each kind of permission */
	int64_t session;
};

size_t blocked_count(const struct blocked *blocked); /* targets */
void blocked_say(const struct blocked *blocked);
