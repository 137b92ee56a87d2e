/*
 * given: paths that calls of the sandbox were allowed by grants whose pattern alone names them. No view can list what a
 * pattern names, so each is judged by its path, as the matches in shown trees are (finds.h).
 *
 * Promises: the broker judges each once, and again after given_judge_again; what it doesn't give any more is forgotten.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "plan/judge.h"
#include "plan/rule.h"

/* Zero-initialise. */
struct given {
	struct strings paths;
	struct layout_mode *modes; /* of the first `judged` */
	size_t judged;
};

bool given_add(struct given *given, const char *path); /* false: LIMIT_GIVEN are known */
void given_judge_again(struct given *given);           /* before the next plan, all of them */

/* Adds the rules that show them. */
int given_rules(struct given *given, const struct layout_judge *judge, struct rules *rules, struct error *error);
void given_finish(struct given *given);
