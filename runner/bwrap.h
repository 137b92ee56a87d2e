/*
 * bwrap: a plan → the arguments of bubblewrap.
 *
 * Promises: pure. Descriptors have fixed numbers (below), so the arguments are the same every time. Every path begins
 * with '/', and `--` stands before the command, which is always sbx-init: nothing of the tool's own command line or
 * environment is in it (attack B20), so neither shows in the host's process list.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "plan.h"

#define BWRAP_RUN    "/run/sbx"        /* sbx's own folder inside */
#define BWRAP_INIT   "/run/sbx/init"   /* sbx-init, a read-only copy (attack F12) */
#define BWRAP_VOID   "/run/sbx/void"   /* an empty file without permissions: what masks of files are made of */
#define BWRAP_HIDDEN "/run/sbx/hidden" /* an empty folder without permissions: what masks of folders are */

enum {
	BWRAP_FD_ORDERS = 3,      /* sbx-init's end of the socket pair; passed through */
	BWRAP_FD_INIT = 4,        /* sbx-init's program text */
	BWRAP_FD_FIRST_EMPTY = 5, /* an empty file for BWRAP_VOID and then for each hidden file, one after the other */
};

struct bwrap_options {
	const char *program; /* path of bwrap */
	bool network_host;   /* keep the host's network */
	bool disable_userns; /* --disable-userns, since bubblewrap 0.8 */
};

void bwrap_arguments(const struct plan *plan, const struct bwrap_options *options, struct strings *ret_argv);
size_t bwrap_empty_count(const struct plan *plan); /* descriptors from BWRAP_FD_FIRST_EMPTY on */
