/*
 * reload: the policy files are followed, and what rests on them is told (hooks.h, policies_changed).
 *
 * Promises: reload_now has the administrator's and the user's files as they were written before it was called. Without
 * any request sessions follow within REACTION_MS of a change that inotify tells of, and within a second of any other.
 * Every change is in the history, also one that was made while no sbxd ran.
 */
#pragma once

#include "core/broker.h"

struct reload;

struct reload *reload_new(struct broker *broker); /* broker->policies is there */
void reload_free(struct reload *reload);          /* NULL is allowed */

void reload_record_start(struct broker *broker); /* what isn't as it was recorded last */
void reload_now(struct reload *reload);          /* before a decision */
bool reload_everything(struct reload *reload);   /* once a second; true: another one is in force, and that was told */
