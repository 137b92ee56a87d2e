#include "http_reply.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/advice.h"

static const struct {
	int status;
	const char *title;
} TITLES[] = {
	{400, "Bad Request"},
	{403, "Forbidden"},
	{417, "Expectation Failed"},
	{431, "Request Header Fields Too Large"},
	{502, "Bad Gateway"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

static const char *status_title(int status) {
	for (size_t i = 0; i < ARRAY_LENGTH(TITLES); i++)
		if (TITLES[i].status == status) return TITLES[i].title;
	return "Error";
}

void http_reply_finish(struct http_reply *reply) {
	free(reply->text);
	reply->text = NULL;
}

static int status_of(int code) {
	switch (code) {
	case E2BIG:
		return 431;
	case EPROTONOSUPPORT:
		return 505;
	case EOPNOTSUPP:
		return 417;
	default:
		return 400;
	}
}

struct http_reply http_reply_refused(const struct error *error) {
	CLEANUP_FREE char *why = text_visible(error->message);

	return (struct http_reply){status_of(error->code),
				   string_format("sbx: the proxy does not take this request: %s\n", why)};
}

struct http_reply http_reply_bad_origin(const char *target, const char *why) {
	CLEANUP_FREE char *visible = text_visible(why);

	return (struct http_reply){
		502, string_format("sbx: %s sent no answer that can be passed on: %s\n", target, visible)};
}

static struct http_reply reply_denied(const struct gate_result *result, const char *profile) {
	CLEANUP_FREE char *why = text_visible(result->message);
	const struct advice_about about = {.permission = "net:access", .target = result->target, .profile = profile};
	CLEANUP_FREE char *advice = advice_text(result->verdict, &about);
	CLEANUP_FREE char *line =
		advice ? string_format("In a terminal outside the sandbox: %s\n", advice) : string_copy("");

	return (struct http_reply){403, string_format("sbx: %s is not allowed: %s\n%s", result->target, why, line)};
}

struct http_reply http_reply_result(const struct gate_result *result, const char *profile) {
	if (result->outcome == GATE_DENIED) return reply_denied(result, profile);
	CLEANUP_FREE char *why = text_visible(result->message);
	return (struct http_reply){result->code == ETIMEDOUT ? 504 : 502,
				   string_format("sbx: no connection to %s: %s\n", result->target, why)};
}

void http_reply_write(const struct http_reply *reply, bool keep_alive, bool with_body, struct string *out) {
	string_appendf(out,
		       "HTTP/1.1 %d %s\r\n"
		       "Content-Type: text/plain; charset=utf-8\r\n"
		       "Content-Length: %zu\r\n"
		       "Cache-Control: no-store\r\n"
		       "%s\r\n",
		       reply->status, status_title(reply->status), strlen(reply->text),
		       keep_alive ? "" : "Connection: close\r\n");
	if (with_body) string_append(out, reply->text);
}
