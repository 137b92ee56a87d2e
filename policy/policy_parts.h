/*
 * policy_parts: what the other files of this room see of a policy.
 */
#pragma once

#include "document.h"

struct policy_document *const *policy_documents(const struct policy *policy, size_t *ret_count); /* borrowed */
const struct stack_line *policy_stack(const struct policy *policy, size_t *ret_count);           /* borrowed */
