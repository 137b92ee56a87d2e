/*
 * other_names: the hard links of files that rules mask or hide, which would be a way round.
 *
 * Promises: nothing is looked for when no such file has another name; bounded, shallow folders first; follows no link.
 * Names that lie elsewhere or deeper are left: the plan says which files those may be (plan.h, `shared`).
 */
#pragma once

#include "plan/rule.h"

/* For each name below `root` of a file that a rule masks or hides, adds that rule for the name to `ret_rules`. */
void other_names_find(const char *root, const struct rules *rules, struct rules *ret_rules);
