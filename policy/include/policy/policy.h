/*
 * policy: YAML files → what the layers say (design sections 4 and 5).
 *
 * Promises: loading is a pure function of the bytes; a file with errors yields no document and a list of
 * "file:line:column: what, and what was expected". A policy is immutable once assembled and counted by reference, so
 * a session keeps the one it was judged by until it is told of a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/pattern.h"
#include "schema/permission.h"
#include "schema/view.h"

/* In the order in which they are asked; an admin's denies come first, its allows and asks last. */
enum policy_layer { POLICY_LAYER_ADMIN, POLICY_LAYER_USER, POLICY_LAYER_PROJECT, POLICY_LAYER_BUILTIN };
enum { POLICY_LAYER_COUNT = POLICY_LAYER_BUILTIN + 1 };
const char *policy_layer_name(enum policy_layer layer); /* "admin", "user", "project", "built-in" */
int policy_layer_parse(const char *name, enum policy_layer *ret_layer, struct error *error);

struct policy_document; /* one parsed file */

/*
 * NULL (and the errors added to *errors, at most LIMIT_POLICY_ERRORS) when the text has any. `name` is what errors call
 * it. Its profiles may extend each other, the built-in ones and those of `others` (a project's any, for which are known
 * only when the policy is put together).
 */
struct policy_document *policy_load_among(struct policy_document *const *others, size_t other_count,
					  enum policy_layer layer, const char *name, const char *text, size_t size,
					  struct strings *errors);
struct policy_document *policy_load(enum policy_layer layer, const char *name, const char *text, size_t size,
				    struct strings *errors);
/* Documents are immutable and counted by reference: several policies share them. NULL is allowed. */
struct policy_document *policy_document_ref(struct policy_document *document);
void policy_document_unref(struct policy_document *document);

bool policy_document_has_profile(const struct policy_document *document, const char *name);

/*
 * What counts of a project's file that nobody has trusted: its deny rules, in profiles that other documents have. No
 * command picks a profile by it, and it is no reason for one to exist.
 */
struct policy_document *policy_document_untrusted(const struct policy_document *document);
/* The same for projects inside of the one whose file it is: ${project} stays `root`, the outer one (NULL: as written).
 */
struct policy_document *policy_document_enclosing(const struct policy_document *document, const char *root);
bool policy_document_needs_trust(const struct policy_document *document); /* it says more than that */
/* What it says, in sentences, for the one who is to trust it; visible text, profile by profile, denials last. */
void policy_document_describe(const struct policy_document *document, struct strings *lines);
/* In one line: how much of what, and of each permission the widest rule. Freed by the caller. */
char *policy_document_summary(const struct policy_document *document);

/*
 * What in it counts only when it is trusted, a line each of at most `columns`, the weightiest first; a text of the
 * file's is cut. `scope` is that of the project. Freed by policy_sayings_finish.
 */
enum policy_weight {
	POLICY_LIFTS,    /* what base keeps: keys, tokens, what is run outside the sandbox later */
	POLICY_IS_WIDE,  /* a whole home, any host, any program */
	POLICY_RUNS,     /* programs, services of the host */
	POLICY_CONNECTS, /* the network */
	POLICY_SETS,     /* variables, the home, which commands, whose rules */
	POLICY_WRITES,
	POLICY_READS, /* and all else */
};
enum { POLICY_WEIGHT_COUNT = POLICY_READS + 1 };
const char *policy_weight_name(enum policy_weight weight);

struct policy_saying {
	enum policy_weight weight;
	unsigned narrowness; /* of those of one weight the widest come first */
	size_t number;       /* then as they stand in the file */
	char *text;
};
struct policy_sayings {
	struct policy_saying *items;
	size_t count;
	size_t of_weight[POLICY_WEIGHT_COUNT];
	size_t denials; /* which count without being trusted, and aren't among them */
};
void policy_document_weigh(const struct policy_document *document, const struct pattern_scope *scope, size_t columns,
			   struct policy_sayings *ret_sayings);
void policy_sayings_finish(struct policy_sayings *sayings);
#define CLEANUP_POLICY_SAYINGS __attribute__((cleanup(policy_sayings_finish)))

/* The profiles that sbx brings along (policy/profiles); they always load. */
struct policy_document *policy_load_builtin(void);

struct policy;

/* Takes the references over (user's before built-in or not: their layer orders them, and within one the order given).
 */
struct policy *policy_new(struct policy_document **documents, size_t count);
/* Are they made of the very same documents? */
bool policy_equal(const struct policy *a, const struct policy *b);
struct policy *policy_ref(struct policy *policy);
void policy_unref(struct policy *policy);

/* Which profile a command (the name of its file) picks: the first layer whose profiles list it; "default" otherwise.
 * Borrowed. */
const char *policy_profile_of_command(const struct policy *policy, const char *name);
/* What a permission of the user's own is called, borrowed; NULL when no file declares it. */
const char *policy_description(const struct policy *policy, const char *permission);
/* All that files declare, added to *names; each once. */
void policy_permission_names(const struct policy *policy, struct strings *names);
/* -ENOENT with a sentence when it is one of the user's own that no file declares. */
int policy_check_permission(const struct policy *policy, const struct permission *permission, struct error *error);
/* Can a profile be called so? Then it is a name of a file, too, and none that is hidden. */
bool policy_is_profile_name(const char *name);
bool policy_has_profile(const struct policy *policy, const char *name);
void policy_profile_names(const struct policy *policy, struct strings *ret_names);
char *policy_profile_hint(const struct policy *policy, const char *name); /* "; did you mean \"npm\"?" or "" */

struct policy_prompt_settings {
	int64_t timeout_ms;  /* 60 s */
	int64_t lifetime_ms; /* 1 h */
	bool wait_without_agent;
};
struct policy_prompt_settings policy_prompt_settings(const struct policy *policy);
/* Hours of the day in which no prompt pops up, "22:00-07:00"; local time, from the first minute on, the last one not
 * any more; over midnight when the second is earlier. Borrowed. */
const struct strings *policy_quiet(const struct policy *policy);
int64_t policy_history_keep_ms(const struct policy *policy); /* 365 d */
const char *policy_upstream(const struct policy *policy);    /* "http://…", "none" or NULL; borrowed */

/* The lines of the stack in force, "requisite: rules" and so on, added to *texts. */
void policy_stack_texts(const struct policy *policy, struct strings *texts);

/* `sbx policy show`: the document as normal YAML-like text with the file and line of every rule. Freed by the caller.
 */
char *policy_show(const struct policy *policy);
