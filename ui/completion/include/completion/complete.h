/*
 * complete: what may stand where the cursor is, for the shells' completion (`sbx complete`; the scripts in
 * ui/completion are its callers).
 *
 * Theory: nothing says separately how a command is completed. Its options and operands are walked as option.c parses
 * them, and the word that help calls a value by (PROFILE, GRANT, PERM=TARGET, allow|deny) says what completes it.
 *
 * Output: a line for each candidate, "WORD" or "WORD\tDESCRIPTION", where WORD is the whole of what is being typed; and
 * a line ":WHAT" for what the shell knows better: files, directories, programs, variables, users, or "command N": from
 * the Nth word on (of those after "sbx", the first is 0) it is another command's line.
 *
 * Promises: a candidate is offered only when it can be shown as it is (attacks B9, F14), a description is visible text;
 * no broker is started, and no error is told: what isn't to be had is left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/string.h"
#include "schema/permission.h"
#include "ui/command.h"

struct completion {
	const char *word;        /* what is being typed; borrowed */
	const char *typed;       /* the part of it that is the value's beginning: behind "--name=" or "PERM=" */
	const char *permission;  /* what a TARGET is a target of; or NULL */
	const char *profile;     /* that an option before it names; or NULL */
	struct strings operands; /* those before it */
	size_t offered;          /* candidates, at most LIMIT_COMPLETIONS */
	FILE *out;
};

/* `words` are those after "sbx"; the last one is being typed and may be "". `commands`: as command_main has them. */
void complete_words(const struct command *const *commands, char *const *words, size_t count, FILE *out);

/* Of what help calls a value by. */
void complete_value(struct completion *completion, const char *name);
bool complete_knows(const char *name); /* is it in the table? */

/* Offers a word if it begins as what is typed; `description` (any bytes) or NULL. */
void complete_offer(struct completion *completion, const char *value, const char *description);

/* What is in force, waits or runs now, as a broker tells it that runs already (live.c). */
void complete_profiles(struct completion *completion);
void complete_kept(struct completion *completion); /* names in a profile's own home */
void complete_permissions(struct completion *completion);
void complete_grants(struct completion *completion);
void complete_prompts(struct completion *completion);
void complete_scopes(struct completion *completion); /* of the prompt among the operands */
void complete_sessions(struct completion *completion);
void complete_sessions_ever(struct completion *completion);

/* The scripts that make a shell call `sbx complete` (scripts.S). */
extern const char script_bash[], script_zsh[], script_fish[];
