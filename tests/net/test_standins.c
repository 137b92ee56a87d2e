#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "net/dns/standins.h"
#include "support/cmocka.h"

static struct host host_of(const char *name) {
	struct host host;

	assert_int_equal(host_parse(name, strlen(name), &host, NULL), 0);
	return host;
}

static struct sockaddr_storage address_of(const char *text) {
	struct sockaddr_storage storage = {0};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};

	if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1) {
		memcpy(&storage, &ipv4, sizeof ipv4);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
		memcpy(&storage, &ipv6, sizeof ipv6);
	}
	return storage;
}

static const char *name_at(const struct standins *standins, const char *text) {
	struct sockaddr_storage address = address_of(text);
	const struct host *host = standins_host(standins, (const struct sockaddr *)&address);

	return host ? host->name : NULL;
}

static bool in_range(const char *text) {
	struct sockaddr_storage address = address_of(text);

	return standin_is((const struct sockaddr *)&address);
}

static uint32_t add(struct standins *standins, const char *name) {
	struct host host = host_of(name);
	uint32_t index = 0;

	assert_int_equal(standins_find_or_add(standins, &host, &index), 0);
	return index;
}

static void a_name_keeps_its_address(void **state) {
	struct standins *standins = standins_new();
	struct host host = host_of("a.test");

	(void)state;
	assert_false(standins_has(standins, &host));
	assert_int_equal(add(standins, "a.test"), 2);
	assert_int_equal(add(standins, "b.test"), 3);
	assert_int_equal(add(standins, "A.TEST."), 2);
	assert_true(standins_has(standins, &host));
	assert_string_equal(name_at(standins, "198.18.0.2"), "a.test");
	assert_string_equal(name_at(standins, "fd53:6278::3"), "b.test");
	assert_string_equal(name_at(standins, "::ffff:198.18.0.3"), "b.test");
	standins_free(standins);
}

static void addresses_that_nobody_has(void **state) {
	struct standins *standins = standins_new();
	static const char *const none[] = {"198.18.0.0",
					   "198.18.0.1",
					   "198.18.0.3",
					   "198.20.0.2",
					   "198.17.255.2",
					   "fd53:6278::",
					   "fd53:6278::1",
					   "fd53:6278:0:0:1::2",
					   "fd53:6278::1:0:0:2",
					   "fd53:6278:1::2",
					   "::ffff:198.18.0.1",
					   "::198.18.0.2",
					   "::1",
					   "fd53:6278::1:0:2",
					   "64:ff9b::198.18.0.2",
					   "127.0.0.1",
					   "fd53:6278:0:1::2"};

	(void)state;
	add(standins, "a.test");
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++)
		if (name_at(standins, none[i])) fail_msg("%s has a name", none[i]);
	struct sockaddr local = {.sa_family = AF_UNIX};
	assert_null(standins_host(standins, &local));
	assert_false(standin_is(&local));
	standins_free(standins);
}

static void the_ranges(void **state) {
	static const char *const inside[] = {"198.18.0.0", "198.19.255.255", "fd53:6278::", "::ffff:198.19.0.1",
					     "fd53:6278::ffff:ffff:ffff:ffff"};
	static const char *const outside[] = {
		"198.17.255.255", "198.20.0.0", "fd53:6278:0:1::", "fd53:6277::2", "::ffff:198.20.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inside); i++)
		if (!in_range(inside[i])) fail_msg("%s is not in a range", inside[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(outside); i++)
		if (in_range(outside[i])) fail_msg("%s is in a range", outside[i]);
}

static void only_names_have_one(void **state) {
	static const char *const others[] = {"192.0.2.1", "localhost", "x.localhost", "2001:db8::1", "127.0.0.1"};
	struct standins *standins = standins_new();
	uint32_t index = 77;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		struct host host = host_of(others[i]);

		assert_int_equal(standins_find_or_add(standins, &host, &index), -EINVAL);
		assert_false(standins_has(standins, &host));
	}
	assert_int_equal(index, 77);
	standins_free(standins);
}

static void beyond_the_limit_none_and_none_again(void **state) {
	struct standins *standins = standins_new();
	struct host host;
	uint32_t index = 0;

	(void)state;
	for (unsigned i = 0; i < LIMIT_STANDINS; i++) {
		CLEANUP_FREE char *name = string_format("h%u.test", i);
		struct sockaddr_storage address;

		assert_int_equal(add(standins, name), i + STANDIN_FIRST);
		for (int family = 0; family < 2; family++) {
			standin_address(i + STANDIN_FIRST, family ? AF_INET : AF_INET6, &address);
			assert_string_equal(standins_host(standins, (struct sockaddr *)&address)->name, name);
		}
	}
	host = host_of("one.more.test");
	assert_int_equal(standins_find_or_add(standins, &host, &index), -ENOSPC);
	assert_int_equal(add(standins, "h0.test"), STANDIN_FIRST);
	assert_int_equal(add(standins, "h8191.test"), LIMIT_STANDINS + 1);
	standins_free(standins);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_address),
		cmocka_unit_test(addresses_that_nobody_has),
		cmocka_unit_test(the_ranges),
		cmocka_unit_test(only_names_have_one),
		cmocka_unit_test(beyond_the_limit_none_and_none_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
