/*
 * describe: the words for what a project's file says (describe.c), for whoever puts them into another order (weigh.c).
 */
#pragma once

#include "document.h"

/* A text of the file's, visible, with each space of a run marked: what it draws is its own line alone. `columns`: at
 * most as many, 0 for all. Freed by the caller, as are the next two. */
char *describe_text(const char *text, size_t columns);
/* "may write to ~/x (line 7)" of at most so many columns, as far as there is room for its target; 0 for all. */
char *describe_rule(const struct rule_text *rule, size_t columns);

/* Which commands, whose rules, variables, limits and so on, a line each. */
void describe_settings(struct strings *lines, const struct profile *profile);

/* The less the wider: how many parts a target names, what lies in the project last. A rough order for the eye alone. */
unsigned describe_narrowness(const struct rule_text *rule);
