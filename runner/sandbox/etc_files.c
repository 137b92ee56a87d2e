/*
 * Theory of operation. The stub (net/stub.h) answers on the sandbox's loopback. What a resolver asks besides the very
 * name is asked of the broker, too, so resolv.conf keeps it from making names up:
 *   - `ndots:0`: a name is asked as it is before anything is put behind it (glibc, c-ares, Go), and musl then puts
 *     nothing behind it at all; before 1.2.4 it finds no one-word name with a search list that it can use;
 *   - `search .`: nothing but the root is put behind it. Without it glibc, c-ares and Go take the domain of the host's
 *     own name (Go does even so).
 * resolv.conf(5); res_query.c of glibc; lookup_name.c of musl; net/dnsconfig_unix.go of Go; ares_search.c of c-ares.
 *
 * nsswitch.conf names what works without a service of the host's: no systemd-resolved, no sssd, no nscd is reached.
 */
#include "etc_files.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/memory.h"
#include "base/string.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const struct {
	const char *path, *text; /* NULL: it depends */
} files[] = {
	{"/etc/resolv.conf",
	 "# sbx: with network: native a denied name is not found; others are asked about when connected to\n"
	 "nameserver 127.0.0.1\n"
	 "search .\n"
	 "options edns0 ndots:0\n"},
	{"/etc/nsswitch.conf", "# sbx: no service of the host is reached from here\n"
			       "passwd: files\n"
			       "group: files\n"
			       "shadow: files\n"
			       "gshadow: files\n"
			       "hosts: files dns\n"
			       "networks: files\n"
			       "protocols: files\n"
			       "services: files\n"
			       "ethers: files\n"
			       "rpc: files\n"
			       "netgroup: files\n"},
	{"/etc/hosts", NULL},
};

/* RFC 1123, 2.1, and the underscore that some use. */
static bool is_name(const char *text) {
	size_t size = strspn(text, LETTERS "0123456789-_.");
	return size > 0 && text[size] == '\0' && text[0] != '.' && text[0] != '-' && !strstr(text, "..");
}

char *etc_hosts_text(const char *host_name) {
	CLEANUP_STRING struct string names = {0};
	string_append(&names, "");
	if (is_name(host_name) && strcmp(host_name, "localhost") != 0) {
		size_t first = strcspn(host_name, ".");
		string_appendf(&names, " %s", host_name);
		if (host_name[first] == '.') string_appendf(&names, " %.*s", (int)first, host_name);
	}
	return string_format("127.0.0.1 localhost%s\n"
			     "::1 localhost ip6-localhost ip6-loopback%s\n",
			     names.data, names.data);
}

void etc_files_add(struct rules *rules) {
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		struct utsname uts = {.nodename = ""};
		CLEANUP_FREE char *hosts = NULL;
		if (!files[i].text) {
			uname(&uts);
			hosts = etc_hosts_text(uts.nodename);
		}
		rules_add_text(rules, files[i].path, files[i].text ? files[i].text : hosts);
	}
}
