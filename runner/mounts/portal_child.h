/*
 * portal_child: what happens inside the portal's process; portal.c is the runner's side.
 */
#pragma once

#include <sys/types.h>

/* Serve requests on `socket` until its other end is gone; `spare` is an earlier portal's, -1: none. Does not return. */
_Noreturn void portal_child_run(int socket, int spare, pid_t parent);
