/*
 * check_flow: a check on its way to a verdict, which may lead by programs (programs/exec.h) and by the user
 * (prompts.h).
 *
 * Promises: each time that it goes on it walks the stack anew from the start, with what programs have said so far: a
 * grant that was revoked meanwhile, or a changed policy, counts. Exactly one reply, after its record is written.
 */
#pragma once

#include "programs/checking.h"

/* Decide and reply, or have it wait for a program or the user. It is taken over, and zero afterwards. */
void checking_go_on(struct checking *checking);
