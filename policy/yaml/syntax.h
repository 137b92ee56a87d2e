/*
 * syntax: a YAML syntax error, explained in the words of someone who writes a policy.
 *
 * Promises: one problem added; the traps that YAML sets for this file's values (*.x, [::1], ${…} in a list, tabs) are
 * told apart from other errors and say to quote.
 */
#pragma once

#include <stddef.h>
#include <yaml.h>

#include "problems.h"

void syntax_explain(const yaml_parser_t *parser, const char *text, size_t size, struct problems *problems);

/* A byte offset of the text as a place. */
struct place syntax_place(const char *text, size_t size, size_t offset);
