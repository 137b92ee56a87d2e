#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/host.h"

/* Texts */

/* `pattern` with its front, the path `place`, written as `name`; NULL when it doesn't lie there. */
static char *written_from(const struct permission *permission, const char *pattern, const char *place,
			  const char *name) {
	if (!place || strcmp(place, "/") == 0) return NULL;
	CLEANUP_FREE char *front = pattern_quote(permission, place);
	const size_t size = strlen(front);
	if (!string_starts(pattern, front) || (pattern[size] != '\0' && pattern[size] != '/')) return NULL;
	return string_format("%s%s", name, pattern + size);
}

static char *path_text(const struct permission *permission, const char *pattern, const struct pattern_scope *scope) {
	/* A home that is the project is a home: in every other project ${project} is something else. */
	bool home = scope->project && scope->home && path_is_below(scope->home, scope->project);
	char *text = home ? NULL : written_from(permission, pattern, scope->project, "${project}");
	if (!text) text = written_from(permission, pattern, scope->home, "~");
	return text ? text : string_copy(pattern);
}

/* Only what comes out the same when it is read again is a text for it. */
static bool means_the_same(const struct permission *permission, const char *text, const char *pattern,
			   const struct pattern_scope *scope) {
	CLEANUP_PATTERN struct pattern *again = NULL;
	return pattern_compile(permission, text, scope, &again, NULL) == 0 && strcmp(pattern_text(again), pattern) == 0;
}

char *suggest_pattern_text(const struct permission *permission, const char *pattern,
			   const struct pattern_scope *scope) {
	CLEANUP_FREE char *text =
		permission_is_of_path(permission) ? path_text(permission, pattern, scope) : string_copy(pattern);
	if (!text_is_utf8(text, strlen(text)) || !means_the_same(permission, text, pattern, scope)) return NULL;
	return STEAL(text);
}

/* Samples */

/* The front of a path pattern's normal text without a wildcard, unescaped: "/a" of "/a/b*c/d". */
static char *fixed_folder(const char *text) {
	struct string out = {0};
	size_t kept = 0;
	for (; *text && !strchr("*?[", *text); text++) {
		if (*text == '/') kept = out.size;
		if (*text == '\\' && text[1]) text++;
		string_append_char(&out, *text);
	}
	if (*text) out.size = kept;
	if (out.data) out.data[out.size] = '\0';
	if (out.size == 0) string_append_char(&out, '/');
	return string_steal(&out);
}

/* The parts of a network pattern's normal text. */
struct net_parts {
	char *host; /* with brackets; without "*." of a domain, without "/8" of a network */
	bool any, domain;
	unsigned port; /* the first; 0: any */
};

static struct net_parts net_parts_of(const struct pattern *pattern) {
	const char *text = pattern_text(pattern), *end = text + strlen(text), *bracket = strrchr(text, ']');
	const char *colon = strrchr(text, ':');
	if (colon && bracket && colon < bracket) colon = NULL;
	struct net_parts parts = {.port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0};
	const char *host_end = colon ? colon : end;
	parts.domain = string_starts(text, "*.");
	parts.any = !parts.domain && *text == '*';
	if (parts.domain) text += 2;
	const char *slash = memchr(text, '/', (size_t)(host_end - text));
	CLEANUP_FREE char *host = string_copy_bytes(text, (size_t)((slash ? slash : host_end) - text));
	parts.host = string_format("%s%s", host, slash && *text == '[' ? "]" : "");
	return parts;
}

static char *net_sample(const struct net_parts *parts, unsigned port) {
	return string_format("%s%s:%u", parts->domain ? "any." : "", parts->any ? "any.invalid" : parts->host,
			     port ? port : 1);
}

char *suggest_pattern_sample(const struct permission *permission, const struct pattern *pattern) {
	if (pattern_target(pattern)) return string_copy(pattern_target(pattern));
	if (permission_is_of_path(permission)) return fixed_folder(pattern_text(pattern));
	if (permission->kind != PERMISSION_NET_ACCESS) return string_copy(pattern_text(pattern));
	struct net_parts parts = net_parts_of(pattern);
	char *sample = net_sample(&parts, parts.port);
	free(parts.host);
	return sample;
}

/* Overlaps */

bool suggest_permissions_related(const struct permission *a, const struct permission *b) {
	return permission_equal(a, b) || (permission_is_of_files(a) && permission_is_of_files(b));
}

/* Of two patterns that overlap one host lies in both that is in one of their names, and one port that one begins with.
 */
static bool nets_overlap(const struct pattern *a, const struct pattern *b) {
	struct net_parts parts[] = {net_parts_of(a), net_parts_of(b)};
	const unsigned ports[] = {parts[0].port, parts[1].port, 1};
	bool found = false;
	for (size_t h = 0; h < ARRAY_LENGTH(parts); h++) {
		for (size_t p = 0; p < ARRAY_LENGTH(ports); p++) {
			CLEANUP_FREE char *sample = net_sample(&parts[h], ports[p]);
			found = found || (pattern_match(a, sample, NULL) && pattern_match(b, sample, NULL));
		}
	}
	for (size_t h = 0; h < ARRAY_LENGTH(parts); h++) free(parts[h].host);
	return found;
}

static bool paths_overlap(const struct pattern *outer, const struct pattern *inner) {
	CLEANUP_FREE char *top =
		pattern_target(outer) ? string_copy(pattern_target(outer)) : fixed_folder(pattern_text(outer));
	const char *target = pattern_target(inner);
	return !(target && strcmp(target, top) == 0) && pattern_may_match_below(inner, top);
}

bool suggest_patterns_overlap(const struct permission *permission, const struct pattern *outer,
			      const struct pattern *inner) {
	const char *a = pattern_target(outer), *b = pattern_target(inner);
	if (permission_traits(permission)->form == FORM_TREE) return paths_overlap(outer, inner);
	if (permission->kind == PERMISSION_NET_ACCESS) return nets_overlap(outer, inner);
	if (a) return pattern_match(inner, a, NULL);
	return b ? pattern_match(outer, b, NULL) : true;
}

static bool net_has_any_port(const struct pattern *pattern) {
	struct net_parts parts = net_parts_of(pattern);
	free(parts.host);
	return parts.port == 0;
}

/* A tree covers what its top, or the folder that all the other's names lie in, does; a host without a port or a domain
 * what its samples do. */
bool suggest_pattern_covers(const struct permission *permission, const struct pattern *outer,
			    const struct pattern *inner) {
	if (strcmp(pattern_text(outer), pattern_text(inner)) == 0) return true;
	/* A rule that names an address opens it also where it is private (schema/pattern.h). */
	if (pattern_names_address(inner) && !pattern_names_address(outer)) return false;
	if (pattern_target(inner)) return pattern_match(outer, pattern_target(inner), NULL);
	CLEANUP_FREE char *sample = suggest_pattern_sample(permission, inner);
	if (permission_is_of_files(permission)) return pattern_target(outer) && pattern_match(outer, sample, NULL);
	return permission->kind == PERMISSION_NET_ACCESS && net_has_any_port(outer) &&
	       !strchr(pattern_text(outer), '/') && pattern_match(outer, sample, NULL);
}
