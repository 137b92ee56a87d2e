/*
 * "PERMISSION\nPATTERN\nTARGET": compiled and matched, against a plain reading of design section 4 that takes its time.
 * What else must hold: the normal text means the same, a stored pattern is found by the target's keys, a walk that
 * looks for matches goes down to where one lies, and all of it takes time bounded by pattern × target (attack F16).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "fuzz.h"
#include "schema/host.h"
#include "schema/target.h"
#include "store/grant_key.h"

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/[app]", .uid = 1000};

/* Wildcards within a name, element by element, every way tried. */

enum { TEXT_MAX = 96, NAMES_MAX = 24, PATIENCE_MS = 2000 };

static size_t character(const char *text, size_t size) {
	size_t length = 1;
	if (((unsigned char)*text & 0xc0) != 0xc0) return 1;
	while (length < size && length < 4 && ((unsigned char)text[length] & 0xc0) == 0x80) length++;
	return length;
}

static int compare(const char *a, size_t a_size, const char *b, size_t b_size) {
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
	return order != 0 ? order : a_size < b_size ? -1 : a_size > b_size;
}

/* What the set at *pattern says of the character at text; its size in the pattern, 0 when it has no end before a slash.
 */
static size_t in_set(const char *pattern, size_t size, const char *text, size_t text_size, bool *ret_in) {
	size_t i = 1, first, length = character(text, text_size);
	const char *slash = memchr(pattern, '/', size);
	if (slash) size = (size_t)(slash - pattern);
	bool not = i < size && (pattern[i] == '!' || pattern[i] == '^'), found = false;
	if (not ) i++;
	for (first = i; i < size && (pattern[i] != ']' || i == first);) {
		if (pattern[i] == '\\' && i + 1 < size) i++;
		const char *low = pattern + i, *high = low;
		size_t low_size = character(low, size - i), high_size = low_size;
		i += low_size;
		if (i + 1 < size && pattern[i] == '-' && pattern[i + 1] != ']') {
			high = pattern + i + 1;
			high_size = character(high, size - i - 1);
			i += 1 + high_size;
		}
		if (compare(text, length, low, low_size) >= 0 && compare(text, length, high, high_size) <= 0)
			found = true;
	}
	*ret_in = found != not ;
	return i < size ? i + 1 : 0;
}

static bool plain_glob(const char *pattern, size_t pattern_size, const char *text, size_t text_size) {
	static bool fits[TEXT_MAX * 4 + 2][TEXT_MAX * 4 + 2];
	memset(fits, 0, sizeof fits);
	fits[pattern_size][text_size] = true;
	for (size_t p = pattern_size; p-- > 0;) {
		for (size_t t = text_size + 1; t-- > 0;) {
			size_t left = text_size - t, step = left > 0 ? character(text + t, left) : 0, set = 0;
			bool in = false;
			if (left > 0 && pattern[p] == '[')
				set = in_set(pattern + p, pattern_size - p, text + t, left, &in);
			if (pattern[p] == '*')
				fits[p][t] = fits[p + 1][t] || (left > 0 && fits[p][t + step]);
			else if (left == 0)
				continue;
			else if (pattern[p] == '?')
				fits[p][t] = fits[p + 1][t + step];
			else if (set > 0)
				fits[p][t] = in && fits[p + set][t + step];
			else if (pattern[p] == '\\' && p + 1 < pattern_size)
				fits[p][t] = pattern[p + 1] == text[t] && fits[p + 2][t + 1];
			else
				fits[p][t] = pattern[p] == text[t] && fits[p + 1][t + 1];
		}
	}
	return fits[0][0];
}

/* Paths: every leading part of the target, every length of every `**`. */

struct names {
	const char *at[NAMES_MAX];
	size_t size[NAMES_MAX], count;
};

static bool split(const char *path, struct names *names) {
	names->count = 0;
	for (; *path; path += strspn(path, "/")) {
		size_t size = strcspn(path, "/");
		if (size > 0 && names->count == NAMES_MAX) return false;
		if (size > TEXT_MAX) return false;
		if (size > 0) names->at[names->count] = path, names->size[names->count++] = size;
		path += size;
	}
	return true;
}

static bool plain_names(const struct names *pattern, size_t p, const struct names *target, size_t t, size_t end) {
	if (p == pattern->count) return t == end;
	if (pattern->size[p] == 2 && memcmp(pattern->at[p], "**", 2) == 0) {
		for (size_t k = t; k <= end; k++)
			if (plain_names(pattern, p + 1, target, k, end)) return true;
		return false;
	}
	return t < end && plain_glob(pattern->at[p], pattern->size[p], target->at[t], target->size[t]) &&
	       plain_names(pattern, p + 1, target, t + 1, end);
}

/* -1: not covered; else where the match ends. -2: too much to try every way. */
static long plain_path(const char *pattern, const char *target, bool whole) {
	struct names names, of_target;
	size_t stars = 0;
	if (!split(pattern, &names) || !split(target, &of_target)) return -2;
	for (size_t i = 0; i < names.count; i++) stars += names.size[i] == 2 && memcmp(names.at[i], "**", 2) == 0;
	if (stars > 4) return -2;
	for (size_t end = of_target.count + 1; end-- > 0;) {
		if (plain_names(&names, 0, &of_target, 0, end)) return (long)end;
		if (whole) return -1;
	}
	return -1;
}

static bool starts_at_root(const struct pattern *pattern) {
	return *pattern_text(pattern) == '/';
}

/* 1, 0, or -1 where the plain reading has no say. */
static int expected(const struct permission *permission, const struct pattern *pattern, const char *target,
		    const struct pattern_rank *rank, bool matches) {
	const char *text = pattern_text(pattern);
	switch (permission->kind) {
	case PERMISSION_FS_READ:
	case PERMISSION_FS_WRITE:
	case PERMISSION_FS_LINK:
	case PERMISSION_PROC_SPAWN:
	case PERMISSION_IPC_CONNECT: {
		if (!starts_at_root(pattern)) return 1; /* proc:spawn "*" */
		long end = plain_path(text, target, permission->kind == PERMISSION_IPC_CONNECT);
		if (end == -2) return -1;
		if (matches && end >= 0) demand((long)rank->depth == end, "%s covers %s to %ld", text, target, end);
		return end >= 0;
	}
	case PERMISSION_ENV_READ:
	case PERMISSION_CUSTOM:
		if (strlen(text) > TEXT_MAX * 4 || strlen(target) > TEXT_MAX * 4) return -1;
		return plain_glob(text, strlen(text), target, strlen(target));
	case PERMISSION_NET_ACCESS:
	case PERMISSION_NET_LISTEN:
		break;
	}
	return -1;
}

static void check_again(const struct permission *permission, const struct pattern *pattern, const char *target,
			bool matches, struct pattern_rank rank) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *again = NULL;
	struct pattern_rank other = {0};
	struct error error = ERROR_NONE;
	const char *text = pattern_text(pattern);
	demand(pattern_compile(permission, text, &nothing, &again, &error) == 0 || error.code == ENAMETOOLONG ||
		       error.code == E2BIG,
	       "the normal text '%s' is refused: %s", text, error.message);
	if (!again) return;
	demand(strcmp(pattern_text(again), text) == 0, "'%s' becomes '%s'", text, pattern_text(again));
	demand(pattern_match(again, target, &other) == matches, "'%s' means something else, compiled again", text);
	demand(!matches || pattern_rank_compare(rank, other) == 0, "'%s' is as close as before", text);
}

static void check_keys(const struct permission *permission, const struct pattern *pattern, const char *target) {
	struct grant_networks networks = {0};
	CLEANUP_STRINGS struct strings keys = {0};
	CLEANUP_FREE char *key = grant_key_of_pattern(permission, pattern);
	grant_networks_add(&networks, key);
	grant_keys_of_target(permission, target, &networks, &keys);
	demand(strings_contain(&keys, key), "'%s' covers %s, which isn't looked up by '%s'", pattern_text(pattern),
	       target, key);
}

static void check_walk(const struct permission *permission, const struct pattern *pattern, const char *target,
		       size_t depth) {
	if (permission->kind != PERMISSION_FS_READ && permission->kind != PERMISSION_FS_WRITE) return;
	CLEANUP_FREE char *folder = string_copy(target);
	for (size_t at = path_depth(folder); at > 0; at--) {
		char *parent = path_parent(folder);
		free(folder);
		folder = parent;
		if (at <= depth)
			demand(pattern_may_match_below(pattern, folder), "the walk for %s stops at %s before %s",
			       pattern_text(pattern), folder, target);
	}
}

static void check(const struct permission *permission, const struct pattern *pattern, const char *target) {
	struct pattern_rank rank = {0};
	bool matches = pattern_match(pattern, target, &rank);
	int plain = expected(permission, pattern, target, &rank, matches);
	demand(plain < 0 || plain == matches, "%s '%s' and '%s'", permission->name, pattern_text(pattern), target);
	check_again(permission, pattern, target, matches, rank);
	if (!matches) return;
	check_keys(permission, pattern, target);
	check_walk(permission, pattern, target, rank.depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct permission permission;
	CLEANUP_FREE char *word = fuzz_line(&data, &size);
	CLEANUP_FREE char *text = fuzz_line(&data, &size);
	CLEANUP_FREE char *wanted = fuzz_line(&data, &size);
	CLEANUP_FREE char *target = NULL;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	struct timespec start, end;
	struct error error = ERROR_NONE;
	if (permission_parse(word, &permission, NULL) < 0) return 0;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	if (pattern_compile(&permission, text, &scope, &pattern, &error) < 0) {
		demand(*error.message, "refused without a word");
		return 0;
	}
	if (target_parse(&permission, wanted, "/home/u", "/home/u", &target, NULL) < 0) return 0;
	pattern_match(pattern, target, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	demand((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000 < PATIENCE_MS,
	       "it took too long");
	check(&permission, pattern, target);
	return 0;
}
