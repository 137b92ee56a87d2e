/*
 * policy_parts: what the other files of this room see of a policy.
 */
#pragma once

#include "document.h"
#include "stack_line.h"

struct policy_document *const *policy_documents(const struct policy *policy, size_t *ret_count); /* borrowed */
const struct stack_line *policy_stack(const struct policy *policy, size_t *ret_count);           /* borrowed */

/* In double quotes, as YAML reads it back. The text has come through YAML, so it is UTF-8. */
void policy_append_quoted(struct string *out, const char *text);
