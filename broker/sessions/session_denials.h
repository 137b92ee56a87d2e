/*
 * session_denials: denials outlive the broker with their sandbox.
 */
#pragma once

#include "session.h"

/* What the sandbox was denied as session `before` it is denied on, within a transaction. */
int session_carry_denials(struct session *session, int64_t before, struct error *error);
