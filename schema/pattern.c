/*
 * Theory of operation
 *
 * A pattern is compiled to one of six forms by its permission. Path patterns become a list of names. A target is
 * covered when some leading part of it ("/repo/a" of "/repo/a/b/c") fits the whole pattern, since a path means its
 * subtree; the longest such part is where the match ends, and its depth is the rank.
 *
 * Matching names with `**` backtracks exponentially when done naively, so it is done as a set of positions: bit k is
 * set while the first k names of the target fit the part of the pattern looked at so far. A name moves every bit one
 * on where it fits, `**` sets every bit from the lowest on. That is at most names(pattern) × names(target) steps and
 * no memory but the stack (attack F16).
 */
#include "schema/pattern.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "glob.h"
#include "pattern_parts.h"

enum { PATH_NAMES_MAX = PATH_MAX / 2 + 1 };

void pattern_free(struct pattern *pattern) {
	if (!pattern) return;
	free(pattern->text);
	free(pattern->target);
	strings_finish(&pattern->names);
	free(pattern);
}

const char *pattern_text(const struct pattern *pattern) {
	return pattern->text;
}

const char *pattern_target(const struct pattern *pattern) {
	return pattern->target;
}

bool pattern_is_literal(const struct pattern *pattern) {
	return pattern->target != NULL;
}

bool pattern_names_address(const struct pattern *pattern) {
	const struct net_pattern *net = &pattern->net;
	if (pattern->form != FORM_NET) return false;
	return net->class == NET_CIDR || (net->class == NET_EXACT && net->host.class != HOST_NAME);
}

const char *pattern_host(const struct pattern *pattern) {
	const struct net_pattern *net = &pattern->net;
	if (pattern->form != FORM_NET || net->class != NET_EXACT || net_pattern_is_loopback(net)) return NULL;
	return net->host.name;
}

int pattern_at_host(const struct pattern *pattern, const char *host, struct pattern **ret_pattern) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_FREE char *ports = port_range_format(pattern->net.ports);
	CLEANUP_FREE char *text = string_format(strchr(host, ':') ? "[%s]%s" : "%s%s", host, ports);
	return pattern_compile(&pattern->permission, text, &nothing, ret_pattern, NULL);
}

char *pattern_quote(const struct permission *permission, const char *target) {
	return permission_is_of_net(permission) ? string_copy(target) : glob_quote(target);
}

/* Compiling: paths */

static int append_variable(struct string *out, const char *name, size_t size, const struct pattern_scope *scope,
			   struct error *error) {
	const struct {
		const char *name, *value;
	} variables[] = {{"home", scope->home},
			 {"project", scope->project},
			 {"root", scope->root ? scope->root : scope->project}};
	if (size == 3 && memcmp(name, "uid", size) == 0) {
		string_appendf(out, "%u", scope->uid);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
		if (strlen(variables[i].name) != size || memcmp(variables[i].name, name, size) != 0) continue;
		if (!variables[i].value)
			return error_set(error, EINVAL, "${%s} has no meaning here", variables[i].name);
		CLEANUP_FREE char *quoted = glob_quote(variables[i].value);
		string_append(out, quoted);
		return 0;
	}
	CLEANUP_FREE char *copy = string_copy_bytes(name, size);
	CLEANUP_FREE char *shown = text_visible_cut(copy, 30);
	return error_set(error, EINVAL, "there is no ${%s}; known are ${home}, ${project}, ${root} and ${uid}", shown);
}

/* ~ and ${…} replaced by what they stand for, quoted. */
static int expand(const char *text, const struct pattern_scope *scope, char **ret_text, struct error *error) {
	CLEANUP_STRING struct string out = {0};
	int r = 0;
	if (*text == '~') {
		if (text[1] != '\0' && text[1] != '/')
			return error_set(error, EINVAL,
					 "~ must be followed by '/': another user's home has to be spelled out");
		r = append_variable(&out, "home", 4, scope, error);
		text++;
	}
	while (r == 0 && *text) {
		if (*text == '\\' && text[1]) {
			string_append_bytes(&out, text, 2);
			text += 2;
		} else if (text[0] == '$' && text[1] == '{') {
			size_t size = strcspn(text + 2, "}");
			if (!text[2 + size]) return error_set(error, EINVAL, "${ has no closing }");
			r = append_variable(&out, text + 2, size, scope, error);
			text += 3 + size;
		} else if (*text == '{') {
			return error_set(
				error, EINVAL,
				"{…} is no wildcard here; write one pattern for each, or \\{ for the character");
		} else {
			const size_t plain = 1 + strcspn(text + 1, "\\${");
			string_append_bytes(&out, text, plain);
			text += plain;
		}
	}
	if (r < 0) return r;
	*ret_text = string_steal(&out);
	return 0;
}

/* A relative pattern becomes an absolute one. */
static char *anchor(const char *text, bool bare_name, const struct pattern_scope *scope) {
	if (*text == '/') return string_copy(text);
	if (bare_name || scope->relative_anywhere || !scope->project) return string_format("/**/%s", text);
	CLEANUP_FREE char *project = glob_quote(scope->project);
	return path_join(project, text);
}

static int split_names(struct pattern *pattern, struct error *error) {
	unsigned stars = 0;
	for (const char *p = pattern->text; *p;) {
		size_t size = strcspn(p, "/");
		if (size == 2 && memcmp(p, "**", 2) == 0) {
			stars++;
			/* Two in a row say no more than one. */
			if (pattern->names.count == 0 ||
			    strcmp(pattern->names.items[pattern->names.count - 1], "**") != 0)
				strings_add(&pattern->names, "**");
		} else if (size > 0) {
			strings_take(&pattern->names, string_copy_bytes(p, size));
		}
		p += size + (p[size] == '/' ? 1 : 0);
	}
	if (stars > LIMIT_PATTERN_STARS)
		return error_set(error, E2BIG, "more than %d '**' in one pattern", LIMIT_PATTERN_STARS);
	return 0;
}

/* A path means its subtree, so ~ and all that is below it are the same: the stars must not make it look closer than a
 * rule for one folder in there. */
static void drop_trailing_stars(char *text) {
	while (string_ends(text, "/**")) {
		char *end = text + strlen(text) - strlen("/**");
		end[end == text ? 1 : 0] = '\0';
	}
}

static int compile_path(struct pattern *pattern, const char *text, const struct pattern_scope *scope,
			struct error *error) {
	bool spawn = pattern->permission.kind == PERMISSION_PROC_SPAWN;
	CLEANUP_FREE char *expanded = NULL;
	if (spawn && strcmp(text, "*") == 0) {
		pattern->everything = true;
		pattern->text = string_copy("*");
		return 0;
	}
	int r = expand(text, scope, &expanded, error);
	if (r < 0) return r;
	assert(expanded); /* for the analyser: an error is below 0 */
	if (*expanded == '\0') return error_set(error, EINVAL, "the pattern is empty");
	CLEANUP_FREE char *anchored = anchor(expanded, spawn && !strchr(expanded, '/'), scope);
	if (glob_has_wildcard(anchored) && (strstr(anchored, "/../") || string_ends(anchored, "/..")))
		return error_set(error, EINVAL, "'..' and wildcards don't go together");
	r = path_normalise(NULL, anchored, &pattern->text, error);
	if (r < 0) return r;
	if (pattern->form == FORM_TREE) drop_trailing_stars(pattern->text);
	if (glob_has_wildcard(pattern->text)) return split_names(pattern, error);
	pattern->target = glob_unquote(pattern->text);
	return 0;
}

static int compile_net(struct pattern *pattern, const char *text, struct error *error) {
	int r = net_pattern_parse(text, &pattern->net, error);
	if (r < 0) return r;
	pattern->text = net_pattern_format(&pattern->net);
	if (net_pattern_is_literal(&pattern->net)) pattern->target = string_copy(pattern->text);
	return 0;
}

static int compile_listen(struct pattern *pattern, const char *text, struct error *error) {
	if (strcmp(text, "*") == 0) {
		pattern->everything = true;
		pattern->text = string_copy("*");
		return 0;
	}
	int r = port_range_parse(text, &pattern->ports, error);
	if (r < 0) return r;
	CLEANUP_FREE char *ports = port_range_format(pattern->ports);
	pattern->text = string_copy(ports + 1);
	if (pattern->ports.first == pattern->ports.last) pattern->target = string_copy(pattern->text);
	return 0;
}

static int compile_text(struct pattern *pattern, const char *text, struct error *error) {
	if (pattern->form == FORM_VARIABLE && strchr(text, '='))
		return error_set(error, EINVAL, "the name of a variable has no '='");
	pattern->text = string_copy(text);
	if (!glob_has_wildcard(text)) pattern->target = glob_unquote(text);
	return 0;
}

static int compile_form(struct pattern *pattern, const char *text, const struct pattern_scope *scope,
			struct error *error) {
	if (*text == '\0') return error_set(error, EINVAL, "the pattern is empty");
	if (strlen(text) >= LIMIT_PATTERN)
		return error_set(error, ENAMETOOLONG, "the pattern is longer than %d bytes", LIMIT_PATTERN - 1);
	switch (pattern->form) {
	case FORM_TREE:
	case FORM_PATH:
		return compile_path(pattern, text, scope, error);
	case FORM_NET:
		return compile_net(pattern, text, error);
	case FORM_PORT:
		return compile_listen(pattern, text, error);
	case FORM_VARIABLE:
	case FORM_TEXT:
		return compile_text(pattern, text, error);
	}
	return error_set(error, EINVAL, "unknown form of pattern");
}

int pattern_compile(const struct permission *permission, const char *text, const struct pattern_scope *scope,
		    struct pattern **ret_pattern, struct error *error) {
	CLEANUP_PATTERN struct pattern *pattern = mem_new(struct pattern);
	pattern->permission = *permission;
	pattern->form = permission_traits(permission)->form;
	int r = compile_form(pattern, text, scope, error);
	if (r < 0) {
		CLEANUP_FREE char *shown = text_visible_cut(text, 80);
		return error_prefix(error, "%s %s", permission->name, shown);
	}
	*ret_pattern = STEAL(pattern);
	return 0;
}

/* Matching: paths */

struct positions {
	uint64_t bits[PATH_NAMES_MAX / 64 + 1];
};

static bool position_is_set(const struct positions *positions, size_t k) {
	return positions->bits[k / 64] >> (k % 64) & 1;
}

static void position_set(struct positions *positions, size_t k) {
	positions->bits[k / 64] |= UINT64_C(1) << (k % 64);
}

struct path_names {
	const char *starts[PATH_NAMES_MAX];
	uint16_t sizes[PATH_NAMES_MAX];
	size_t count;
};

static bool split_target(const char *path, struct path_names *names) {
	names->count = 0;
	while (*path) {
		size_t size = strcspn(path, "/");
		if (size > 0) {
			if (names->count == PATH_NAMES_MAX - 1 || size > UINT16_MAX) return false;
			names->starts[names->count] = path;
			names->sizes[names->count++] = (uint16_t)size;
		}
		path += size + (path[size] == '/' ? 1 : 0);
	}
	return true;
}

/* One step of the set of positions over one name of the pattern. Returns whether any position is left. */
static bool positions_step(struct positions *now, const char *name, const struct path_names *target) {
	struct positions next = {0};
	bool any = false, deep = strcmp(name, "**") == 0, seen = false;
	size_t size = strlen(name);
	for (size_t k = 0; k <= target->count; k++) {
		bool here = position_is_set(now, k);
		seen = seen || here;
		if (deep && seen) {
			position_set(&next, k);
			any = true;
		}
		if (!deep && here && k < target->count && glob_match(name, size, target->starts[k], target->sizes[k])) {
			position_set(&next, k + 1);
			any = true;
		}
	}
	*now = next;
	return any;
}

/* The depth at which a match of the whole pattern ends, -1 for none. */
static long match_names(const struct pattern *pattern, const struct path_names *target, bool whole) {
	struct positions now = {{1}};
	for (size_t i = 0; i < pattern->names.count; i++)
		if (!positions_step(&now, pattern->names.items[i], target)) return -1;
	for (size_t k = target->count;; k--) {
		if (position_is_set(&now, k)) return (long)k;
		if (whole || k == 0) return -1;
	}
}

static bool match_path(const struct pattern *pattern, const char *target, struct pattern_rank *rank) {
	bool whole = pattern->form == FORM_PATH;
	if (pattern->everything) return true;
	if (pattern->target) {
		*rank = (struct pattern_rank){(uint32_t)path_depth(pattern->target), 1};
		return whole ? strcmp(target, pattern->target) == 0 : path_is_below(target, pattern->target);
	}
	struct path_names names;
	if (!split_target(target, &names)) return false;
	long depth = match_names(pattern, &names, whole);
	*rank = (struct pattern_rank){(uint32_t)(depth < 0 ? 0 : depth), 0};
	return depth >= 0;
}

bool pattern_may_match_below(const struct pattern *pattern, const char *directory) {
	if (pattern->everything) return true;
	if (pattern->target) return path_is_below(pattern->target, directory);
	struct path_names names;
	if (!split_target(directory, &names)) return false;
	struct positions now = {{1}};
	for (size_t i = 0; i < pattern->names.count; i++) {
		if (position_is_set(&now, names.count)) return true;
		if (!positions_step(&now, pattern->names.items[i], &names)) return false;
	}
	/* A trailing `**` covers everything below; any other pattern that has ended here covers the tree as one. */
	return string_equal(pattern->names.items[pattern->names.count - 1], "**") && position_is_set(&now, names.count);
}

bool pattern_ports(const struct pattern *pattern, const char *host, uint16_t *ret_first, uint16_t *ret_last) {
	struct pattern_rank rank;
	if (pattern->form != FORM_NET || !net_pattern_match_host(&pattern->net, host, &rank)) return false;
	const struct port_range ports = pattern->net.ports;
	*ret_first = ports.first == 0 ? 1 : ports.first;
	*ret_last = ports.first == 0 ? UINT16_MAX : ports.last;
	return true;
}

bool pattern_match(const struct pattern *pattern, const char *target, struct pattern_rank *ret_rank) {
	struct pattern_rank rank = {0};
	bool matches = false;
	switch (pattern->form) {
	case FORM_TREE:
	case FORM_PATH:
		matches = match_path(pattern, target, &rank);
		break;
	case FORM_NET:
		matches = net_pattern_match(&pattern->net, target, &rank);
		break;
	case FORM_PORT:
		matches = pattern->everything || port_range_match(pattern->ports, strtoul(target, NULL, 10), &rank);
		break;
	case FORM_VARIABLE:
	case FORM_TEXT:
		rank = (struct pattern_rank){pattern->target ? UINT32_MAX : glob_fixed(pattern->text),
					     pattern->target ? 1 : 0};
		matches = glob_match(pattern->text, strlen(pattern->text), target, strlen(target));
		break;
	}
	if (matches && ret_rank) *ret_rank = rank;
	return matches;
}

bool pattern_restricts(const struct pattern *pattern, const char *target, struct pattern_rank *ret_rank) {
	struct pattern_rank rank = {0};
	if (pattern->form != FORM_NET) return pattern_match(pattern, target, ret_rank);
	if (!net_pattern_restricts(&pattern->net, target, &rank)) return false;
	if (ret_rank) *ret_rank = rank;
	return true;
}

bool pattern_applies(const struct pattern *pattern, enum effect effect, const char *target,
		     struct pattern_rank *ret_rank) {
	return effect == EFFECT_ALLOW ? pattern_match(pattern, target, ret_rank)
				      : pattern_restricts(pattern, target, ret_rank);
}

int pattern_rank_compare(struct pattern_rank a, struct pattern_rank b) {
	if (a.depth != b.depth) return a.depth > b.depth ? 1 : -1;
	if (a.precision != b.precision) return a.precision > b.precision ? 1 : -1;
	return 0;
}
