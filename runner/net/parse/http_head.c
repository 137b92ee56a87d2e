#include "http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { METHOD_MAX = 32 };

static int malformed(struct error *error, const char *what) {
	return error_set(error, EBADMSG, "%s", what);
}

bool slice_equal(struct slice slice, const char *text) {
	return slice.size == strlen(text) && memcmp(slice.data, text, slice.size) == 0;
}

bool slice_equal_nocase(struct slice slice, const char *text) {
	return slice.size == strlen(text) && strncasecmp(slice.data, text, slice.size) == 0;
}

static bool slice_same_nocase(struct slice a, struct slice b) {
	return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

static bool is_token_char(char c) {
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_space(char c) {
	return c == ' ' || c == '\t';
}

/* field-vchar, obs-text, SP and HTAB (RFC 9110 5.5); also what a reason phrase may hold. */
static bool is_value_char(char c) {
	return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\t';
}

/* RFC 9110 5.6.2 */
static bool slice_is_token(struct slice slice) {
	for (size_t i = 0; i < slice.size; i++)
		if (!is_token_char(slice.data[i])) return false;
	return slice.size > 0;
}

static struct slice slice_trim(struct slice slice) {
	while (slice.size > 0 && is_space(slice.data[0])) slice.data++, slice.size--;
	while (slice.size > 0 && is_space(slice.data[slice.size - 1])) slice.size--;
	return slice;
}

/* The next element of a comma-separated list, trimmed, skipping empty ones (RFC 9110 5.6.1); false at the end. */
static bool slice_next_element(struct slice *list, struct slice *ret_element) {
	while (list->size > 0) {
		const char *comma = memchr(list->data, ',', list->size);
		size_t size = comma ? (size_t)(comma - list->data) : list->size;

		*ret_element = slice_trim((struct slice){list->data, size});
		list->data += size + (comma ? 1 : 0);
		list->size -= size + (comma ? 1 : 0);
		if (ret_element->size > 0) return true;
	}
	return false;
}

long http_head_scan(const char *bytes, size_t size, size_t *scanned, struct error *error) {
	size_t end = size < LIMIT_HEADER ? size : LIMIT_HEADER;

	for (size_t i = *scanned; i < end; i++) {
		char c = bytes[i];
		bool after_cr = i > 0 && bytes[i - 1] == '\r';

		if (c == '\0') return malformed(error, "a NUL byte in the head");
		if (after_cr != (c == '\n'))
			return malformed(error, after_cr ? "a bare CR in the head" : "a bare LF in the head");
		if (c == '\n' && i == 1) return malformed(error, "an empty line where the head should begin");
		if (c == '\n' && i >= 3 && bytes[i - 2] == '\n') return (long)i + 1;
	}
	*scanned = end;
	if (end == LIMIT_HEADER) return error_set(error, E2BIG, "a head of more than %d bytes", LIMIT_HEADER);
	return 0;
}

/* Cuts the next line off, without its CRLF. */
static struct slice next_line(struct slice *rest) {
	const char *lf = memchr(rest->data, '\n', rest->size);
	size_t size = lf ? (size_t)(lf - rest->data) + 1 : rest->size;
	struct slice line = {rest->data, size >= 2 ? size - 2 : 0};

	rest->data += size;
	rest->size -= size;
	return line;
}

static int version_parse(struct slice text, int *ret_minor, struct error *error) {
	if (text.size != 8 || memcmp(text.data, "HTTP/", 5) != 0 || !is_digit(text.data[5]) || text.data[6] != '.' ||
	    !is_digit(text.data[7]))
		return malformed(error, "the first line has no HTTP version");
	if (text.data[5] != '1') return error_set(error, EPROTONOSUPPORT, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	*ret_minor = text.data[7] == '0' ? 0 : 1; /* a higher minor version is read as 1.1 (RFC 9110 2.5) */
	return 0;
}

static int field_parse(struct slice line, struct http_field *ret_field, struct error *error) {
	const char *colon = memchr(line.data, ':', line.size);

	if (is_space(line.data[0])) return malformed(error, "a folded header line");
	if (!colon) return malformed(error, "a header line without a colon");
	ret_field->name = (struct slice){line.data, (size_t)(colon - line.data)};
	ret_field->value = slice_trim((struct slice){colon + 1, line.size - ret_field->name.size - 1});
	if (!slice_is_token(ret_field->name)) return malformed(error, "a header name that is not a token");
	for (size_t i = 0; i < ret_field->value.size; i++)
		if (!is_value_char(ret_field->value.data[i]))
			return malformed(error, "a control character in a header's value");
	return 0;
}

static int fields_parse(struct slice rest, struct http_head *head, struct error *error) {
	for (;;) {
		struct slice line = next_line(&rest);
		int r;

		if (line.size == 0) return 0;
		if (head->field_count == LIMIT_HEADERS)
			return error_set(error, E2BIG, "more than %d header lines", LIMIT_HEADERS);
		if ((r = field_parse(line, &head->fields[head->field_count], error)) < 0) return r;
		head->field_count++;
	}
}

static int request_line_parse(struct slice line, struct http_head *head, struct error *error) {
	const char *end = line.data + line.size;
	const char *first = memchr(line.data, ' ', line.size);
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

	if (!second) return malformed(error, "the request line is not METHOD TARGET HTTP/1.1");
	head->method = (struct slice){line.data, (size_t)(first - line.data)};
	head->target = (struct slice){first + 1, (size_t)(second - first - 1)};
	if (!slice_is_token(head->method) || head->method.size > METHOD_MAX)
		return malformed(error, "the method is not a token");
	if (head->target.size == 0) return malformed(error, "the request has no target");
	for (size_t i = 0; i < head->target.size; i++)
		if (head->target.data[i] <= 0x20 || head->target.data[i] == 0x7f) /* also what is not ASCII */
			return malformed(error, "the request's target has bytes that a URL must not have");
	return version_parse((struct slice){second + 1, (size_t)(end - second - 1)}, &head->minor, error);
}

static int status_line_parse(struct slice line, struct http_head *head, struct error *error) {
	int r;

	if (line.size < 12 || line.data[8] != ' ')
		return malformed(error, "the status line is not HTTP/1.1 CODE REASON");
	if ((r = version_parse((struct slice){line.data, 8}, &head->minor, error)) < 0) return r;
	if (line.data[9] == '0' || !is_digit(line.data[9]) || !is_digit(line.data[10]) || !is_digit(line.data[11]) ||
	    (line.size > 12 && line.data[12] != ' '))
		return malformed(error, "the status code is not three digits");
	head->status = (line.data[9] - '0') * 100 + (line.data[10] - '0') * 10 + (line.data[11] - '0');
	/* "HTTP/1.1 200" without the space is wrong by the letter (RFC 9112 4) but common and not ambiguous. */
	head->reason = line.size > 13 ? (struct slice){line.data + 13, line.size - 13} : (struct slice){"", 0};
	for (size_t i = 0; i < head->reason.size; i++)
		if (!is_value_char(head->reason.data[i]))
			return malformed(error, "a control character in the status line");
	return 0;
}

/* `parse_line` for the first line, then the fields. */
static int head_parse(const char *bytes, size_t size, struct http_head *head,
		      int (*parse_line)(struct slice, struct http_head *, struct error *), struct error *error) {
	struct slice rest = {bytes, size};
	int r;

	head->size = size;
	head->minor = head->status = 0;
	head->field_count = 0;
	if ((r = parse_line(next_line(&rest), head, error)) < 0) return r;
	return fields_parse(rest, head, error);
}

int http_request_head_parse(const char *bytes, size_t size, struct http_head *ret_head, struct error *error) {
	return head_parse(bytes, size, ret_head, request_line_parse, error);
}

int http_response_head_parse(const char *bytes, size_t size, struct http_head *ret_head, struct error *error) {
	return head_parse(bytes, size, ret_head, status_line_parse, error);
}

int http_head_single(const struct http_head *head, const char *name, struct slice *ret_value, struct error *error) {
	const struct http_field *found = NULL;

	for (size_t i = 0; i < head->field_count; i++) {
		if (!slice_equal_nocase(head->fields[i].name, name)) continue;
		if (found) return error_set(error, EBADMSG, "more than one %s header", name);
		found = &head->fields[i];
	}
	if (found) *ret_value = found->value;
	return found != NULL;
}

bool http_head_lists(const struct http_head *head, const char *name, const char *token) {
	for (size_t i = 0; i < head->field_count; i++) {
		struct slice list = head->fields[i].value, element;

		if (!slice_equal_nocase(head->fields[i].name, name)) continue;
		while (slice_next_element(&list, &element))
			if (slice_equal_nocase(element, token)) return true;
	}
	return false;
}

/*
 * Does the field end at this hop: one of RFC 9110 7.6.1, or named by Connection? Framing and routing fields (Host,
 * Content-Length …) count too: they are written anew.
 */
static bool http_head_is_hop_field(const struct http_head *head, struct slice name) {
#define NAME(text)                                                                                                     \
	{ text, sizeof text - 1 }
	static const struct slice hop[] = {
		NAME("Host"),
		NAME("Content-Length"),
		NAME("Transfer-Encoding"),
		NAME("Connection"),
		NAME("Keep-Alive"),
		NAME("Proxy-Authenticate"),
		NAME("Proxy-Authorization"),
		NAME("Proxy-Connection"),
		NAME("TE"),
		NAME("Trailer"),
		NAME("Upgrade"),
		NAME("HTTP2-Settings"),
	};
#undef NAME

	for (size_t i = 0; i < ARRAY_LENGTH(hop); i++)
		if (slice_same_nocase(name, hop[i])) return true;
	for (size_t i = 0; i < head->field_count; i++) {
		struct slice list = head->fields[i].value, element;

		if (!slice_equal_nocase(head->fields[i].name, "Connection")) continue;
		while (slice_next_element(&list, &element))
			if (slice_same_nocase(element, name)) return true;
	}
	return false;
}

void slice_append(struct string *out, struct slice slice) {
	string_append_bytes(out, slice.data, slice.size);
}

void http_head_write_fields(const struct http_head *head, struct string *out) {
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (http_head_is_hop_field(head, field->name)) continue;
		slice_append(out, field->name);
		string_append(out, ": ");
		slice_append(out, field->value);
		string_append(out, "\r\n");
	}
}
