/*
 * bwrap: the arguments of bubblewrap.
 *
 * Promises: pure. It makes what it alone can: the namespaces, the root, /proc, and /run with sbx-init; all else of a
 * plan, and /dev, is the portal's, since bwrap's time grows with the square of its mounts. Descriptors have fixed
 * numbers.
 * `--` stands before the command, which is always sbx-init: nothing of the tool's own command line or environment is in
 * it (attack B20), so neither shows in the host's process list.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "plan/plan.h"

#define BWRAP_RUN  "/run/sbx"      /* sbx's own folder inside */
#define BWRAP_INIT "/run/sbx/init" /* sbx-init, a read-only copy (attack F12) */

enum {
	BWRAP_FD_ORDERS = 3, /* sbx-init's end of the socket pair; passed through */
	BWRAP_FD_INIT = 4,   /* sbx-init's program text */
	BWRAP_FD_STDIO = 5,  /* three: the tool's standard descriptors; passed through */
	BWRAP_FD_COUNT = 8,
};

/* A process's root can't be covered by another later. */
enum bwrap_root {
	BWRAP_ROOT_FRESH,
	BWRAP_ROOT_READ, /* the host's, by a rule for "/" */
	BWRAP_ROOT_WRITE,
};
enum bwrap_root bwrap_root_of(const struct plan *plan);

struct bwrap_options {
	const char *program; /* path of bwrap */
	enum bwrap_root root;
	bool network_host;   /* keep the host's network */
	bool disable_userns; /* --disable-userns, since bubblewrap 0.8 */
};

void bwrap_arguments(const struct bwrap_options *options, struct strings *ret_argv);
