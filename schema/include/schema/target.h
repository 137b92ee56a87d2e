/*
 * target: what a request is about, in the one form that is compared, shown, stored and looked up.
 *
 * Promises: canonical text by the permission's kind: fs, proc and ipc an absolute normal path (as text: links are
 * the runner's affair); net "host:port" by host.h; listen a decimal port; env a name without '=' and NUL;
 * user-defined: the text as it is, bounded. Same thing, same bytes.
 */
#pragma once

#include "base/error.h"
#include "schema/permission.h"

/* Freed by the caller. `directory` (absolute) is where a relative path starts, `home` what a leading ~ means; each may
 * be NULL (then such a target is refused). */
int target_parse(const struct permission *permission, const char *text, const char *directory, const char *home,
		 char **ret_target, struct error *error);
