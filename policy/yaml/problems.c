#include "problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/limits.h"

bool problems_are_full(const struct problems *problems) {
	return problems->count >= LIMIT_POLICY_ERRORS;
}

void problems_add(struct problems *problems, struct place place, const char *format, ...) {
	problems->total++;
	if (problems_are_full(problems)) return;
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0) mem_exhausted();
	va_end(arguments);
	problems->items = array_grow(problems->items, problems->count, sizeof *problems->items);
	problems->items[problems->count++] = (struct problem){place, text};
}

static int compare_places(struct place a, struct place b) {
	if (a.line != b.line) return a.line < b.line ? -1 : 1;
	return a.column < b.column ? -1 : a.column > b.column;
}

/* By insertion: a handful, nearly in order, and equal places keep theirs. */
static void problems_sort(struct problems *problems) {
	for (size_t i = 1; i < problems->count; i++) {
		struct problem problem = problems->items[i];
		size_t k = i;
		for (; k > 0 && compare_places(problem.place, problems->items[k - 1].place) < 0; k--)
			problems->items[k] = problems->items[k - 1];
		problems->items[k] = problem;
	}
}

void problems_finish(struct problems *problems, struct strings *errors) {
	problems_sort(problems);
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *problem = &problems->items[i];
		if (errors)
			strings_addf(errors, "%s:%u:%u: %s", problems->file, problem->place.line, problem->place.column,
				     problem->text);
		free(problem->text);
	}
	free(problems->items);
	*problems = (struct problems){.file = problems->file};
}
