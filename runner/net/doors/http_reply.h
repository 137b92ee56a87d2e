/*
 * http_reply: the proxy's own answers.
 *
 * Promises: plain text that says what happened, why, and what to do; whatever came from outside is made visible.
 */
#pragma once

#include "base/string.h"
#include "net/gate/gate.h"

struct http_reply {
	int status;
	char *text; /* owned */
};

void http_reply_finish(struct http_reply *reply);

struct http_reply http_reply_refused(const struct error *error);              /* by the code that the parsers give */
struct http_reply http_reply_bad_origin(const char *target, const char *why); /* 502 */

/* 403, 502 or 504 for a gate's result that is no connection. `profile` is proxy_new's. */
struct http_reply http_reply_result(const struct gate_result *result, const char *profile);

/* `with_body` is false for HEAD. */
void http_reply_write(const struct http_reply *reply, bool keep_alive, bool with_body, struct string *out);
