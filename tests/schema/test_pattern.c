#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/string.h"
#include "schema/pattern.h"
#include "support/cmocka.h"

static const struct pattern_scope scope = {
	.home = "/home/u", .project = "/home/u/app", .uid = 1000, .relative_anywhere = true};

static struct pattern *compile(const char *name, const char *text) {
	struct permission permission;
	struct pattern *pattern = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(permission_parse(name, &permission, &error), 0);
	if (pattern_compile(&permission, text, &scope, &pattern, &error) < 0) fail_msg("%s: %s", text, error.message);
	return pattern;
}

struct match_case {
	const char *permission, *pattern, *target;
	bool matches;
};

static const struct match_case path_cases[] = {
	{"fs:read", "/a", "/a", true},
	{"fs:read", "/a", "/a/b/c", true},
	{"fs:read", "/a", "/ab", false},
	{"fs:read", "/a/", "/a/b", true},
	{"fs:read", "//a/./b/../c", "/a/c/d", true},
	{"fs:read", "/", "/anything", true},
	{"fs:read", "~", "/home/u/.ssh/id", true},
	{"fs:read", "~/x", "/home/u/xy", false},
	{"fs:read", "${project}/src", "/home/u/app/src/a.c", true},
	{"fs:read", "/run/user/${uid}", "/run/user/1000/bus", true},
	{"fs:read", "/a/*/c", "/a/b/c", true},
	{"fs:read", "/a/*/c", "/a/b/c/d", true},
	{"fs:read", "/a/*/c", "/a/b/b/c", false},
	{"fs:read", "/a/**/c", "/a/c", true},
	{"fs:read", "/a/**/c", "/a/1/2/3/c/d", true},
	{"fs:read", "/a/**/c", "/a/1/2/3/d", false},
	{"fs:read", "/a/**", "/a", true},
	{"fs:read", "/a/**", "/a/b/c", true},
	{"fs:read", "**/.env", "/home/u/app/.env", true},
	{"fs:read", "**/.env", "/.env", true},
	{"fs:read", "**/.env", "/home/u/app/.env/x", true},
	{"fs:read", "**/.env", "/home/u/app/.envrc", false},
	{"fs:read", ".env", "/home/u/app/deep/.env", true},
	{"fs:read", "**/.env*", "/x/.envrc", true},
	{"fs:read", "/a/?", "/a/é", true},
	{"fs:read", "/a/?", "/a/bc", false},
	{"fs:read", "/a/[a-c]x", "/a/bx", true},
	{"fs:read", "/a/[!a-c]x", "/a/bx", false},
	{"fs:read", "/a/[]]", "/a/]", true},
	{"fs:read", "/a/[!b]", "/a/é", true},
	{"fs:read", "/a/[é]x", "/a/éx", true},
	{"fs:read", "/a/[à-ü]x", "/a/éx", true},
	{"fs:read", "/a/[à-ü]x", "/a/zx", false},
	{"fs:read", "/a/*\x82\xac", "/a/€", false}, /* half a character */
	{"fs:read", "/a/[b", "/a/[b", true},
	{"fs:read", "/a/\\*", "/a/*", true},
	{"fs:read", "/a/\\*", "/a/b", false},
	{"fs:read", "/a/\\*x*", "/a/*xy", true},
	{"fs:read", "/a/*.c", "/a/.c", true},
	{"fs:read", "/a/a*b*c", "/a/aXbYbZc", true},
	{"fs:read", "/a/a*b*c", "/a/aXbYbZ", false},
	{"ipc:connect", "/run/docker.sock", "/run/docker.sock", true},
	{"ipc:connect", "/run", "/run/docker.sock", false},
	{"ipc:connect", "/tmp/ssh-*/agent.*", "/tmp/ssh-X1/agent.77", true},
	{"proc:spawn", "*", "/opt/tool", true},
	{"proc:spawn", "sudo", "/usr/bin/sudo", true},
	{"proc:spawn", "sudo", "/usr/bin/sudoedit", false},
	{"proc:spawn", "/usr/bin", "/usr/bin/curl", true},
	{"env:read", "LC_*", "LC_ALL", true},
	{"env:read", "LANG", "LANGUAGE", false},
	{"db:access", "prod/*", "prod/users", true},
	{"db:access", "prod/*", "test/users", false},
	{"net:listen", "3000", "3000", true},
	{"net:listen", "3000-3010", "3011", false},
	{"net:listen", "*", "1", true},
};

static const struct match_case net_cases[] = {
	{"net:access", "*", "example.org:443", true},
	{"net:access", "*:443", "example.org:80", false},
	{"net:access", "Example.ORG.:443", "example.org:443", true},
	{"net:access", "example.org", "example.org:22", true},
	{"net:access", "example.org", "www.example.org:22", false},
	{"net:access", "*.example.org", "www.example.org:1", true},
	{"net:access", "*.example.org", "a.b.example.org:1", true},
	{"net:access", "*.example.org", "example.org:1", false},
	{"net:access", "*.example.org:8000-8100", "x.example.org:8100", true},
	{"net:access", "*.example.org:8000-8100", "x.example.org:8101", false},
	{"net:access", "10.0.0.0/8", "10.9.8.7:80", true},
	{"net:access", "10.0.0.0/8", "11.9.8.7:80", false},
	{"net:access", "::ffff:10.0.0.0/104", "10.9.8.7:80", true},
	{"net:access", "::ffff:10.0.0.0/104", "11.9.8.7:80", false},
	{"net:access", "::ffff:127.0.0.0/104", "localhost:80", true},
	{"net:access", "[::ffff:0:0/96]:80", "192.0.2.1:80", true},
	{"net:access", "::ffff:0:0/96", "[2001:db8::1]:80", false},
	{"net:access", "10.1.2.3/8:22", "10.9.8.7:22", true},
	{"net:access", "[2001:db8::/32]:443", "[2001:db8:1::5]:443", true},
	{"net:access", "2001:db8::1", "[2001:db8::1]:443", true},
	{"net:access", "[2001:db8::1]:443", "[2001:db8::2]:443", false},
	{"net:access", "0.0.0.0/0", "example.org:80", false},
	{"net:access", "localhost", "localhost:80", true},
	{"net:access", "127.0.0.1:80", "localhost:80", true},
	{"net:access", "127.0.0.0/8", "localhost:80", true},
	/* an address names itself alone, localhost both */
	{"net:access", "localhost", "[::1]:80", true},
	{"net:access", "localhost", "127.0.0.2:80", false},
	{"net:access", "127.0.0.1", "[::1]:80", false},
	{"net:access", "::1", "[::1]:80", true},
	{"net:access", "::1", "localhost:80", false},
	{"net:access", "::/0", "localhost:80", false},
	{"net:access", "::/0", "[::1]:80", true},
	{"net:access", "0.0.0.0/0", "[::1]:80", false},
	/* an unspecified address is the loopback of its family, also in a network */
	{"net:access", "0.0.0.0", "localhost:80", true},
	{"net:access", "0.0.0.0", "[::1]:80", false},
	{"net:access", "0.0.0.0/8", "localhost:80", true},
	{"net:access", "0.0.0.0/32", "localhost:80", true},
	{"net:access", "0.0.0.0/8", "127.0.0.2:80", false},
	{"net:access", "0.0.0.0/8", "0.1.2.3:80", true},
	{"net:access", "0.1.0.0/16", "localhost:80", false},
	{"net:access", "[::]:80", "[::1]:80", true},
	{"net:access", "::", "localhost:80", false},
	{"net:access", "::/128", "[::1]:80", true},
	{"net:access", "::ffff:0.0.0.0", "localhost:80", true},
	/* attack N2: labels, not letters */
	{"net:access", "trusted.com", "trusted.com.evil.com:443", false},
	{"net:access", "*.trusted.com", "eviltrusted.com:443", false},
	{"net:access", "*.trusted.com", "trusted.com.evil.com:443", false},
};

static void check_cases(const struct match_case *cases, size_t count) {
	for (size_t i = 0; i < count; i++) {
		CLEANUP_PATTERN struct pattern *pattern = compile(cases[i].permission, cases[i].pattern);
		if (pattern_match(pattern, cases[i].target, NULL) != cases[i].matches)
			fail_msg("%s against %s should %smatch", cases[i].pattern, cases[i].target,
				 cases[i].matches ? "" : "not ");
		/* The normal text compiles to the same. */
		CLEANUP_PATTERN struct pattern *again = compile(cases[i].permission, pattern_text(pattern));
		assert_string_equal(pattern_text(again), pattern_text(pattern));
		assert_int_equal(pattern_match(again, cases[i].target, NULL), cases[i].matches);
	}
}

static void paths_and_names(void **state) {
	(void)state;
	check_cases(path_cases, ARRAY_LENGTH(path_cases));
}

static void attack_net_02_hosts_match_by_label(void **state) {
	(void)state;
	check_cases(net_cases, ARRAY_LENGTH(net_cases));
}

static void the_closer_pattern_wins(void **state) {
	(void)state;
	static const struct {
		const char *permission, *target;
		const char *order[6]; /* from the closest */
	} cases[] = {
		{"fs:read",
		 "/home/u/app/a/.env",
		 {"/home/u/app/a/.env", "**/.env", "/home/u/app/a", "/home/u/app", "~", NULL}},
		{"fs:read", "/repo/a/b/c", {"/repo/a/b", "/repo/a", "/repo/*", "/repo", "/", NULL}},
		{"fs:read", "/repo/a/b/c", {"/repo/a", "/repo/**", "/repo/**/**", "/**", "/", NULL}},
		{"net:access",
		 "a.b.example.org:443",
		 {"a.b.example.org:443", "a.b.example.org:1-1000", "a.b.example.org", "*.b.example.org",
		  "*.example.org:443", "*"}},
		{"net:access", "10.1.2.3:443", {"10.1.2.3", "10.1.2.0/24", "10.0.0.0/8", "*:443", "*", NULL}},
		{"proc:spawn", "/usr/bin/curl", {"/usr/bin/curl", "curl", "/usr/bin", "*", NULL}},
		{"db:access", "stage-2", {"stage-2", "stage-?", "*age-[12]", "st*[0-9]", "*2", "*"}},
		{"db:access", "a*b]", {"a\\*b]", "?\\*b]", "[a]\\*b]", "a[*]*", "*"}},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct pattern_rank before = {0}, rank;
		for (size_t j = 0; j < 6 && cases[i].order[j]; j++, before = rank) {
			CLEANUP_PATTERN struct pattern *pattern = compile(cases[i].permission, cases[i].order[j]);
			if (!pattern_match(pattern, cases[i].target, &rank)) fail_msg("%s", cases[i].order[j]);
			if (j > 0 && pattern_rank_compare(before, rank) < 0)
				fail_msg("%s should be closer than %s", cases[i].order[j - 1], cases[i].order[j]);
		}
	}
}

static void quoted_targets_mean_themselves(void **state) {
	(void)state;
	static const char *const paths[] = {"/a[1]",    "/a*", "/a?b",  "/a\\b", "/a{b}",
					    "/${home}", "/~",  "/a\nb", "/\xff", "/**/x"};
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		struct permission permission = permission_of(PERMISSION_FS_READ);
		CLEANUP_FREE char *text = pattern_quote(&permission, paths[i]);
		CLEANUP_PATTERN struct pattern *pattern = compile("fs:read", text);
		assert_true(pattern_is_literal(pattern));
		assert_string_equal(pattern_target(pattern), paths[i]);
		assert_true(pattern_match(pattern, paths[i], NULL));
		assert_false(pattern_match(pattern, "/a1", NULL));
		assert_false(pattern_match(pattern, "/aXb", NULL));
	}
	/* A project whose name looks like a pattern. */
	const struct pattern_scope odd = {.home = "/home/u", .project = "/home/u/a[1]"};
	struct permission permission = permission_of(PERMISSION_FS_WRITE);
	struct pattern *pattern = NULL;
	assert_int_equal(pattern_compile(&permission, "${project}", &odd, &pattern, NULL), 0);
	assert_true(pattern_match(pattern, "/home/u/a[1]/x", NULL));
	assert_false(pattern_match(pattern, "/home/u/a1/x", NULL));
	pattern_free(pattern);
}

static void walks_go_where_a_match_may_be(void **state) {
	(void)state;
	static const struct {
		const char *pattern, *directory;
		bool may;
	} cases[] = {
		{"**/.env", "/home/u/app", true}, {"/a/*/c", "/a", true},        {"/a/*/c", "/a/b", true},
		{"/a/*/c", "/a/b/x", false},      {"/a/*/c", "/b", false},       {"/a/b/c", "/a", true},
		{"/a/b/c", "/a/b/c", true},       {"/a/b/c", "/a/x", false},     {"/a/**/c", "/a/1/2", true},
		{"/a/*/c", "/a/b/c", false},      {"/x*/**", "/xy/deep", false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PATTERN struct pattern *pattern = compile("fs:read", cases[i].pattern);
		if (pattern_may_match_below(pattern, cases[i].directory) != cases[i].may)
			fail_msg("%s below %s", cases[i].pattern, cases[i].directory);
	}
}

static void relative_allows_stay_in_the_project(void **state) {
	(void)state;
	const struct pattern_scope allow = {.home = "/home/u", .project = "/home/u/app"};
	struct permission permission = permission_of(PERMISSION_FS_READ);
	struct pattern *pattern = NULL;
	assert_int_equal(pattern_compile(&permission, "**/.env", &allow, &pattern, NULL), 0);
	assert_true(pattern_match(pattern, "/home/u/app/x/.env", NULL));
	assert_false(pattern_match(pattern, "/home/u/other/.env", NULL));
	pattern_free(pattern);
}

static void only_addresses_name_addresses(void **state) {
	(void)state;
	static const struct {
		const char *pattern;
		bool names;
	} cases[] = {{"*", false},       {"*:80", false},      {"example.org", false}, {"*.example.org", false},
		     {"10.0.0.1", true}, {"10.0.0.0/8", true}, {"[::1]:80", true},     {"localhost:80", true},
		     {"fd00::/8", true}, {"localhost", true}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PATTERN struct pattern *pattern = compile("net:access", cases[i].pattern);
		if (pattern_names_address(pattern) != cases[i].names) fail_msg("%s", cases[i].pattern);
	}
}

/* What denies or asks. */
static const struct match_case restricting[] = {
	{"net:access", "localhost", "127.0.0.2:80", true},
	{"net:access", "localhost", "[::1]:80", true},
	{"net:access", "0.0.0.0", "[::1]:80", true},
	{"net:access", "0.0.0.0:80", "127.0.0.2:80", true},
	{"net:access", "[::]", "localhost:80", true},
	{"net:access", "::/128", "localhost:80", true},
	{"net:access", "0.0.0.0/8", "localhost:80", true},
	{"net:access", "0.0.0.0/8", "[::1]:80", false},
	{"net:access", "localhost:80", "127.0.0.2:81", false},
	{"net:access", "127.0.0.1", "[::1]:80", true},
	{"net:access", "::1", "localhost:80", true},
	{"net:access", "::1/128", "localhost:80", true},
	{"net:access", "127.0.0.0/8", "[::1]:80", false},
	{"net:access", "127.0.0.2", "localhost:80", false},
	{"net:access", "localhost", "10.0.0.1:80", false},
	{"net:access", "10.0.0.1", "127.0.0.2:80", false},
	{"net:access", "localhost", "localhost.example.org:80", false},
	{"env:read", "A*", "AB", true},
};

static void the_loopback_is_denied_as_a_whole(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(restricting); i++) {
		const struct match_case *item = &restricting[i];
		CLEANUP_PATTERN struct pattern *pattern = compile(item->permission, item->pattern);
		if (pattern_restricts(pattern, item->target, NULL) != item->matches)
			fail_msg("%s of %s", item->pattern, item->target);
	}
}

static void the_ports_of_a_host(void **state) {
	static const struct {
		const char *pattern, *host; /* NULL: any */
		const char *asked;
		unsigned first, last; /* 0: not about it */
	} cases[] = {
		{"ok.test:443", "ok.test", "ok.test", 443, 443},
		{"ok.test", "ok.test", "ok.test", 1, 65535},
		{"OK.test:1-100", "ok.test", "ok.test", 1, 100},
		{"ok.test:443", "ok.test", "x.ok.test", 0, 0},
		{"*.ok.test:5000-6000", NULL, "x.ok.test", 5000, 6000},
		{"*.ok.test", NULL, "ok.test", 0, 0},
		{"*:22", NULL, "any.test", 22, 22},
		{"[2001:db8::1]:443", "2001:db8::1", "2001:db8::1", 443, 443},
		{"10.0.0.0/8:80", NULL, "10.1.2.3", 80, 80},
		{"10.0.0.0/8:80", NULL, "ok.test", 0, 0},
		{"127.0.0.1:80", NULL, "localhost", 80, 80},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PATTERN struct pattern *pattern = compile("net:access", cases[i].pattern);
		uint16_t first = 0, last = 0;
		const char *host = pattern_host(pattern);
		if (!string_equal(host, cases[i].host)) fail_msg("%s: %s", cases[i].pattern, host ? host : "any");
		bool about = pattern_ports(pattern, cases[i].asked, &first, &last);
		if (about != (cases[i].first != 0) || first != cases[i].first || last != cases[i].last)
			fail_msg("%s of %s: %u-%u", cases[i].pattern, cases[i].asked, first, last);
	}
	CLEANUP_PATTERN struct pattern *path = compile("fs:read", "/ok.test");
	uint16_t port;
	assert_null(pattern_host(path));
	assert_false(pattern_ports(path, "ok.test", &port, &port));
}

static void bad_patterns_are_refused(void **state) {
	(void)state;
	static const struct {
		const char *permission, *pattern, *says;
	} cases[] = {
		{"fs:read", "", "empty"},
		{"fs:read", "~bob/x", "~ must be followed"},
		{"fs:read", "${nope}/x", "there is no ${nope}"},
		{"fs:read", "${project", "no closing"},
		{"fs:read", "/{a,b}", "write one pattern for each"},
		{"fs:read", "/a/*/../b", "don't go together"},
		{"net:access", "exa mple.org", ""},
		{"net:access", "*example.org", "whole labels"},
		{"net:access", "a.*.org", "whole labels"},
		{"net:access", "*.10.0.0.1", ""},
		{"net:access", "10.0.0.0/33", "number of bits"},
		{"net:access", "::ffff:0:0/90", "96 bits or more"},
		{"net:access", "10.0.0/8", "an address before"},
		{"net:access", "example.org:0", ""},
		{"net:access", "example.org:65536", ""},
		{"net:access", "example.org:", ""},
		{"net:access", "example.org:9-8", "wrong way round"},
		{"net:access", "[::1", "in brackets"},
		{"net:access", "http://example.org", ""},
		{"net:listen", "http", ""},
		{"env:read", "A=B", "no '='"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission;
		struct pattern *pattern = NULL;
		struct error error = ERROR_NONE;
		assert_int_equal(permission_parse(cases[i].permission, &permission, NULL), 0);
		if (pattern_compile(&permission, cases[i].pattern, &scope, &pattern, &error) == 0)
			fail_msg("%s", cases[i].pattern);
		assert_null(pattern);
		if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].pattern, error.message);
	}
}

static void attack_fs_16_pattern_bombs_are_bounded(void **state) {
	(void)state;
	struct permission permission = permission_of(PERMISSION_FS_READ);
	struct pattern *pattern = NULL;
	struct error error = ERROR_NONE;
	CLEANUP_STRING struct string bomb = {0}, target = {0};

	for (int i = 0; i < 1000; i++) string_append(&bomb, "/**/a");
	assert_true(pattern_compile(&permission, bomb.data, &scope, &pattern, &error) < 0);
	string_finish(&bomb);
	for (int i = 0; i < 3000; i++) string_append(&bomb, "{a,b}");
	assert_true(pattern_compile(&permission, bomb.data, &scope, &pattern, &error) < 0);
	string_finish(&bomb);

	/* The worst that is allowed, against the longest target that almost fits: bounded steps, not 2^n. */
	for (int i = 0; i < LIMIT_PATTERN_STARS; i++) string_append(&bomb, "/**/*a*a*a*a*b");
	for (int i = 0; i < 2000; i++) string_append(&target, "/a");
	assert_int_equal(pattern_compile(&permission, bomb.data, &scope, &pattern, &error), 0);
	struct timespec start, end;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	assert_false(pattern_match(pattern, target.data, NULL));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - start.tv_sec < 2);
	pattern_free(pattern);
}

static bool pair(bool (*question)(const struct pattern *a, const struct pattern *b), const char *permission_name,
		 const char *one, const char *other) {
	static const struct pattern_scope anybody = {.home = "/home/u", .relative_anywhere = true};
	CLEANUP_PATTERN struct pattern *a = NULL;
	CLEANUP_PATTERN struct pattern *b = NULL;
	struct permission permission;
	assert_int_equal(permission_parse(permission_name, &permission, NULL), 0);
	assert_int_equal(pattern_compile(&permission, one, &anybody, &a, NULL), 0);
	assert_int_equal(pattern_compile(&permission, other, &anybody, &b, NULL), 0);
	return question(a, b);
}

static void two_patterns_overlap_or_dont(void **state) {
	(void)state;
	static const struct {
		const char *permission, *a, *b;
		bool overlap, a_covers, b_covers;
	} cases[] = {
		{"fs:read", "~/notes", "~/notes", true, true, true},
		{"fs:read", "~/notes", "~", true, false, true},
		{"fs:read", "~/notes", "~/notes/a/b", true, true, false},
		{"fs:read", "~/notes", "~/notes2", false, false, false},
		{"fs:read", "/", "~/notes", true, true, false},
		{"fs:read", "~/notes", "~/*/a.txt", true, false, false},
		{"fs:read", "~/notes", "~/n*", true, false, true},
		{"fs:read", "~/notes", "~/m*", false, false, false},
		{"fs:read", "~/notes", "~/notes/*.txt", true, true, false},
		{"fs:read", "**/.env", "~/src", true, false, false},
		{"fs:read", "~/a*/x", "~/*b/x", true, false, false},
		{"fs:read", "~/a*/x", "~/b*/x", false, false, false},
		{"fs:read", "~/a\\*", "~/ab", false, false, false},
		{"fs:read", "~/a\\*", "~/a*", true, false, true},
		{"fs:read", "~/[ab]", "~/[cd]", true, false, false}, /* said to */
		{"fs:read", "~/[ab]", "~/c", false, false, false},
		{"net:access", "example.org", "example.org:443", true, true, false},
		{"net:access", "example.org", "*.org", true, false, true},
		{"net:access", "example.org", "*", true, false, true},
		{"net:access", "example.org", "*:443", true, false, false},
		{"net:access", "example.org:80", "*:443", false, false, false},
		{"net:access", "example.org", "notexample.org", false, false, false},
		{"net:access", "*.example.org", "example.org", false, false, false},
		{"net:access", "*.a.example.org", "*.example.org", true, false, true},
		{"net:access", "*.a.example.org", "*.ba.example.org", false, false, false},
		{"net:access", "10.1.2.3", "10.0.0.0/8", true, false, true},
		{"net:access", "10.1.0.0/16:8000-8010", "10.0.0.0/8:8005", true, false, false},
		{"net:access", "11.1.0.0/16", "10.0.0.0/8", false, false, false},
		{"net:access", "[2001:db8::1]:443", "[2001:db8::/32]", true, false, true},
		{"net:access", "example.org", "10.0.0.0/8", false, false, false},
		{"net:access", "localhost", "127.0.0.1", true, true, false},
		{"net:access", "localhost", "127.0.0.0/8", true, false, false},
		{"net:access", "localhost:80", "0.0.0.0/0", true, false, false},
		{"net:access", "localhost:80", "127.0.0.0/8:81", false, false, false},
		{"net:access", "localhost", "::/0", true, false, false},
		{"net:access", "localhost", "[::1/128]:80", true, false, false},
		{"net:access", "localhost", "127.0.0.2", false, false, false},
		{"net:access", "localhost", "127.0.1.0/24", false, false, false},
		{"net:access", "localhost", "localhost.example.org", false, false, false},
		{"net:access", "localhost", "*.example.org", false, false, false},
		{"net:access", "localhost", "0.0.0.0/8", true, false, false},
		{"net:access", "127.0.0.0/8", "0.0.0.0/8", true, false, false},
		{"net:access", "0.0.0.0", "127.0.0.1", true, true, true},
		{"net:access", "[::]", "::1", true, true, true},
		{"net:listen", "8000", "*", true, false, true},
		{"net:listen", "8000", "7000-9000", true, false, true},
		{"net:listen", "8000", "8001", false, false, false},
		{"proc:spawn", "nc", "/usr/bin/nc", true, true, false},
		{"proc:spawn", "nc", "*", true, false, true},
		{"proc:spawn", "nc", "ncat", false, false, false},
		{"ipc:connect", "/run/x.sock", "/run/**", true, false, true},
		{"ipc:connect", "/run/x.sock", "/run", false, false, false},
		{"env:read", "NPM_TOKEN", "NPM_*", true, false, true},
		{"env:read", "A*", "*Z", true, false, false},
		{"env:read", "A*B", "C*", false, false, false},
		{"db:access", "prod-1", "prod-[0-9]", true, false, true},
		{"db:access", "prod-x", "prod-[0-9]", false, false, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const char *name = cases[i].permission, *a = cases[i].a, *b = cases[i].b;
		bool good = pair(pattern_overlaps, name, a, b) == cases[i].overlap &&
			    pair(pattern_overlaps, name, b, a) == cases[i].overlap &&
			    pair(pattern_covers, name, a, b) == cases[i].a_covers &&
			    pair(pattern_covers, name, b, a) == cases[i].b_covers;
		if (!good) fail_msg("%s %s and %s", name, a, b);
	}
}

static void what_restricts_all_of_a_pattern(void **state) {
	static const struct {
		const char *permission, *a, *b;
		bool all;
	} cases[] = {
		{"net:access", "127.0.0.0/8", "localhost", true},
		{"net:access", "127.0.0.0/8", "localhost:80", true},
		{"net:access", "127.0.0.0/8:80", "localhost", false},
		{"net:access", "::1/128", "localhost", true},
		{"net:access", "0.0.0.0/8", "127.0.0.1", true},
		{"net:access", "127.0.0.1", "[::1]:80", true},
		{"net:access", "localhost", "127.0.0.2", true},
		{"net:access", "127.0.0.2", "localhost", false},
		{"net:access", "*.org", "example.org", true},
		{"net:access", "example.org", "*.org", false},
		{"net:access", "*.org", "*.org", true},
		{"net:access", "*", "10.0.0.0/8", true},
		{"fs:read", "~/notes", "~/notes/a", true},
		{"fs:read", "~/notes/a", "~/notes", false},
		{"fs:read", "**/.env", "**/.env", true},
		{"net:listen", "8000-8010", "8001", true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (pair(pattern_restricts_all, cases[i].permission, cases[i].a, cases[i].b) != cases[i].all)
			fail_msg("%s %s of %s", cases[i].permission, cases[i].a, cases[i].b);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_and_names),
		cmocka_unit_test(attack_net_02_hosts_match_by_label),
		cmocka_unit_test(the_closer_pattern_wins),
		cmocka_unit_test(quoted_targets_mean_themselves),
		cmocka_unit_test(walks_go_where_a_match_may_be),
		cmocka_unit_test(relative_allows_stay_in_the_project),
		cmocka_unit_test(only_addresses_name_addresses),
		cmocka_unit_test(the_loopback_is_denied_as_a_whole),
		cmocka_unit_test(the_ports_of_a_host),
		cmocka_unit_test(two_patterns_overlap_or_dont),
		cmocka_unit_test(what_restricts_all_of_a_pattern),
		cmocka_unit_test(bad_patterns_are_refused),
		cmocka_unit_test(attack_fs_16_pattern_bombs_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
