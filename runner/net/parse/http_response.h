/*
 * http_response: what an origin's response means, and writing it anew for the client.
 *
 * Promises: pure; as strict as with requests, so that an origin can't make the tool and us see different responses
 * on one connection.
 */
#pragma once

#include "http_request.h"

struct http_response {
	bool interim;    /* 1xx other than 101 */
	bool switches;   /* 101 to what the request asked for: raw bytes from now on */
	bool keep_alive; /* the origin will take another request */
	enum http_framing framing;
	uint64_t length;
	bool has_length; /* Content-Length was given (also where there is no body: HEAD, 304) */
};

int http_response_read(const struct http_head *head, const struct http_request *request,
		       struct http_response *ret_response, struct error *error);

/* How the body reaches the client: chunks and interim responses only for HTTP/1.1 clients. */
enum http_framing http_response_client_framing(const struct http_response *response, int client_minor);

void http_response_write(const struct http_head *head, const struct http_response *response,
			 enum http_framing client_framing, bool keep_alive, struct string *out);
