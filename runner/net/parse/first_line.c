/*
 * Theory of operation. Node.js (llhttp), Python's http.server with wsgiref and Go's net/http were tried; of nginx,
 * Perl's HTTP::Daemon and Ruby's WEBrick the source was read. Python splits a line at whatever is blank in Latin-1 and
 * takes any three words of which the last begins with "HTTP/", whatever bytes the first two have. Without a version all
 * but Go take two words; Node.js and Python read the fields behind them as well, and the others serve the host of a
 * target that is a URL.
 */
#include "first_line.h"

#include <string.h>
#include <strings.h>

#include "http_head.h"
#include "schema/host.h"

/* Python's str.split() (Objects/unicodetype_db.h), in Latin-1. */
static bool is_blank(char c) {
	const unsigned char byte = (unsigned char)c;
	return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f) || byte == 0x85 ||
	       byte == 0xa0;
}

static bool is_control(char c) {
	return ((unsigned char)c < ' ' && !is_blank(c)) || c == 0x7f;
}

/* Any of RFC 9110's tokens (5.6.2), and more: a method of one's own is a method. */
static bool is_in_word(char c) {
	return c > ' ' && c < 0x7f;
}

static bool begins_with(const char *at, const char *end, const char *text) {
	const size_t length = strlen(text);
	return (size_t)(end - at) >= length && strncasecmp(at, text, length) == 0;
}

static bool slice_begins(struct slice slice, const char *text) {
	return begins_with(slice.data, slice.data + slice.size, text);
}

static struct slice word_cut(const char **at, const char *end) {
	while (*at < end && is_blank(**at)) (*at)++;
	struct slice word = {.data = *at};
	while (*at < end && !is_blank(**at)) (*at)++;
	word.size = (size_t)(*at - word.data);
	return word;
}

static bool is_printable(struct slice word) {
	for (size_t i = 0; i < word.size; i++)
		if (!is_in_word(word.data[i])) return false;
	return true;
}

/*
 * "HTTP/" behind the first word. Python alone takes a line that has controls, or a method that isn't ASCII, and then
 * only with a blank before the version: most protocols of bytes that name this version (FastCGI, AJP) have none there.
 */
static bool has_version(struct slice method, const char *end, bool *ret_binary) {
	*ret_binary = !is_printable(method);
	for (const char *at = method.data + method.size; at < end; at++) {
		if (is_control(*at)) *ret_binary = true;
		if ((!*ret_binary || is_blank(at[-1])) && begins_with(at, end, "HTTP/")) return true;
	}
	return false;
}

/*
 * Without a version servers serve no other method (Python only GET); HTTP::Daemon leaves that to its program. "get
 * http://example.org/" is memcached's.
 */
static bool is_capital(struct slice method) {
	for (size_t i = 0; i < method.size; i++)
		if ((method.data[i] < 'A' || method.data[i] > 'Z') && method.data[i] != '-' && method.data[i] != '_')
			return false;
	return true;
}

/* nginx takes a URL of any scheme, HTTP::Daemon one with more words behind it. */
static bool names_host(struct slice method, struct slice target, bool is_last) {
	struct host host;
	uint16_t port;

	if (slice_equal(method, "CONNECT")) return host_port_parse(target.data, target.size, &host, &port, NULL) == 0;
	return slice_begins(target, "http://") || slice_begins(target, "https://") ||
	       (is_last && memmem(target.data, target.size, "://", 3));
}

/* Node.js takes these for versions, too, and serves the Host of such a request. */
static bool is_other_version(struct slice word) {
	return slice_begins(word, "ICE/1") || slice_begins(word, "RTSP/1");
}

static enum first_line versionless_read(struct slice method, const char *at, const char *end) {
	const struct slice target = word_cut(&at, end), third = word_cut(&at, end);

	if (!is_capital(method) || target.size == 0) return LINE_NOTHING;
	if (names_host(method, target, third.size == 0)) return LINE_NAMING;
	return third.size == 0 || is_other_version(third) ? LINE_OTHER : LINE_NOTHING;
}

enum first_line first_line_read(const char *bytes, size_t size) {
	const char *end = bytes + size, *feed;
	struct slice method;
	bool is_binary;

	while (bytes < end && is_blank(*bytes)) bytes++; /* also empty lines: RFC 9112 2.2 */
	feed = memchr(bytes, '\n', (size_t)(end - bytes));
	if (feed) end = feed;
	method = word_cut(&bytes, end);
	if (has_version(method, end, &is_binary)) return LINE_HTTP;
	if (!feed) return is_binary ? LINE_BINARY : LINE_MORE;
	return versionless_read(method, bytes, end);
}

/*
 * A line of fields, from `*at` on, which goes to the next one: as lenient as Python's email.feedparser, which takes a
 * bare CR for a line's end, skips one that begins with "From " and goes on after one that is folded.
 */
static enum first_fields field_read(const char **at, const char *end) {
	const bool is_folded = *at < end && is_blank(**at);
	struct slice name;

	while (*at < end && is_blank(**at) && **at != '\n') (*at)++;
	name.data = *at;
	while (*at < end && is_in_word(**at) && **at != ':') (*at)++;
	name.size = (size_t)(*at - name.data);
	if (*at == end) return FIELDS_MORE;
	if (slice_equal_nocase(name, "Host")) return FIELDS_HOST;
	if (!is_folded && **at != ':' && !slice_equal(name, "From")) return FIELDS_NO_HOST;
	while (*at < end && **at != '\n' && **at != '\r') (*at)++;
	if (*at < end) (*at)++;
	return FIELDS_MORE;
}

enum first_fields first_fields_read(const char *bytes, size_t size) {
	const char *at = bytes, *end = bytes + size;
	enum first_fields fields = FIELDS_MORE;

	while (at < end && is_blank(*at)) at++;
	at = memchr(at, '\n', (size_t)(end - at));
	for (at++; at < end && fields == FIELDS_MORE;) {
		if (at[-1] == '\n' && (begins_with(at, end, "\n") || begins_with(at, end, "\r\n")))
			return FIELDS_NO_HOST;
		fields = field_read(&at, end);
	}
	return fields;
}
