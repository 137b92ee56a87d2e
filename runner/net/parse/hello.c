/*
 * Theory of operation. The first question is whether a server could take the bytes for TLS (is_tls) or for HTTP/1
 * (first_line.h); it errs towards yes. Strict readers follow: what they don't understand byte for byte is ambiguous.
 * Each call reads all from the beginning, which its bound makes cheap, so nothing is kept between two.
 */
#include "hello.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/string.h"
#include "first_line.h"
#include "http_request.h"

static enum hello_state ambiguous(struct error *error, const char *why) {
	(void)error_set(error, EBADMSG, "%s", why);
	return HELLO_AMBIGUOUS;
}

static enum hello_state name_read(const char *text, size_t size, struct host *ret_host, struct error *error) {
	return host_parse(text, size, ret_host, error) < 0 ? HELLO_AMBIGUOUS : HELLO_NAME;
}

/* TLS */

enum {
	TLS_CHANGE_CIPHER = 20,
	TLS_ALERT = 21,
	TLS_HANDSHAKE = 22,
	TLS_APPLICATION = 23,
	TLS_CLIENT_HELLO = 1,
	TLS_WARNING = TLS_CLIENT_HELLO, /* an alert's level, RFC 8446 6: the same byte of a record */
	TLS_RECORD_HEAD = 5,            /* type, version, length: RFC 8446 5.1 */
	TLS_MESSAGE_HEAD = 4,           /* type, length: RFC 8446 4 */
	TLS_RECORD_MAX = 1 << 14,
	TLS_EXTENSION_NAME = 0, /* server_name, RFC 6066 3 */
	TLS_HOST_NAME = 0,
};

struct reader {
	const uint8_t *data;
	size_t size;
	bool failed; /* it was shorter than it says */
};

static const uint8_t *reader_take(struct reader *reader, size_t size) {
	const uint8_t *data = reader->data;

	if (reader->failed || size > reader->size) {
		reader->failed = true;
		return NULL;
	}
	reader->data += size;
	reader->size -= size;
	return data;
}

static size_t reader_number(struct reader *reader, size_t width) {
	const uint8_t *data = reader_take(reader, width);
	size_t value = 0;

	for (size_t i = 0; data && i < width; i++) value = value << 8 | data[i];
	return value;
}

/* A vector: its length in `width` bytes, then that many. */
static struct reader reader_vector(struct reader *reader, size_t width) {
	size_t size = reader_number(reader, width);
	const uint8_t *data = reader_take(reader, size);

	return (struct reader){.data = data, .size = data ? size : 0, .failed = reader->failed};
}

struct range {
	uint8_t from, to;
};

static bool is_in(const struct range *ranges, size_t count, const uint8_t *bytes, size_t size) {
	for (size_t i = 0; i < size && i < count; i++)
		if (bytes[i] < ranges[i].from || bytes[i] > ranges[i].to) return false;
	return true;
}

/*
 * Not only a hello: servers also take what some of them ignore before it, an empty record or a warning (attack R23).
 * OpenSSL looks at the first byte of the version alone (ssl/record/methods/tls_common.c), Go takes any below 16.0 in
 * front of a hello or a warning (crypto/tls/conn.go).
 */
static bool is_tls(const uint8_t *bytes, size_t size) {
	static const struct range record[] = {{TLS_CHANGE_CIPHER, TLS_APPLICATION}, {3, 3}};
	static const struct range lenient[TLS_RECORD_HEAD + 1] = {
		{TLS_ALERT, TLS_HANDSHAKE},        {0, 0x0f}, {0, 0xff},
		{0, (TLS_RECORD_MAX + 2048) >> 8}, {0, 0xff}, {TLS_WARNING, TLS_WARNING}};

	return is_in(record, ARRAY_LENGTH(record), bytes, size) || is_in(lenient, ARRAY_LENGTH(lenient), bytes, size);
}

/* The hello without its records: HELLO_NAME when it is whole, in `message`. */
static enum hello_state message_join(struct reader *in, uint8_t message[LIMIT_HELLO], size_t *ret_size,
				     struct error *error) {
	size_t got = 0;

	while (in->size >= TLS_RECORD_HEAD) {
		size_t type = reader_number(in, 1), version = reader_number(in, 2), size = reader_number(in, 2);
		size_t here = size < in->size ? size : in->size, announced = got + size, whole;

		if (type != TLS_HANDSHAKE || version >> 8 != 3 || size == 0 || size > TLS_RECORD_MAX)
			return ambiguous(error, "TLS that doesn't begin with a hello, or whose hello is in pieces that "
						"can't be put together");
		if (here > LIMIT_HELLO - got) return ambiguous(error, "a TLS hello that is too long");
		memcpy(message + got, reader_take(in, here), here);
		got += here;
		if (got > 0 && message[0] != TLS_CLIENT_HELLO)
			return ambiguous(error, "TLS that doesn't begin with a hello");
		if (got < TLS_MESSAGE_HEAD) continue;
		whole = TLS_MESSAGE_HEAD + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (whole > LIMIT_HELLO) return ambiguous(error, "a TLS hello that is too long");
		if (announced > whole) return ambiguous(error, "more than a hello in its TLS record");
		*ret_size = whole;
		if (got == whole) return HELLO_NAME;
	}
	return HELLO_MORE;
}

/* ServerNameList: exactly one host name, as every client sends it. */
static enum hello_state names_read(struct reader extension, struct host *ret_host, struct error *error) {
	struct reader list = reader_vector(&extension, 2);
	size_t type = reader_number(&list, 1);
	struct reader name = reader_vector(&list, 2);

	if (name.failed || list.size > 0 || extension.size > 0 || type != TLS_HOST_NAME)
		return ambiguous(error, "a TLS hello whose server name is malformed");
	return name_read((const char *)name.data, name.size, ret_host, error);
}

static enum hello_state extensions_read(struct reader extensions, struct host *ret_host, struct error *error) {
	enum hello_state state = HELLO_NOTHING;

	while (extensions.size > 0) {
		size_t type = reader_number(&extensions, 2);
		struct reader extension = reader_vector(&extensions, 2);

		if (extension.failed) return ambiguous(error, "a TLS hello with a malformed extension");
		if (type != TLS_EXTENSION_NAME) continue;
		if (state != HELLO_NOTHING) return ambiguous(error, "a TLS hello with two server names");
		state = names_read(extension, ret_host, error);
		if (state == HELLO_AMBIGUOUS) return state;
	}
	return state;
}

static enum hello_state tls_read(const char *bytes, size_t size, struct host *ret_host, struct error *error) {
	uint8_t message[LIMIT_HELLO];
	struct reader hello = {.data = message}, in = {.data = (const uint8_t *)bytes, .size = size};
	enum hello_state state = message_join(&in, message, &hello.size, error);

	if (state == HELLO_MORE) in.size = 0; /* all of it belongs to the hello */
	if (state != HELLO_AMBIGUOUS && first_line_read(bytes, size - in.size) == LINE_HTTP)
		return ambiguous(error, "a TLS hello that is a request of HTTP, too");
	if (state != HELLO_NAME) return state;
	(void)reader_take(&hello, TLS_MESSAGE_HEAD + 2 + 32);       /* version, random */
	(void)reader_vector(&hello, 1);                             /* session */
	(void)reader_vector(&hello, 2);                             /* ciphers */
	(void)reader_vector(&hello, 1);                             /* compression */
	if (!hello.failed && hello.size == 0) return HELLO_NOTHING; /* TLS 1.0 knew no extensions */
	struct reader extensions = reader_vector(&hello, 2);

	if (extensions.failed || hello.size > 0) return ambiguous(error, "a malformed TLS hello");
	return extensions_read(extensions, ret_host, error);
}

/* HTTP */

static enum hello_state request_read(const struct http_head *head, struct host *ret_host, struct error *error) {
	struct http_request request;
	struct slice value;
	uint16_t port;
	int r;

	if (head->target.data[0] != '/' && !slice_equal(head->target, "*")) { /* CONNECT, absolute-form */
		if (http_request_read(head, &request, error) < 0) return HELLO_AMBIGUOUS;
		*ret_host = request.host;
		return HELLO_NAME;
	}
	if ((r = http_head_single(head, "Host", &value, error)) < 0) return HELLO_AMBIGUOUS;
	if (r == 0 || value.size == 0) return HELLO_NOTHING;
	return http_authority_parse(value, 80, ret_host, &port, error) < 0 ? HELLO_AMBIGUOUS : HELLO_NAME;
}

static enum hello_state http_read(const char *bytes, size_t size, struct host *ret_host, struct error *error) {
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\n"; /* RFC 9113 3.4: what follows is binary */
	struct http_head head;
	size_t scanned = 0;
	long whole;

	if (size >= sizeof preface - 1 && memcmp(bytes, preface, sizeof preface - 1) == 0) return HELLO_NOTHING;
	whole = http_head_scan(bytes, size, &scanned, error);
	if (whole == 0) return HELLO_MORE;
	if (whole < 0 || http_request_head_parse(bytes, (size_t)whole, &head, error) < 0) return HELLO_AMBIGUOUS;
	return request_read(&head, ret_host, error);
}

static enum hello_state fields_read(const char *bytes, size_t size, struct error *error) {
	switch (first_fields_read(bytes, size)) {
	case FIELDS_MORE:
		return HELLO_MORE;
	case FIELDS_HOST:
		return ambiguous(error, "a Host in a request that has no version of HTTP");
	case FIELDS_NO_HOST:
		break;
	}
	return HELLO_NOTHING;
}

static enum hello_state text_read(const char *bytes, size_t size, struct host *ret_host, struct error *error) {
	switch (first_line_read(bytes, size)) {
	case LINE_MORE:
		return HELLO_MORE;
	case LINE_BINARY:
		return size < LIMIT_HEARD ? HELLO_MORE : HELLO_NOTHING;
	case LINE_HTTP:
		return http_read(bytes, size, ret_host, error);
	case LINE_NAMING:
		return ambiguous(error, "a host in a request that has no version of HTTP");
	case LINE_OTHER:
		return fields_read(bytes, size, error);
	case LINE_NOTHING:
		break;
	}
	return HELLO_NOTHING;
}

enum hello_state hello_read(const char *bytes, size_t size, struct host *ret_host, struct error *error) {
	enum hello_state state;

	if (size > LIMIT_HEARD) size = LIMIT_HEARD;
	if (size == 0) return HELLO_MORE;
	if (is_tls((const uint8_t *)bytes, size)) {
		state = size <= TLS_RECORD_HEAD ? HELLO_MORE : tls_read(bytes, size, ret_host, error);
	} else {
		state = text_read(bytes, size, ret_host, error);
	}
	if (state == HELLO_MORE && size >= LIMIT_HEARD) return ambiguous(error, "a hello that has no end");
	return state;
}

enum hello_state hello_read_whole(const char *bytes, size_t size, struct host *ret_host, struct error *error) {
	CLEANUP_STRING struct string ended = {0};
	enum hello_state state = hello_read(bytes, size, ret_host, error);

	if (state == HELLO_MORE && size > 0 && !is_tls((const uint8_t *)bytes, size)) {
		string_append_bytes(&ended, bytes, size);
		string_append(&ended, "\r\n\r\n");
		state = text_read(ended.data, ended.size, ret_host, error);
	}
	return state == HELLO_MORE ? HELLO_NOTHING : state;
}
