/* The proxy that connections go through, as a policy writes it. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/upstream.h"
#include "support/cmocka.h"

static void addresses_with_and_without_a_user_are_read(void **state) {
	static const struct {
		const char *text, *host, *user, *credentials, *shown;
		uint16_t port;
	} cases[] = {
		{"http://proxy.test:3128", "proxy.test", NULL, NULL, "http://proxy.test:3128", 3128},
		{"http://Proxy.TEST:80/", "proxy.test", NULL, NULL, "http://Proxy.TEST:80", 80},
		{"http://[2001:db8::1]:8080", "2001:db8::1", NULL, NULL, "http://[2001:db8::1]:8080", 8080},
		/* RFC 7617 2 */
		{"http://Aladdin:open%20sesame@p.test:1", "p.test", "Aladdin",
		 "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "http://p.test:1", 1},
		{"http://u:a%3ab%40c@p.test:1", "p.test", "u", "dTphOmJAYw==", "http://p.test:1", 1},
		{"http://u:a@b@p.test:1", "p.test", "u", "dTphQGI=", "http://p.test:1", 1},
		{"http://u@p.test:1", "p.test", "u", "dTo=", "http://p.test:1", 1},
		{"http://u:@p.test:1", "p.test", "u", "dTo=", "http://p.test:1", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_UPSTREAM struct upstream upstream = {0};
		CLEANUP_FREE char *shown = upstream_shown(cases[i].text);

		assert_int_equal(upstream_parse(cases[i].text, &upstream, NULL), 0);
		assert_string_equal(upstream.host.name, cases[i].host);
		assert_int_equal(upstream.port, cases[i].port);
		assert_true(string_equal(upstream.user, cases[i].user));
		assert_true(string_equal(upstream.credentials, cases[i].credentials));
		assert_string_equal(shown, cases[i].shown);
		assert_int_equal(upstream_has_password(cases[i].text), cases[i].user != NULL);
	}
}

static void what_is_none_is_refused_without_showing_it(void **state) {
	static const char *const cases[] = {
		"",
		"none",
		"p.test:1",
		"https://p.test:1",
		"socks5://p.test:1",
		"http://p.test",
		"http://p.test:0",
		"http://p.test:1/path",
		"http://p.test:1/?q",
		"http://p.test:1#x",
		"http://secret:secret@",
		"http://secret%zz:x@p.test:1",
		"http://secret:secret%0@p.test:1",
		"http://secret:secret%@p.test:1",
		"http://secret%3a:secret@p.test:1",
		"http://secret:secret%0d%0aX: y@p.test:1",
		"http://secret:secret\r\nX@p.test:1",
		"http://secret:secret%7f@p.test:1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct upstream upstream = {0};
		struct error error = ERROR_NONE;

		if (upstream_parse(cases[i], &upstream, &error) >= 0) fail_msg("%s", cases[i]);
		assert_null(strstr(error.message, "secret"));
		assert_null(upstream.user);
		assert_null(upstream.credentials);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_with_and_without_a_user_are_read),
		cmocka_unit_test(what_is_none_is_refused_without_showing_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
