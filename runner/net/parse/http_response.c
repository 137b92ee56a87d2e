#include "http_response.h"

#include <errno.h>

static bool origin_keeps_alive(const struct http_head *head) {
	if (http_head_lists(head, "Connection", "close")) return false;
	return head->minor > 0 || http_head_lists(head, "Connection", "keep-alive");
}

int http_response_read(const struct http_head *head, const struct http_request *request,
		       struct http_response *ret_response, struct error *error) {
	struct http_response *response = ret_response;
	int r;

	*response = (struct http_response){.interim = head->status < 200 && head->status != 101};
	if ((r = http_framing_read(head, &response->framing, &response->length, error)) < 0) return r;
	response->has_length = response->framing == HTTP_FRAMING_LENGTH;
	if (head->status == 101) {
		if (!request->websocket || !http_head_lists(head, "Upgrade", "websocket"))
			return error_set(error, EBADMSG, "a switch of protocols that was not asked for");
		response->switches = true;
	}
	/* RFC 9112 6.3 */
	if (head->status < 200 || head->status == 204 || head->status == 304 || request->head)
		response->framing = HTTP_FRAMING_NONE;
	else if (response->framing == HTTP_FRAMING_NONE)
		response->framing = HTTP_FRAMING_CLOSE;
	response->keep_alive = response->framing != HTTP_FRAMING_CLOSE && origin_keeps_alive(head);
	return 0;
}

enum http_framing http_response_client_framing(const struct http_response *response, int client_minor) {
	if (response->framing == HTTP_FRAMING_CHUNKED && client_minor == 0) return HTTP_FRAMING_CLOSE;
	return response->framing;
}

void http_response_write(const struct http_head *head, const struct http_response *response,
			 enum http_framing client_framing, bool keep_alive, struct string *out) {
	string_appendf(out, "HTTP/1.1 %d ", head->status);
	slice_append(out, head->reason);
	string_append(out, "\r\n");
	http_head_write_fields(head, out);
	if (client_framing == HTTP_FRAMING_CHUNKED) string_append(out, "Transfer-Encoding: chunked\r\n");
	/* RFC 9110 8.6: never with 1xx and 204; with HEAD and 304 it tells of the body that is not sent. */
	if (response->has_length && head->status >= 200 && head->status != 204)
		string_appendf(out, "Content-Length: %llu\r\n", (unsigned long long)response->length);
	if (response->switches)
		string_append(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (!response->interim && !keep_alive)
		string_append(out, "Connection: close\r\n");
	string_append(out, "\r\n");
}
