/*
 * rules: what the rules of a policy say of a suggestion, and what it would change in them.
 *
 * Promises: pure; the rules are only read. A suggestion that lifts one of base's masks or sensitive places, that a rule
 * with `confirm: terminal` asks about, or that a rule decides otherwise by now, becomes a note. Nothing is decided
 * here: whoever pastes the text has it judged by the broker.
 */
#pragma once

#include "policy/ruleset.h"
#include "suggest/suggest.h"

/* `ruleset` is of the suggestion's profile and project, without what is suggested. */
void suggest_judge(struct suggest *suggest, size_t index, const struct ruleset *ruleset);

/* The same with a grant that denies, which a rule doesn't beat but outlives: its denial is repeated, too. */
void suggest_judge_grant(struct suggest *suggest, const struct grant *grant);
