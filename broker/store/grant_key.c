#include "store/grant_key.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "schema/host.h"

void grant_networks_add(struct grant_networks *networks, const char *key) {
	const char *slash = strchr(key, '/');
	unsigned long bits = slash ? strtoul(slash + 1, NULL, 10) : 0;
	if (!slash || bits > 128) return;
	if (strchr(key, ':'))
		networks->v6[bits / 64] |= UINT64_C(1) << (bits % 64);
	else if (bits <= 32)
		networks->v4 |= UINT64_C(1) << bits;
}

/* The folder below which every match lies: the names before the first with a wildcard, unescaped. */
static char *key_of_path(const struct pattern *pattern) {
	const char *target = pattern_target(pattern), *text = pattern_text(pattern);
	if (target) return string_copy(target);
	CLEANUP_STRING struct string key = {0};
	while (*text == '/') {
		CLEANUP_STRING struct string name = {0};
		const char *p = text + 1;
		for (; *p && *p != '/' && !strchr("*?[", *p); p++) {
			if (*p == '\\' && p[1]) p++;
			string_append_char(&name, *p);
		}
		if (*p != '\0' && *p != '/') break;
		string_append_char(&key, '/');
		string_append_bytes(&key, name.data ? name.data : "", name.size);
		text = p;
	}
	if (key.size == 0) string_append(&key, "/");
	return string_steal(&key);
}

/* The normal text without brackets; "*.example.org" is kept as ".example.org", a single port behind a space. */
static char *key_of_host(const struct pattern *pattern) {
	const char *text = pattern_text(pattern);
	bool bracket = *text == '[';
	if (bracket || string_starts(text, "*.")) text++;
	size_t size = strcspn(text, bracket ? "]" : ":");
	CLEANUP_FREE char *host = string_copy_bytes(text, size);
	const char *port = strchr(text + size, ':');
	if (!port || strchr(port, '-')) return string_copy(host);
	return string_format("%s %s", host, port + 1);
}

char *grant_key_of_pattern(const struct permission *permission, const struct pattern *pattern) {
	if (permission_is_of_path(permission)) return key_of_path(pattern);
	if (permission->kind == PERMISSION_NET_ACCESS) return key_of_host(pattern);
	return string_copy(pattern_is_literal(pattern) ? pattern_target(pattern) : "*");
}

void grant_span_finish(struct grant_span *span) {
	free(span->key);
	free(span->first);
	free(span->end);
	*span = (struct grant_span){0};
}

/* "/a", and "/a/" … "/a0", for '0' comes after '/'; of the root all from "/" on. */
static void span_of_folder(const char *folder, struct grant_span *ret_span) {
	bool root = folder[1] == '\0';
	if (!root) ret_span->key = string_copy(folder);
	ret_span->first = string_format("%s/", root ? "" : folder);
	ret_span->end = string_format("%s0", root ? "" : folder);
}

/* "example.org", and its ports: "example.org " … "example.org!", for '!' comes after ' '. */
static void span_of_host(const char *host, struct grant_span *ret_span) {
	ret_span->key = string_copy(host);
	ret_span->first = string_format("%s ", host);
	ret_span->end = string_format("%s!", host);
}

void grant_span_of_pattern(const struct permission *permission, const struct pattern *pattern,
			   struct grant_span *ret_span) {
	CLEANUP_FREE char *key = grant_key_of_pattern(permission, pattern);
	*ret_span = (struct grant_span){.key = NULL};
	if (permission_is_of_path(permission) && *key == '/')
		span_of_folder(key, ret_span);
	else if (pattern_is_literal(pattern))
		return; /* one target has no parts */
	else if (permission->kind == PERMISSION_NET_ACCESS && *key != '*' && *key != '.' && !strchr(key, '/'))
		span_of_host(key, ret_span);
	else
		ret_span->anywhere = true;
}

static void add_path_keys(const char *target, struct strings *keys) {
	CLEANUP_FREE char *path = string_copy(target);
	for (size_t size = strlen(path); size > 1;) {
		strings_add(keys, path);
		while (size > 1 && path[size - 1] != '/') size--;
		if (size > 1) size--;
		path[size] = '\0';
	}
	strings_add(keys, "/");
}

static void add_network_key(int family, const uint8_t *address, unsigned bits, struct strings *keys) {
	uint8_t network[16] = {0};
	char text[INET6_ADDRSTRLEN];
	memcpy(network, address, family == AF_INET ? 4 : 16);
	for (unsigned i = 0; i < sizeof network; i++) {
		unsigned keep = bits >= (i + 1) * 8 ? 8 : bits > i * 8 ? bits - i * 8 : 0;
		network[i] = (uint8_t)(network[i] & (0xff00U >> keep));
	}
	if (!inet_ntop(family, network, text, sizeof text)) return;
	CLEANUP_FREE char *key = string_format("%s/%u", text, bits);
	if (!strings_contain(keys, key)) strings_take(keys, STEAL(key));
}

static void add_network_keys(const char *host, const struct grant_networks *networks, struct strings *keys) {
	uint8_t address[16];
	bool v4 = inet_pton(AF_INET, host, address) == 1;
	if (!v4 && inet_pton(AF_INET6, host, address) != 1) return;
	for (unsigned bits = v4 ? 33 : 129; bits-- > 0;) {
		uint64_t stored = v4 ? networks->v4 >> bits : networks->v6[bits / 64] >> (bits % 64);
		if (stored & 1) add_network_key(v4 ? AF_INET : AF_INET6, address, bits, keys);
	}
}

/* What denies or asks under one of the loopback's names means all of it (pattern_restricts, which decides). Former
 * versions stored the unspecified addresses as they are; networks that have them mean the loopback, too. */
void grant_keys_of_host(const char *host, const struct grant_networks *networks, struct strings *keys) {
	static const char *const loopback[] = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"};
	strings_add(keys, host);
	for (const char *dot = strchr(host, '.'); dot; dot = strchr(dot + 1, '.')) strings_add(keys, dot);
	for (size_t i = 0; host_is_loopback(host) && i < ARRAY_LENGTH(loopback); i++) {
		if (strcmp(host, loopback[i]) != 0) strings_add(keys, loopback[i]);
		add_network_keys(loopback[i], networks, keys);
	}
	add_network_keys(host, networks, keys);
	strings_add(keys, "*");
}

/* Each with the port and without. */
static void add_host_keys(const char *target, const struct grant_networks *networks, struct strings *keys) {
	CLEANUP_STRINGS struct strings names = {0};
	const char *colon = strrchr(target, ':');
	size_t size = colon ? (size_t)(colon - target) : strlen(target);
	CLEANUP_FREE char *host =
		*target == '[' && size > 2 ? string_copy_bytes(target + 1, size - 2) : string_copy_bytes(target, size);
	grant_keys_of_host(host, networks, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (colon) strings_addf(keys, "%s %s", names.items[i], colon + 1);
		strings_add(keys, names.items[i]);
	}
}

void grant_keys_of_target(const struct permission *permission, const char *target,
			  const struct grant_networks *networks, struct strings *ret_keys) {
	if (permission_is_of_path(permission)) {
		add_path_keys(target, ret_keys);
	} else if (permission->kind == PERMISSION_NET_ACCESS) {
		add_host_keys(target, networks, ret_keys);
	} else {
		strings_add(ret_keys, target);
		strings_add(ret_keys, "*");
	}
}
