/*
 * upstream: the HTTP proxy that connections go out through, as a policy names it: http://[user:password@]host:port.
 *
 * Promises: an error never shows the text, which may hold a password; what is to be shown comes from upstream_shown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/host.h"

#define UPSTREAM_NONE "none" /* what a policy says to have none */

struct upstream {
	struct host host;
	uint16_t port;
	char *user;        /* as it is shown in errors; or NULL */
	char *credentials; /* user:password in base64 (RFC 7617 2); or NULL */
};

/* User and password may have bytes as %XX (RFC 3986 3.2.1); they have no control characters, and the user no colon. */
int upstream_parse(const char *text, struct upstream *ret_upstream, struct error *error);
void upstream_copy(struct upstream *copy, const struct upstream *upstream); /* into one that is zero */
void upstream_finish(struct upstream *upstream);
#define CLEANUP_UPSTREAM __attribute__((cleanup(upstream_finish)))

bool upstream_has_password(const char *text);
char *upstream_shown(const char *text); /* without user and password. Freed by the caller */
