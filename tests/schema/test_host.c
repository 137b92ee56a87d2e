/* One normaliser for hosts (attacks N2, N3) and the ranges that a name must not lead to (N6). */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "schema/host.h"

static const struct {
	const char *text;
	enum host_class class;
	const char *name;
} SPELLINGS[] = {
	{"example.com", HOST_NAME, "example.com"},
	{"EXAMPLE.Com", HOST_NAME, "example.com"},
	{"example.com.", HOST_NAME, "example.com"},
	{"my_host", HOST_NAME, "my_host"},
	{"r3---sn-abc.example", HOST_NAME, "r3---sn-abc.example"},
	{"b\xc3\xbc"
	 "cher.example",
	 HOST_NAME, "xn--bcher-kva.example"},
	{"B\xc3\x9c"
	 "CHER.example",
	 HOST_NAME, "xn--bcher-kva.example"},
	{"XN--BCHER-KVA.EXAMPLE", HOST_NAME, "xn--bcher-kva.example"},
	{"bu\xcc\x88"
	 "cher.example",
	 HOST_NAME, "xn--bcher-kva.example"}, /* u + combining diaeresis */
	{"example\xe3\x80\x82"
	 "com",
	 HOST_NAME, "example.com"}, /* ideographic full stop */
	{"1.2.3.example", HOST_NAME, "1.2.3.example"},
	{"0xexample", HOST_NAME, "0xexample"},
	{"192.0.2.1", HOST_IPV4, "192.0.2.1"},
	{"192.0.2.1.", HOST_IPV4, "192.0.2.1"},
	{"127.0.0.2", HOST_IPV4, "127.0.0.2"},
	{"0.0.0.0", HOST_LOCALHOST, "localhost"}, /* what connect(2) takes it for */
	{"::ffff:0.0.0.0", HOST_LOCALHOST, "localhost"},
	{"[::ffff:192.0.2.1]", HOST_IPV4, "192.0.2.1"},
	{"::ffff:c000:201", HOST_IPV4, "192.0.2.1"},
	{"2001:DB8:0:0:0:0:0:1", HOST_IPV6, "2001:db8::1"},
	{"[2001:db8::0001]", HOST_IPV6, "2001:db8::1"},
	{"::", HOST_IPV6, "::1"},
	{"[0:0::0]", HOST_IPV6, "::1"},
	{"127.0.0.1", HOST_LOCALHOST, "localhost"},
	{"::1", HOST_IPV6, "::1"},
	{"[::1]", HOST_IPV6, "::1"},
	{"[0:0:0:0:0:0:0:1]", HOST_IPV6, "::1"},
	{"::ffff:127.0.0.1", HOST_LOCALHOST, "localhost"},
	{"localhost", HOST_LOCALHOST, "localhost"},
	{"LocalHost.", HOST_LOCALHOST, "localhost"},
	{"api.localhost", HOST_LOCALHOST, "localhost"},
	{"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", HOST_LOCALHOST, "localhost"}, /* full-width 127 */
};

static void attack_net_03_spellings_of_one_host_come_out_the_same(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(SPELLINGS); i++) {
		struct host host;
		struct error error = ERROR_NONE;

		if (host_parse(SPELLINGS[i].text, strlen(SPELLINGS[i].text), &host, &error) < 0)
			fail_msg("%s: %s", SPELLINGS[i].text, error.message);
		assert_string_equal(host.name, SPELLINGS[i].name);
		assert_int_equal(host.class, SPELLINGS[i].class);
	}
}

#define TEXT(literal)                                                                                                  \
	{ literal, sizeof literal - 1 }
static const struct {
	const char *text;
	size_t size;
} REFUSED[] = {
	TEXT(""),
	TEXT("."),
	TEXT(".."),
	TEXT("a..b"),
	TEXT(".a"),
	TEXT("a.."),
	TEXT("good.example\0.evil.example"),
	TEXT("good.example%00"),
	TEXT("%65xample.com"),
	TEXT("user@example.com"),
	TEXT("fe80::1%eth0"),
	TEXT("[fe80::1%25lo]"),
	TEXT("0x7f.1"),
	TEXT("0x7f000001"),
	TEXT("0177.0.0.1"),
	TEXT("127.0.0.01"),
	TEXT("2130706433"),
	TEXT("127.1"),
	TEXT("1.2.3.4.5"),
	TEXT("256.1.1.1"),
	TEXT("example.0x"),
	TEXT("foo.123"),
	TEXT("-a.example"),
	TEXT("a-.example"),
	TEXT("a b"),
	TEXT("a\nb"),
	TEXT("a\tb"),
	TEXT("a/b"),
	TEXT("a\\b"),
	TEXT("a?b"),
	TEXT("a#b"),
	TEXT("a:b"),
	TEXT("*.example"),
	TEXT("[::1"),
	TEXT("::1]"),
	TEXT("[]"),
	TEXT("[example.com]"),
	TEXT("[127.0.0.1]"),
	TEXT("1::2::3"),
	TEXT("\xff\xfe.example"),
	TEXT("xn--a.example"),
	TEXT("example.com:443"),
	TEXT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example"), /* a label of 64 */
};

static void attack_net_03_what_cant_be_normalised_is_refused(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(REFUSED); i++) {
		struct host host;
		struct error error = ERROR_NONE;

		if (host_parse(REFUSED[i].text, REFUSED[i].size, &host, &error) >= 0)
			fail_msg("\"%s\" was taken as %s", REFUSED[i].text, host.name);
		assert_true(error.code > 0);
		assert_true(error.message[0] != '\0');
	}
}

static void a_name_is_at_most_253_bytes(void **state) {
	char name[512];
	struct host host;

	(void)state;
	for (size_t i = 0; i < sizeof name; i++) name[i] = i % 50 == 49 ? '.' : 'a';
	assert_int_equal(host_parse(name, 253, &host, NULL), 0);
	assert_int_equal(strlen(host.name), 253);
	assert_true(host_parse(name, 254, &host, NULL) < 0);
	assert_true(host_parse(name, sizeof name, &host, NULL) < 0);
}

static void host_and_port_are_told_apart(void **state) {
	static const struct {
		const char *text, *name;
		uint16_t port;
		const char *formatted;
	} good[] = {
		{"example.com:443", "example.com", 443, "example.com:443"},
		{"EXAMPLE.com.:1", "example.com", 1, "example.com:1"},
		{"[2001:db8::1]:65535", "2001:db8::1", 65535, "[2001:db8::1]:65535"},
		{"[::1]:80", "::1", 80, "[::1]:80"},
		{"10.0.0.1:8080", "10.0.0.1", 8080, "10.0.0.1:8080"},
	};
	static const char *bad[] = {"example.com", "example.com:", ":443",   "example.com:0", "example.com:65536",
				    "a:+1",        "a: 1",         "a:1 ",   "a:0443",        "a:4294967739",
				    "2001:db8::1", "::1:80",       "[::1]",  "[::1]80",       "[::1]:",
				    "a:b:1",       "a:-1",         "a:0x50", "user@a:80",     ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		struct host host;
		uint16_t port = 0;

		assert_int_equal(host_port_parse(good[i].text, strlen(good[i].text), &host, &port, NULL), 0);
		assert_string_equal(host.name, good[i].name);
		assert_int_equal(port, good[i].port);
		CLEANUP_FREE char *formatted = host_port_format(&host, port);
		assert_string_equal(formatted, good[i].formatted);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct host host;
		uint16_t port;

		if (host_port_parse(bad[i], strlen(bad[i]), &host, &port, NULL) >= 0)
			fail_msg("\"%s\" was taken", bad[i]);
	}
}

static bool is_private(const char *text) {
	struct sockaddr_in ipv4 = {.sin_family = AF_INET};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1) return address_is_private((struct sockaddr *)&ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
	return address_is_private((struct sockaddr *)&ipv6);
}

static void attack_net_06_special_ranges_are_private(void **state) {
	static const char *closed[] = {"0.0.0.0",
				       "0.1.2.3",
				       "10.0.0.1",
				       "10.255.255.255",
				       "100.64.0.1",
				       "100.100.100.200",
				       "100.127.255.255",
				       "127.0.0.1",
				       "127.255.0.1",
				       "169.254.169.254",
				       "172.16.0.1",
				       "172.31.255.255",
				       "192.0.0.192",
				       "192.0.2.1",
				       "192.168.1.1",
				       "198.18.0.1",
				       "198.19.255.255",
				       "198.51.100.7",
				       "203.0.113.7",
				       "224.0.0.1",
				       "239.1.1.1",
				       "240.0.0.1",
				       "255.255.255.255",
				       "168.63.129.16",
				       "::",
				       "::1",
				       "::10.0.0.1",
				       "::ffff:127.0.0.1",
				       "::ffff:10.1.2.3",
				       "::ffff:169.254.169.254",
				       "::ffff:0:10.1.2.3",
				       "64:ff9b::127.0.0.1",
				       "64:ff9b::a9fe:a9fe",
				       "64:ff9b:1::1",
				       "100::1",
				       "2001::1",
				       "2001:2::1",
				       "2001:10::1",
				       "2001:db8::1",
				       "2002:7f00:1::",
				       "2002:a00:1::1",
				       "2002:c0a8:101::1",
				       "3fff::1",
				       "5f00::1",
				       "fc00::1",
				       "fd00:ec2::254",
				       "fe80::1",
				       "fec0::1",
				       "ff02::1"};
	static const char *open[] = {"1.1.1.1",         "8.8.8.8",        "9.255.255.255",     "11.0.0.0",
				     "100.63.255.255",  "100.128.0.0",    "126.255.255.255",   "128.0.0.1",
				     "169.253.0.1",     "172.15.0.1",     "172.32.0.1",        "192.167.1.1",
				     "192.169.0.1",     "198.17.0.1",     "198.20.0.1",        "223.255.255.255",
				     "168.63.129.17",   "2606:4700::1",   "2a00:1450:4001::1", "64:ff9b::808:808",
				     "2002:808:808::1", "::ffff:8.8.8.8", "2001:200::1",       "2400:cb00::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(closed); i++)
		if (!is_private(closed[i])) fail_msg("%s is taken for a public address", closed[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(open); i++)
		if (is_private(open[i])) fail_msg("%s is taken for a private address", open[i]);
}

static void other_families_and_scoped_addresses_are_private(void **state) {
	struct sockaddr unix_address = {.sa_family = AF_UNIX};
	struct sockaddr_in6 scoped = {.sin6_family = AF_INET6, .sin6_scope_id = 2};

	(void)state;
	assert_true(address_is_private(&unix_address));
	assert_int_equal(inet_pton(AF_INET6, "2606:4700::1", &scoped.sin6_addr), 1);
	assert_true(address_is_private((struct sockaddr *)&scoped));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_net_03_spellings_of_one_host_come_out_the_same),
		cmocka_unit_test(attack_net_03_what_cant_be_normalised_is_refused),
		cmocka_unit_test(a_name_is_at_most_253_bytes),
		cmocka_unit_test(host_and_port_are_told_apart),
		cmocka_unit_test(attack_net_06_special_ranges_are_private),
		cmocka_unit_test(other_families_and_scoped_addresses_are_private),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
