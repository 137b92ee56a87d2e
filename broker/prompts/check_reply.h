/*
 * check_reply: what whoever waits for a check is told: a reply to its message, or, of one of a session's wants, the
 * count (wants.h).
 */
#pragma once

#include "programs/checking.h"

void checking_reply(const struct checking *checking, const struct verdict *verdict);
void checking_refuse(const struct checking *checking, const struct error *error); /* it won't be answered */
