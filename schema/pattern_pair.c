/*
 * Theory of operation. Paths are sequences of names, names and texts are sequences of characters, and in both a star
 * stands for any number of elements. Whether two such sequences can be equal is found by walking both at once: a pair
 * of positions can be reached when what lies before them can be equal, a star lets the other side go on, and the ends
 * must be reached together. That is at most elements × elements steps, whatever the stars.
 */
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "pattern_parts.h"

/* One side: a path's names, or a text's characters. */
struct sequence {
	const char **starts;
	size_t *sizes;
	size_t count;
	bool subtree; /* a star at the end, behind the last element */
};

static void sequence_finish(struct sequence *sequence) {
	free(sequence->starts);
	free(sequence->sizes);
}

static void sequence_add(struct sequence *sequence, const char *start, size_t size) {
	sequence->starts = array_grow(sequence->starts, sequence->count, sizeof *sequence->starts);
	sequence->sizes = array_grow(sequence->sizes, sequence->count, sizeof *sequence->sizes);
	sequence->starts[sequence->count] = start;
	sequence->sizes[sequence->count++] = size;
}

static size_t sequence_length(const struct sequence *sequence) {
	return sequence->count + (sequence->subtree ? 1 : 0);
}

static bool is_star(const struct sequence *sequence, size_t i, const char *star) {
	if (i == sequence->count) return sequence->subtree;
	return sequence->sizes[i] == strlen(star) && memcmp(sequence->starts[i], star, sequence->sizes[i]) == 0;
}

typedef bool elements_meet(const char *a, size_t a_size, const char *b, size_t b_size);

/* One element of a against all of b: `now` holds the positions in b that can be reached before it, `next` behind it. */
static void walk_element(const struct sequence *a, size_t i, const struct sequence *b, const char *star,
			 elements_meet *meet, bool *now, bool *next) {
	const size_t a_count = sequence_length(a), b_count = sequence_length(b);
	const bool a_left = i < a_count, a_star = a_left && is_star(a, i, star);
	memset(next, 0, (b_count + 1) * sizeof *next);
	for (size_t k = 0; k <= b_count; k++) {
		if (!now[k]) continue;
		const bool b_left = k < b_count, b_star = b_left && is_star(b, k, star);
		if (b_left && (a_star || b_star)) now[k + 1] = true;
		if (a_left && (a_star || b_star)) next[k] = true;
		if (a_left && b_left && !a_star && !b_star && !next[k + 1])
			next[k + 1] = meet(a->starts[i], a->sizes[i], b->starts[k], b->sizes[k]);
	}
}

static bool sequences_meet(const struct sequence *a, const struct sequence *b, const char *star, elements_meet *meet) {
	const size_t a_count = sequence_length(a), b_count = sequence_length(b);
	CLEANUP_FREE bool *now = mem_array(bool, b_count + 1);
	CLEANUP_FREE bool *next = mem_array(bool, b_count + 1);
	memset(now, 0, (b_count + 1) * sizeof *now);
	now[0] = true;
	for (size_t i = 0; i < a_count; i++) {
		walk_element(a, i, b, star, meet, now, next);
		memcpy(now, next, (b_count + 1) * sizeof *now);
	}
	walk_element(a, a_count, b, star, meet, now, next);
	return now[b_count];
}

/* Characters of a name or text: a star, `?`, a set, or one that stands for itself. */

static void split_characters(const char *text, size_t size, struct sequence *sequence) {
	for (size_t i = 0; i < size;) {
		size_t taken = glob_step(text + i, size - i);
		sequence_add(sequence, text + i, taken);
		i += taken;
	}
}

static bool characters_meet(const char *a, size_t a_size, const char *b, size_t b_size) {
	const bool b_wild = glob_step_is_wild(b, b_size);
	if (glob_step_is_wild(a, a_size) && b_wild) return true;
	const char *pattern = b_wild ? b : a, *text = b_wild ? a : b;
	const size_t pattern_size = b_wild ? b_size : a_size, text_size = b_wild ? a_size : b_size;
	const size_t skipped = *text == '\\' && text_size > 1 ? 1 : 0;
	return glob_match(pattern, pattern_size, text + skipped, text_size - skipped);
}

static bool texts_meet(const char *a, size_t a_size, const char *b, size_t b_size) {
	CLEANUP(sequence_finish) struct sequence left = {0}, right = {0};
	if (a_size == b_size && memcmp(a, b, a_size) == 0) return true;
	split_characters(a, a_size, &left);
	split_characters(b, b_size, &right);
	return sequences_meet(&left, &right, "*", characters_meet);
}

/* Paths */

static void split_path(const struct pattern *pattern, struct sequence *sequence) {
	for (const char *p = pattern->text; *p;) {
		size_t size = strcspn(p, "/");
		if (size > 0) sequence_add(sequence, p, size);
		p += size + (p[size] == '/' ? 1 : 0);
	}
	sequence->subtree = pattern->form == FORM_TREE;
}

/* `nc`: a file in any folder. That something called so may be a folder, with another program in it, isn't meant. */
static bool is_bare_program(const struct pattern *pattern) {
	return pattern->permission.kind == PERMISSION_PROC_SPAWN && string_starts(pattern->text, "/**/");
}

static bool paths_meet(const struct pattern *a, const struct pattern *b) {
	CLEANUP(sequence_finish) struct sequence left = {0}, right = {0};
	split_path(a, &left);
	split_path(b, &right);
	if (is_bare_program(a) && is_bare_program(b)) left.subtree = right.subtree = false;
	return sequences_meet(&left, &right, "**", texts_meet);
}

/* Everything below a literal path has a text that begins with its text. */
static bool path_covers(const struct pattern *a, const struct pattern *b) {
	return a->form == FORM_TREE && a->target && string_starts(b->text, a->text) &&
	       (strcmp(a->text, "/") == 0 || strchr("/", b->text[strlen(a->text)]));
}

/* Ports */

static unsigned last_port(struct port_range range) {
	return range.first == 0 ? UINT16_MAX : range.last;
}

static bool ports_meet(struct port_range a, struct port_range b) {
	return a.first <= last_port(b) && b.first <= last_port(a);
}

static bool ports_cover(struct port_range a, struct port_range b) {
	return a.first == 0 || (b.first != 0 && a.first <= b.first && b.last <= a.last);
}

bool pattern_overlaps(const struct pattern *a, const struct pattern *b) {
	if (a->form != b->form) return false;
	if (a->everything || b->everything) return true;
	switch (a->form) {
	case FORM_TREE:
	case FORM_PATH:
		return paths_meet(a, b);
	case FORM_NET:
		return net_pattern_meets_host(&a->net, &b->net) && ports_meet(a->net.ports, b->net.ports);
	case FORM_PORT:
		return ports_meet(a->ports, b->ports);
	case FORM_VARIABLE:
	case FORM_TEXT:
		break;
	}
	return texts_meet(a->text, strlen(a->text), b->text, strlen(b->text));
}

bool pattern_covers(const struct pattern *a, const struct pattern *b) {
	if (a->form != b->form) return false;
	if (a->everything || strcmp(a->text, b->text) == 0) return true;
	if (b->everything) return false;
	switch (a->form) {
	case FORM_TREE:
	case FORM_PATH:
		return (b->target && pattern_match(a, b->target, NULL)) || path_covers(a, b);
	case FORM_NET:
		return net_pattern_covers_host(&a->net, &b->net) && ports_cover(a->net.ports, b->net.ports);
	case FORM_PORT:
		return ports_cover(a->ports, b->ports);
	case FORM_VARIABLE:
	case FORM_TEXT:
		break;
	}
	return strcmp(a->text, "*") == 0 || (b->target && pattern_match(a, b->target, NULL));
}

bool pattern_restricts_all(const struct pattern *a, const struct pattern *b) {
	if (a->form != FORM_NET || b->form != FORM_NET) return pattern_covers(a, b);
	return net_pattern_restricts_hosts(&a->net, &b->net) && ports_cover(a->net.ports, b->net.ports);
}
