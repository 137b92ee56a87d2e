#include "ui/nearest.h"

#include <string.h>

/* Optimal string alignment distance. */
static size_t word_distance(const char *a, const char *b) {
	size_t a_size = strlen(a), b_size = strlen(b);
	size_t rows[NEAREST_WORD_MAX + 1][NEAREST_WORD_MAX + 1];
	for (size_t i = 0; i <= a_size; i++) rows[i][0] = i;
	for (size_t j = 0; j <= b_size; j++) rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		for (size_t j = 1; j <= b_size; j++) {
			size_t least = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (rows[i - 1][j] + 1 < least) least = rows[i - 1][j] + 1;
			if (rows[i][j - 1] + 1 < least) least = rows[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    rows[i - 2][j - 2] + 1 < least)
				least = rows[i - 2][j - 2] + 1;
			rows[i][j] = least;
		}
	}
	return rows[a_size][b_size];
}

struct nearest nearest_start(const char *word) {
	size_t size = strlen(word), allowed = size / 3 > 0 ? size / 3 : 1;
	return (struct nearest){.word = word, .distance = allowed + 1};
}

void nearest_offer(struct nearest *nearest, const char *candidate) {
	size_t size = strlen(nearest->word);
	if (size == 0 || size > NEAREST_WORD_MAX || strlen(candidate) > NEAREST_WORD_MAX) return;
	size_t distance = word_distance(nearest->word, candidate);
	if (distance >= nearest->distance || distance >= size) return;
	nearest->distance = distance;
	nearest->found = candidate;
}

const char *nearest_found(const struct nearest *nearest) {
	return nearest->found;
}
