/*
 * own_home: a sandbox enters the home that lasts of its profile.
 *
 * Promises: the folder is the user's alone (0700), and made if need be, with the folders of
 * schema/home.h that the user's home has. While no other sandbox has it, what was made in
 * it to mount something on by one that has ended is removed, but for what this one's plan mounts something on. What a
 * tool has made stays; what is in the way of a mount gets another name, which is said. A tool can have sbx believe that
 * another sandbox has the home; then mount points stay, too.
 */
#pragma once

#include "base/error.h"
#include "plan/plan.h"

/* `place` is mounted at `home`. Until *ret_fd is closed, or this process ends, the sandbox is one of its residents. */
int own_home_enter(const char *place, const char *home, const struct plan *plan, int *ret_fd, struct error *error);
