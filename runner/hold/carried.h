/*
 * carried: the trapped calls that the runner carries out itself (set_id.h, links.h): what is looked at is what is
 * changed, whatever the tool changes meanwhile.
 */
#pragma once

#include "trap.h"

bool carried_is_one(const struct trap *trap);

/* 0 and a descriptor of the folder that is changed, or in which a name is made, as a name alone (O_PATH); or what the
 * call fails with. It is the thread's if that has been waiting all the while. */
int carried_open(const struct trap *trap, const struct links_view *view, int *ret_fd);

int carried_do(const struct trap *trap, int fd); /* 0, or what the call fails with */
