#include "schema/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/string.h"

static const char scheme[] = "http://";

/* The parts of one whose form is right: [user:password@]host:port[/] */
struct parts {
	const char *user, *host;
	size_t user_size, host_size; /* with the password, with the port */
};

static bool split(const char *text, struct parts *ret_parts) {
	if (!string_starts(text, scheme)) return false;
	const char *start = text + strlen(scheme), *at = strrchr(start, '@');

	*ret_parts =
		(struct parts){.user = start, .user_size = at ? (size_t)(at - start) : 0, .host = at ? at + 1 : start};
	ret_parts->host_size = strcspn(ret_parts->host, "/");
	return ret_parts->host[ret_parts->host_size] == '\0' ||
	       strcmp(ret_parts->host + ret_parts->host_size, "/") == 0;
}

static int hex_digit(char c) {
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "user:password", its %XX as bytes; NULL when it has what it must not. */
static char *decode(const char *text, size_t size) {
	CLEANUP_STRING struct string out = {0};

	for (size_t i = 0; i < size; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '%') {
			int high = i + 2 < size ? hex_digit(text[i + 1]) : -1,
			    low = high < 0 ? -1 : hex_digit(text[i + 2]);

			if (high < 0 || low < 0) return NULL;
			byte = high * 16 + low;
			i += 2;
		}
		if (byte < ' ' || byte == 0x7f) return NULL;
		string_append_char(&out, (char)byte);
	}
	return string_steal(&out);
}

/* A colon that stands as %3A is one of the password's, or a fault in the user. */
static int read_user(const struct parts *parts, struct upstream *upstream, struct error *error) {
	const char *colon = memchr(parts->user, ':', parts->user_size);
	size_t user_size = colon ? (size_t)(colon - parts->user) : parts->user_size;
	size_t password_size = colon ? parts->user_size - user_size - 1 : 0;
	CLEANUP_FREE char *user = decode(parts->user, user_size);
	CLEANUP_FREE char *password = decode(colon ? colon + 1 : "", password_size);

	if (!user || !password || strchr(user, ':'))
		return error_set(error, EINVAL, "user or password have characters that none can have here");
	CLEANUP_FREE char *both = string_format("%s:%s", user, password);
	upstream->user = STEAL(user);
	upstream->credentials = base64_text(both, strlen(both));
	return 0;
}

int upstream_parse(const char *text, struct upstream *ret_upstream, struct error *error) {
	struct parts parts;
	struct upstream upstream = {0};
	int r = 0;

	/* What is wrong with a part may quote it: the whole is not shown, nor is the part. */
	if (!split(text, &parts) ||
	    host_port_parse(parts.host, parts.host_size, &upstream.host, &upstream.port, NULL) < 0)
		return error_set(error, EINVAL, "this is no proxy's address");
	if (parts.user < parts.host) r = read_user(&parts, &upstream, error);
	if (r < 0) return r;
	*ret_upstream = upstream;
	return 0;
}

void upstream_copy(struct upstream *copy, const struct upstream *upstream) {
	*copy = *upstream;
	copy->user = string_copy_or_null(upstream->user);
	copy->credentials = string_copy_or_null(upstream->credentials);
}

void upstream_finish(struct upstream *upstream) {
	free(upstream->user);
	free(upstream->credentials);
	*upstream = (struct upstream){0};
}

bool upstream_has_password(const char *text) {
	struct parts parts;

	return split(text, &parts) && parts.user < parts.host;
}

char *upstream_shown(const char *text) {
	struct parts parts;

	if (!split(text, &parts)) return string_copy(UPSTREAM_NONE);
	return string_format("%s%.*s", scheme, (int)parts.host_size, parts.host);
}
