#include "http_request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct scheme {
	const char *name;
	uint16_t port;
} SCHEMES[] = {{"http://", 80}, {"ws://", 80}};

static struct slice slice_from(const char *begin, const char *end) {
	return (struct slice){begin, (size_t)(end - begin)};
}

int http_authority_parse(struct slice authority, uint16_t default_port, struct host *ret_host, uint16_t *ret_port,
			 struct error *error) {
	const char *end = authority.data + authority.size;
	const char *colon = authority.size ? memrchr(authority.data, ':', authority.size) : NULL;
	bool has_port = colon && end[-1] != ']';
	struct error why = ERROR_NONE;
	int r;

	if (has_port || default_port == 0) {
		r = host_port_parse(authority.data, authority.size, ret_host, ret_port, &why);
	} else {
		*ret_port = default_port;
		r = host_parse(authority.data, authority.size, ret_host, &why);
	}
	return r < 0 ? error_set(error, EBADMSG, "%s", why.message) : 0;
}

static int absolute_form_parse(struct slice target, struct http_request *request, struct error *error) {
	const struct scheme *scheme = NULL;
	const char *begin, *end = target.data + target.size, *slash;

	for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
		if (target.size > strlen(SCHEMES[i].name) &&
		    strncasecmp(target.data, SCHEMES[i].name, strlen(SCHEMES[i].name)) == 0)
			scheme = &SCHEMES[i];
	if (!scheme && target.data[0] == '/')
		return error_set(error, EBADMSG, "this is a proxy: the request line needs a whole URL, or CONNECT");
	if (!scheme) return error_set(error, EBADMSG, "only http:// and ws:// URLs are taken; use CONNECT for others");
	if (memchr(target.data, '#', target.size)) return error_set(error, EBADMSG, "a fragment in the URL");
	begin = target.data + strlen(scheme->name);
	for (slash = begin; slash < end && *slash != '/' && *slash != '?';) slash++;
	request->authority = slice_from(begin, slash);
	request->path = slice_from(slash, end);
	return http_authority_parse(request->authority, scheme->port, &request->host, &request->port, error);
}

/*
 * RFC 9112 3.2.2 has a proxy ignore Host; a client that says two things is refused here instead. A Host without a port
 * is taken beside any port of the same host, since clients write that for CONNECT.
 */
static int host_check(const struct http_head *head, const struct http_request *request, struct error *error) {
	struct slice value;
	struct host host;
	uint16_t port;
	int r = http_head_single(head, "Host", &value, error);

	if (r < 0) return r;
	if (r == 0 && head->minor > 0 && !request->tunnel) return error_set(error, EBADMSG, "no Host header");
	if (r == 0) return 0;
	if (http_authority_parse(value, request->port, &host, &port, error) < 0)
		return error_prefix(error, "the Host header");
	if (!host_equal(&host, &request->host) || port != request->port)
		return error_set(error, EBADMSG, "the Host header names another host than the request line");
	return 0;
}

/* Hop-by-hop fields that the framing or routing rests on can't be meant (and would hide them from the next hop). */
static int connection_check(const struct http_head *head, struct error *error) {
	static const char *const fixed[] = {"Host", "Content-Length", "Transfer-Encoding"};

	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (http_head_lists(head, "Connection", fixed[i]))
			return error_set(error, EBADMSG, "a Connection header that names %s", fixed[i]);
	return 0;
}

static int expect_check(const struct http_head *head, struct error *error) {
	struct slice value;
	int r = http_head_single(head, "Expect", &value, error);

	if (r <= 0) return r;
	if (!slice_equal_nocase(value, "100-continue"))
		return error_set(error, EOPNOTSUPP, "an expectation other than 100-continue");
	return 0;
}

static bool method_is_safe(struct slice method) { /* RFC 9110 9.2.1 */
	return slice_equal(method, "GET") || slice_equal(method, "HEAD") || slice_equal(method, "OPTIONS");
}

static bool client_keeps_alive(const struct http_head *head) {
	/* HTTP/1.0 clients and their ways of keep-alive are closed: RFC 9112 C.2.2 */
	return head->minor > 0 && !http_head_lists(head, "Connection", "close") &&
	       !http_head_lists(head, "Proxy-Connection", "close");
}

int http_request_read(const struct http_head *head, struct http_request *ret_request, struct error *error) {
	struct http_request *request = ret_request;
	int r;

	*request = (struct http_request){.tunnel = slice_equal(head->method, "CONNECT")};
	if (request->tunnel) {
		request->authority = head->target;
		r = http_authority_parse(head->target, 0, &request->host, &request->port, error);
	} else {
		r = absolute_form_parse(head->target, request, error);
	}
	if (r < 0 || (r = host_check(head, request, error)) < 0 || (r = connection_check(head, error)) < 0 ||
	    (r = expect_check(head, error)) < 0 ||
	    (r = http_framing_read(head, &request->framing, &request->length, error)) < 0)
		return r;
	if (request->tunnel && (request->framing == HTTP_FRAMING_CHUNKED || request->length > 0))
		return error_set(error, EBADMSG, "CONNECT with a body");
	request->keep_alive = client_keeps_alive(head);
	request->head = slice_equal(head->method, "HEAD");
	request->repeatable = method_is_safe(head->method) && request->framing == HTTP_FRAMING_NONE;
	request->websocket = http_head_lists(head, "Upgrade", "websocket") &&
			     http_head_lists(head, "Connection", "upgrade") && slice_equal(head->method, "GET") &&
			     request->framing == HTTP_FRAMING_NONE;
	return 0;
}

static void write_target(const struct http_head *head, const struct http_request *request, struct string *out) {
	if (request->path.size == 0 && slice_equal(head->method, "OPTIONS")) { /* RFC 9112 3.2.4 */
		string_append_char(out, '*');
		return;
	}
	if (request->path.size == 0 || request->path.data[0] == '?') string_append_char(out, '/');
	slice_append(out, request->path);
}

static void write_framing(const struct http_request *request, struct string *out) {
	if (request->framing == HTTP_FRAMING_CHUNKED) string_append(out, "Transfer-Encoding: chunked\r\n");
	if (request->framing == HTTP_FRAMING_LENGTH)
		string_appendf(out, "Content-Length: %llu\r\n", (unsigned long long)request->length);
}

/* No Via: what the origin sees is the tool's request, as it would be without us. */
void http_request_write(const struct http_head *head, const struct http_request *request, struct string *out) {
	slice_append(out, head->method);
	string_append_char(out, ' ');
	write_target(head, request, out);
	string_append(out, " HTTP/1.1\r\nHost: ");
	slice_append(out, request->authority);
	string_append(out, "\r\n");
	http_head_write_fields(head, out);
	write_framing(request, out);
	if (request->websocket) string_append(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	string_append(out, "\r\n");
}
