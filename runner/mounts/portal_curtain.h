/*
 * portal_curtain: the superblock of the curtain (curtain/), which a portal makes and the runner serves.
 *
 * Promises: it is mounted in the portal's own namespace alone; nodes of it are cloned from there. No request is sent to
 * its server in here.
 */
#pragma once

#include "portal_spaces.h"

/* *ret_device is /dev/fuse, opened in the sandbox's user namespace; *ret_root its root (O_PATH), *ret_spare a detached
 * mount of it for a later portal. -ENOENT, -ENODEV, -EACCES, -EPERM: there is none to be had here. */
int superblock_make(const struct spaces *spaces, int *ret_device, int *ret_root, int *ret_spare, struct error *error);

/* The curtain that a dead portal made. `spare` stays the caller's. */
int superblock_adopt(const struct spaces *spaces, int spare, int *ret_root, int *ret_spare, struct error *error);
