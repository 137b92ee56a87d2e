/* What the first bytes of a connection ask for: TLS hellos, HTTP heads, and what is neither. */
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "net/parse/hello.h"
#include "support/cmocka.h"

/* A TLS hello */

struct made {
	const char *name;   /* in server_name; NULL: no such extension */
	const char *second; /* a second name in the list */
	bool twice;         /* the extension, twice */
	bool no_extensions;
	bool grease, encrypted; /* RFC 8701; an encrypted_client_hello beside the outer name */
	unsigned name_type;
	size_t record;   /* bytes of each record; 0: one */
	size_t padding;  /* bytes of a padding extension (RFC 7685) */
	size_t extra;    /* bytes behind the hello, in its message */
	size_t short_by; /* bytes that the message's length lacks */
};

static void add_number(struct string *out, size_t value, size_t width) {
	while (width-- > 0) string_append_char(out, (char)(value >> (8 * width)));
}

static void add_vector(struct string *out, size_t width, const struct string *bytes) {
	add_number(out, bytes->size, width);
	string_append_bytes(out, bytes->data ? bytes->data : "", bytes->size);
}

static void add_name(struct string *list, unsigned type, const char *name) {
	add_number(list, type, 1);
	add_number(list, strlen(name), 2);
	string_append(list, name);
}

static void add_extension(struct string *out, unsigned type, const struct string *bytes) {
	add_number(out, type, 2);
	add_vector(out, 2, bytes);
}

static void add_server_name(struct string *out, const struct made *made) {
	CLEANUP_STRING struct string list = {0}, extension = {0};

	add_name(&list, made->name_type, made->name);
	if (made->second) add_name(&list, 0, made->second);
	add_vector(&extension, 2, &list);
	add_extension(out, 0, &extension);
}

static void add_zeros(struct string *out, size_t count) {
	while (count-- > 0) string_append_char(out, '\0');
}

static void make_message(const struct made *made, struct string *out) {
	CLEANUP_STRING struct string body = {0}, extensions = {0}, session = {0}, ciphers = {0}, padding = {0};

	add_number(&body, 0x0303, 2);
	add_zeros(&body, 32);
	add_zeros(&session, 32);
	add_vector(&body, 1, &session);
	if (made->grease) add_number(&ciphers, 0x0a0a, 2);
	add_number(&ciphers, 0x1301, 2);
	add_vector(&body, 2, &ciphers);
	add_number(&body, 0x0100, 2); /* one way to compress: none */
	if (made->grease) add_extension(&extensions, 0x2a2a, &(struct string){0});
	if (made->encrypted) add_extension(&extensions, 0xfe0d, &session);
	if (made->name) add_server_name(&extensions, made);
	if (made->name && made->twice) add_server_name(&extensions, made);
	add_zeros(&padding, made->padding);
	if (made->padding) add_extension(&extensions, 21, &padding);
	if (made->grease) add_extension(&extensions, 0x8a8a, &session);
	if (!made->no_extensions) add_vector(&body, 2, &extensions);
	add_zeros(&body, made->extra);
	add_number(out, 1, 1);
	add_number(out, body.size - made->short_by, 3);
	string_append_bytes(out, body.data, body.size);
}

static struct string make(const struct made *made) {
	CLEANUP_STRING struct string message = {0};
	struct string out = {0};

	make_message(made, &message);
	for (size_t at = 0, size; at < message.size; at += size) {
		size = made->record && made->record < message.size - at ? made->record : message.size - at;
		add_number(&out, 22, 1);
		add_number(&out, at == 0 ? 0x0301 : 0x0303, 2);
		add_number(&out, size, 2);
		string_append_bytes(&out, message.data + at, size);
	}
	return out;
}

/* As it is read whole, and however it comes in: nothing is said before it can be known, and never anything else. */
static enum hello_state read_all(const char *bytes, size_t size, struct host *ret_host) {
	struct error error = ERROR_NONE;
	enum hello_state whole = hello_read(bytes, size, ret_host, &error);
	bool decided = false;

	assert_true((whole == HELLO_AMBIGUOUS) == (error.code != 0));
	for (size_t i = 0; i<size; i += size> 4096 ? 97 : 1) {
		char *part = mem_copy(bytes, i + 1); /* no byte more, for the sanitizer */
		struct host host;
		enum hello_state state = hello_read(part, i + 1, &host, NULL);

		free(part);
		if (decided || state != HELLO_MORE) assert_int_equal(state, whole);
		decided = decided || state != HELLO_MORE;
	}
	return whole;
}

static void expect(const char *bytes, size_t size, enum hello_state state, const char *name) {
	struct host host = {0};

	assert_int_equal(read_all(bytes, size, &host), state);
	if (state == HELLO_NAME) assert_string_equal(host.name, name);
}

static void expect_made(struct made made, enum hello_state state, const char *name) {
	CLEANUP_STRING struct string bytes = make(&made);

	expect(bytes.data, bytes.size, state, name);
}

static void a_tls_hello_names_its_server(void **state) {
	(void)state;
	expect_made((struct made){.name = "example.org"}, HELLO_NAME, "example.org");
	expect_made((struct made){.name = "EXAMPLE.org."}, HELLO_NAME, "example.org");
	expect_made((struct made){.name = "example.org", .grease = true}, HELLO_NAME, "example.org");
	expect_made((struct made){.name = "192.0.2.1"}, HELLO_NAME, "192.0.2.1");
	expect_made((struct made){.name = "outer.example", .encrypted = true}, HELLO_NAME, "outer.example");
	expect_made((struct made){.name = "example.org", .padding = 12000}, HELLO_NAME, "example.org");
}

static void a_tls_hello_without_a_name_says_nothing(void **state) {
	(void)state;
	expect_made((struct made){0}, HELLO_NOTHING, NULL);
	expect_made((struct made){.no_extensions = true}, HELLO_NOTHING, NULL);
	expect_made((struct made){.encrypted = true, .grease = true}, HELLO_NOTHING, NULL);
}

static void a_tls_hello_is_read_however_it_is_cut_into_records(void **state) {
	static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 100, 160};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
		expect_made((struct made){.name = "example.org", .grease = true, .record = sizes[i]}, HELLO_NAME,
			    "example.org");
}

static void attack_net_04_a_tls_hello_that_has_two_readings_is_ambiguous(void **state) {
	(void)state;
	expect_made((struct made){.name = "example.org", .twice = true}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org", .second = "other.test"}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org", .name_type = 1}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = ""}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "a b"}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org/x"}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "0x7f.1"}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org", .extra = 4}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org", .short_by = 3}, HELLO_AMBIGUOUS, NULL);
	expect_made((struct made){.name = "example.org", .short_by = 3, .record = 50}, HELLO_AMBIGUOUS, NULL);
}

static void attack_net_12_a_tls_hello_is_bounded(void **state) {
	CLEANUP_STRING struct string bytes = make(&(struct made){.name = "example.org", .padding = LIMIT_HELLO});

	(void)state;
	expect(bytes.data, bytes.size, HELLO_AMBIGUOUS, NULL);
	/* One that is never whole, in the smallest of records. */
	CLEANUP_STRING struct string pieces =
		make(&(struct made){.name = "example.org", .padding = 12000, .record = 1});
	struct host host;

	assert_true(pieces.size > LIMIT_HEARD);
	assert_int_equal(hello_read(pieces.data, LIMIT_HEARD - 1, &host, NULL), HELLO_MORE);
	assert_int_equal(hello_read(pieces.data, LIMIT_HEARD, &host, NULL), HELLO_AMBIGUOUS);
}

static void attack_net_04_a_record_of_another_kind_in_a_hello_is_ambiguous(void **state) {
	CLEANUP_STRING struct string made = make(&(struct made){.name = "example.org", .record = 50});
	CLEANUP_FREE char *bytes = mem_copy(made.data, made.size);
	char *second = bytes + 5 + 50;

	(void)state;
	second[0] = 21; /* an alert between the two halves */
	expect(bytes, made.size, HELLO_AMBIGUOUS, NULL);
	second[0] = 22;
	second[3] = second[4] = 0; /* an empty piece */
	expect(bytes, made.size, HELLO_AMBIGUOUS, NULL);
}

/* What servers ignore before a hello: what is behind it they would take. */
static void attack_r_23_what_comes_before_a_tls_hello_is_ambiguous(void **state) {
	static const struct {
		const char *name;
		size_t size;
		uint8_t bytes[16];
	} firsts[] = {
		{"an empty handshake record", 5, {22, 3, 1, 0, 0}},
		{"a warning", 7, {21, 3, 1, 0, 2, 1, 90}},
		{"a warning of a version that only Go takes", 7, {21, 2, 9, 0, 2, 1, 90}},
		{"a change of ciphers", 6, {20, 3, 3, 0, 1, 1}},
		{"application data", 6, {23, 3, 3, 0, 1, 'x'}},
		{"another message", 9, {22, 3, 1, 0, 4, 0, 0, 0}},
		{"a version that OpenSSL takes", 5, {22, 3, 0x7f, 0, 0}},
	};
	CLEANUP_STRING struct string made = make(&(struct made){.name = "example.org"});

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(firsts); i++) {
		CLEANUP_STRING struct string bytes = {0};
		string_append_bytes(&bytes, (const char *)firsts[i].bytes, firsts[i].size);
		string_append_bytes(&bytes, made.data, made.size);
		expect(bytes.data, bytes.size, HELLO_AMBIGUOUS, NULL);
	}
}

/* HTTP, and what is neither */

struct text_case {
	const char *text;
	enum hello_state state;
	const char *name;
};

static void expect_cases(const struct text_case *cases, size_t count) {
	for (size_t i = 0; i < count; i++) expect(cases[i].text, strlen(cases[i].text), cases[i].state, cases[i].name);
}

static void an_http_request_names_its_host(void **state) {
	static const struct text_case cases[] = {
		{"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", HELLO_NAME, "example.org"},
		{"GET / HTTP/1.1\r\nAccept: */*\r\nhOST:   Example.ORG:8080  \r\n\r\n", HELLO_NAME, "example.org"},
		{"POST /x?y HTTP/1.1\r\nHost: [2001:db8::1]:80\r\nContent-Length: 3\r\n\r\nabc", HELLO_NAME,
		 "2001:db8::1"},
		{"OPTIONS * HTTP/1.1\r\nHost: example.org\r\n\r\n", HELLO_NAME, "example.org"},
		{"GET / HTTP/1.0\r\nHost: example.org\r\n\r\n", HELLO_NAME, "example.org"},
		{"get / HTTP/1.1\r\nHost: example.org\r\n\r\n", HELLO_NAME, "example.org"},
		{"CONNECT other.test:443 HTTP/1.1\r\n\r\n", HELLO_NAME, "other.test"},
		{"GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
	};

	(void)state;
	expect_cases(cases, ARRAY_LENGTH(cases));
}

static void what_is_no_hello_says_nothing(void **state) {
	static const struct text_case cases[] = {
		{"GET / HTTP/1.0\r\n\r\n", HELLO_NOTHING, NULL},
		{"GET / HTTP/1.1\r\nHost:\r\n\r\n", HELLO_NOTHING, NULL},
		{"GET /\r\n\r\n", HELLO_NOTHING, NULL},
		{"GET key\r\nGET Host\r\n", HELLO_NOTHING, NULL},
		{"get http://example.org/\r\nget user:12\r\n", HELLO_NOTHING, NULL},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", HELLO_NOTHING, NULL},
		{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\x05\xdc", HELLO_NOTHING, NULL},
		{"EHLO example.org\r\nMAIL FROM:<a@example.org>\r\n", HELLO_NOTHING, NULL},
		{"NICK a\r\nUSER a 0 * :Host: b\r\n", HELLO_NOTHING, NULL},
		{"CONNECT\naccept-version:1.2\nhost:example.org\n\n", HELLO_NOTHING, NULL},
		{"CONNECT {\"name\":\"a\"}\r\nPING\r\n", HELLO_NOTHING, NULL},
		{"set http://example.org/ 0 0 1\r\nx\r\n", HELLO_NOTHING, NULL},
		{"servers.a.load 1 1700000000\n", HELLO_NOTHING, NULL},
		{"*1\r\n$4\r\nPING\r\n", HELLO_NOTHING, NULL},
		{"PING\r\n", HELLO_NOTHING, NULL},
		{"SET a b\r\n", HELLO_NOTHING, NULL},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HELLO_NOTHING, NULL},
		{"OPTIONS rtsp://example.org/ RTSP/1.0\r\nCSeq: 1\r\n\r\n", HELLO_NOTHING, NULL},
		{"CONNECT {\"lang\": \"service/1\"}\r\n", HELLO_NOTHING, NULL},
	};

	(void)state;
	expect_cases(cases, ARRAY_LENGTH(cases));
}

/* A line of bytes could still become a request to Python's http.server. */
static void what_is_no_text_says_nothing_when_its_line_has_ended(void **state) {
	static const struct bytes_case {
		size_t size;
		const char *bytes;
	} cases[] = {
		{8, "\0\0\0\x08\x04\xd2\x16\x2f"},                               /* PostgreSQL: is there TLS? */
		{11, "\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10"},                    /* SSLv2 */
		{8, "AMQP\0\0\x09\x01"},                                         /* AMQP 0-9-1 */
		{46, "0032git-upload-pack /repo.git\0host=example.org"},         /* git:// */
		{33, "\x01\x04\0\x01\0\x19\0\0\x0f\x08SERVER_PROTOCOLHTTP/1.1"}, /* FastCGI */
		{16, "\x12\x34\0\x0c\x02\x02\0\x08HTTP/1.1"},                    /* AJP */
		{32, "\0\x1e\0\0\x0f\0SERVER_PROTOCOL\x08\0HTTP/1.1"},           /* uwsgi */
	};
	CLEANUP_STRING struct string endless = {0};
	struct host host;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_STRING struct string ended = {0};

		expect(cases[i].bytes, cases[i].size, HELLO_MORE, NULL);
		string_append_bytes(&ended, cases[i].bytes, cases[i].size);
		string_append(&ended, "\nHost: example.org\r\n\r\n");
		expect(ended.data, ended.size, HELLO_NOTHING, NULL);
	}
	add_zeros(&endless, LIMIT_HEARD + 1);
	assert_int_equal(hello_read(endless.data, LIMIT_HEARD - 1, &host, NULL), HELLO_MORE);
	assert_int_equal(hello_read(endless.data, LIMIT_HEARD, &host, NULL), HELLO_NOTHING);
	expect(endless.data, endless.size, HELLO_NOTHING, NULL);
}

static void attack_net_04_a_request_that_has_two_readings_is_ambiguous(void **state) {
	static const struct text_case cases[] = {
		{"GET / HTTP/1.1\r\nHost: example.org\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\r\nHost: example.org\r\nhost: example.org\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/ HTTP/1.1\r\nHost: example.org\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET https://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\r\nHost: example.org\r\n other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\r\nHost : other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\r\nHost: a@other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\nHost: other.test\n\n", HELLO_AMBIGUOUS, NULL},
		{"\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET  / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET\t/ HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET /a b HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET other.test HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/2.0\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		/* Of these each was served by Go's net/http, Node's http or Python's http.server. */
		{" GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET\x1c/\x0bHTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"SOURCE / ICE/1.0\r\nA: b\r\nhost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"OPTIONS / RTSP/1.0\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"PRI * HTTP/2.0\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
	};
	static const char zero[] = "GET /\0 HTTP/1.1\r\nHost: other.test\r\n\r\n";

	(void)state;
	expect_cases(cases, ARRAY_LENGTH(cases));
	expect(zero, sizeof zero - 1, HELLO_AMBIGUOUS, NULL);
}

/* Node's http and Python's wsgiref serve the Host, others the host of a URL. */
static void attack_net_04_a_request_without_a_version_that_names_a_host_is_ambiguous(void **state) {
	static const struct text_case cases[] = {
		{"GET /\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"POST /\r\nAccept: */*\r\nhost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET / \r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"\x0bGET\x1cx\x1c\nHost: other.test\n\n", HELLO_AMBIGUOUS, NULL},
		{"GET /\x01\xff\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET /\r\nA: b\rHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET /\r\n A b\r\n \r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET /\r\n: b\r\nFrom a\r\nHost: other.test\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET other://other.test/\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/ RTSP/1.0\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/ a b\r\n\r\n", HELLO_AMBIGUOUS, NULL},
		{"CONNECT other.test:443\r\n\r\n", HELLO_AMBIGUOUS, NULL},
	};

	(void)state;
	expect_cases(cases, ARRAY_LENGTH(cases));
}

/* Each was served by Python's wsgiref. */
static void attack_net_04_a_request_with_odd_bytes_before_its_version_is_ambiguous(void **state) {
	static const struct {
		size_t size;
		const char *bytes;
	} firsts[] = {
		{2, "\xff "}, {2, "\x01 "}, {2, "\0 "}, {4, "\xef\xbb\xbf "}, {3, "\x16\x03 "}, {12, "0032git-x /\0"},
	};
	CLEANUP_STRING struct string longest = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(firsts); i++) {
		CLEANUP_STRING struct string bytes = {0};

		string_append_bytes(&bytes, firsts[i].bytes, firsts[i].size);
		string_append(&bytes, "/ HTTP/1.1\r\nHost: other.test\r\n\r\n");
		expect(bytes.data, bytes.size, HELLO_AMBIGUOUS, NULL);
	}
	add_zeros(&longest, 65536 - strlen(" / HTTP/1.1\r\n"));
	string_append(&longest, " / HTTP/1.1\r\nHost: other.test\r\n\r\n");
	expect(longest.data, longest.size, HELLO_AMBIGUOUS, NULL);
}

/* Whole, or never to be. */
static void attack_net_04_a_tls_hello_that_is_a_request_too_is_ambiguous(void **state) {
	CLEANUP_STRING struct string made = make(&(struct made){.name = "example.org"});
	CLEANUP_FREE char *bytes = mem_copy(made.data, made.size);
	static const char request[] = " / HTTP/1.1\r\nHost: b\r\n\r\n";

	(void)state;
	memcpy(bytes + 11, request, sizeof request - 1); /* its random bytes (RFC 8446 4.1.2) */
	expect(bytes, made.size, HELLO_AMBIGUOUS, NULL);
	expect(bytes, made.size / 2, HELLO_AMBIGUOUS, NULL);
}

/* Python's http.server takes the end for that of a line, and of a head. */
static void attack_net_04_what_ends_in_a_request_is_one(void **state) {
	static const struct text_case cases[] = {
		{"", HELLO_NOTHING, NULL},
		{"ruok", HELLO_NOTHING, NULL},
		{"GET /", HELLO_NOTHING, NULL},
		{"GET / HTTP/1.0\r\n", HELLO_NOTHING, NULL},
		{"\x16\x03\x01\x02", HELLO_NOTHING, NULL},
		{"GET / HTTP/1.1\r\nHost: other.test", HELLO_NAME, "other.test"},
		{"GET / HTTP/1.1\r\nHost: other.test\r\n", HELLO_NAME, "other.test"},
		{"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
		{"GET / HTTP/1.1\r\nHost: other.test\r", HELLO_AMBIGUOUS, NULL},
		{"GET / HTTP/1.1\r\nHost", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/ HTTP/1.1", HELLO_AMBIGUOUS, NULL},
		{"GET http://other.test/", HELLO_AMBIGUOUS, NULL},
	};
	struct host host;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error error = ERROR_NONE;

		assert_int_equal(hello_read_whole(cases[i].text, strlen(cases[i].text), &host, &error), cases[i].state);
		assert_int_equal(error.code != 0, cases[i].state == HELLO_AMBIGUOUS);
		if (cases[i].name) assert_string_equal(host.name, cases[i].name);
	}
}

/* Servers of their own methods take any token for one (RFC 9110 5.6.2), Go's net/http among them. */
static void attack_net_04_a_request_of_any_method_names_its_host(void **state) {
	static const struct text_case cases[] = {
		{"G3T / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
		{"GET! / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
		{"G.ET / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
		{"0032git-x / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME, "other.test"},
		{"XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX / HTTP/1.1\r\nHost: other.test\r\n\r\n", HELLO_NAME,
		 "other.test"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct host host;
		const enum hello_state found = hello_read(cases[i].text, strlen(cases[i].text), &host, NULL);
		assert_true(found == HELLO_AMBIGUOUS || (found == HELLO_NAME && !strcmp(host.name, "other.test")));
	}
}

static void attack_net_12_a_head_without_end_is_bounded(void **state) {
	static char bytes[LIMIT_HEARD] = "GET / HTTP/1.1\r\nHost: example.org\r\nX: ";
	struct host host;

	(void)state;
	memset(bytes + strlen(bytes), 'x', sizeof bytes - strlen(bytes));
	assert_int_equal(hello_read(bytes, LIMIT_HEADER - 1, &host, NULL), HELLO_MORE);
	assert_int_equal(hello_read(bytes, LIMIT_HEADER, &host, NULL), HELLO_AMBIGUOUS);
	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(hello_read(bytes, sizeof bytes - 1, &host, NULL), HELLO_MORE);
	assert_int_equal(hello_read(bytes, sizeof bytes, &host, NULL), HELLO_AMBIGUOUS);
	bytes[10] = ' ';
	assert_int_equal(hello_read(bytes, sizeof bytes - 1, &host, NULL), HELLO_MORE);
	assert_int_equal(hello_read(bytes, sizeof bytes, &host, NULL), HELLO_AMBIGUOUS);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tls_hello_names_its_server),
		cmocka_unit_test(a_tls_hello_without_a_name_says_nothing),
		cmocka_unit_test(a_tls_hello_is_read_however_it_is_cut_into_records),
		cmocka_unit_test(attack_net_04_a_tls_hello_that_has_two_readings_is_ambiguous),
		cmocka_unit_test(attack_net_12_a_tls_hello_is_bounded),
		cmocka_unit_test(attack_net_04_a_record_of_another_kind_in_a_hello_is_ambiguous),
		cmocka_unit_test(attack_r_23_what_comes_before_a_tls_hello_is_ambiguous),
		cmocka_unit_test(an_http_request_names_its_host),
		cmocka_unit_test(what_is_no_hello_says_nothing),
		cmocka_unit_test(what_is_no_text_says_nothing_when_its_line_has_ended),
		cmocka_unit_test(attack_net_04_a_request_without_a_version_that_names_a_host_is_ambiguous),
		cmocka_unit_test(attack_net_04_a_request_with_odd_bytes_before_its_version_is_ambiguous),
		cmocka_unit_test(attack_net_04_a_tls_hello_that_is_a_request_too_is_ambiguous),
		cmocka_unit_test(attack_net_04_what_ends_in_a_request_is_one),
		cmocka_unit_test(attack_net_04_a_request_of_any_method_names_its_host),
		cmocka_unit_test(attack_net_04_a_request_that_has_two_readings_is_ambiguous),
		cmocka_unit_test(attack_net_12_a_head_without_end_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
