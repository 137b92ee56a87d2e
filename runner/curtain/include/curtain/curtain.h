/*
 * curtain: the file doorbell: a FUSE file system whose nodes hang where hidden things may be asked for.
 *
 * A node's path is the host's path. Promises: a request is held only where the kernel has no lock of a folder or file
 * taken for it, so that nothing that waits keeps others (or the portal) waiting; tells nothing of the host but names,
 * types and links that an ask rule covers; reads the host only with lstat(2), readlink(2) and readdir(3), bounded,
 * links never followed; hostile bytes are parsed in curtain_wire.c alone. Every error refuses.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "curtain/curtain_options.h"

struct curtain;

/* Serves the FUSE device (opened in the sandbox's owning user namespace, its superblock mounted with
 * default_permissions; nodes neither read-only nor noexec), which is taken over also on failure. */
int curtain_new(int device, const struct curtain_options *options, struct curtain **ret_curtain, struct error *error);
void curtain_set_portal(struct curtain *curtain, pid_t portal);
void curtain_free(struct curtain *curtain); /* what is held still is refused */
