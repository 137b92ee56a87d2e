/*
 * item: the rules under allow, ask and deny: a map of permissions, each with a list of targets or {target: …}.
 *
 * Promises: every pattern has been compiled once against a stand-in for the subject, so a bad one is found where it is
 * written; no more than LIMIT_RULES in a file.
 */
#pragma once

#include "keys.h"

void rules_read(struct reader *reader, enum effect effect, const struct node *map);
