/*
 * stack_line: the lines of a decision stack as a policy file writes them (design section 4).
 */
#pragma once

#include "base/string.h"
#include "keys.h"
#include "policy/stack.h"

enum stack_module { STACK_PROTECT, STACK_FLOOD, STACK_RULES, STACK_GRANTS, STACK_ASK, STACK_EXEC };
enum { STACK_MODULE_COUNT = STACK_EXEC + 1 };
enum stack_control { STACK_ANY, STACK_REQUISITE, STACK_SUFFICIENT };

struct stack_line {
	enum stack_control control;
	enum stack_module module;
	struct stack_exec *exec; /* of STACK_EXEC; owned */
};

const char *stack_module_name(enum stack_module module);
const char *stack_control_name(enum stack_control control); /* "" for STACK_ANY */

/* "requisite: rules", "requisite: {exec: ["/usr/bin/x"], timeout: 2s}": as YAML. Freed by the caller. */
char *stack_line_text(const struct stack_line *line);
void stack_line_finish(struct stack_line *line);

/* The key `stack` of a policy file. */
void stack_lines_read(struct reader *reader, const struct node *value);
