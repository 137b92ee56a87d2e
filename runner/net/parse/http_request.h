/*
 * http_request: what a request to the proxy means: CONNECT or absolute-form, to whom, with which body.
 *
 * Promises: pure. The authority of the request line is what is judged, dialled and sent on as Host; a Host
 * header that names another host is refused, not ignored (N4). What goes on is written anew from the parsed head.
 */
#pragma once

#include "base/string.h"
#include "http_body.h"
#include "http_head.h"
#include "schema/host.h"

struct http_request {
	bool tunnel; /* CONNECT; else absolute-form */
	struct host host;
	uint16_t port;
	struct slice authority; /* as it was written, checked */
	struct slice path;      /* absolute-form: from the first '/' or '?'; may be empty */
	enum http_framing framing;
	uint64_t length;
	bool keep_alive; /* the client will send another on this connection */
	bool head;       /* the method is HEAD: the response has no body */
	bool repeatable; /* safe and without a body: may be sent again when a kept connection was closed */
	bool websocket;  /* Upgrade: websocket, passed through */
};

/* An authority without user name; the port may be missing where a default is given (not 0). -EBADMSG. */
int http_authority_parse(struct slice authority, uint16_t default_port, struct host *ret_host, uint16_t *ret_port,
			 struct error *error);

/* -EBADMSG (400), -EPROTONOSUPPORT (505) or -EOPNOTSUPP (417: an expectation that nobody knows). */
int http_request_read(const struct http_head *head, struct http_request *ret_request, struct error *error);

/* The head to send to the origin (absolute-form requests only). */
void http_request_write(const struct http_head *head, const struct http_request *request, struct string *out);
