/*
 * option: a command's options as data: parsed, explained and completed from the same table.
 *
 * Promises: `--name value`, `--name=value` and `--` as usual, no abbreviations; an option that takes one value may be
 * given once; every error says what was expected and names the nearest known option. `PERM=TARGET` in one word and
 * `PERM TARGET` in two are the same wherever a permission is expected.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/permission.h"

enum option_kind {
	OPTION_FLAG,       /* bool */
	OPTION_TEXT,       /* const char *, borrowed from argv */
	OPTION_LIST,       /* struct strings: may be repeated */
	OPTION_DURATION,   /* int64_t, milliseconds; 0 = not given */
	OPTION_TIME,       /* int64_t, wall clock: RFC 3339, a local date or time, or a duration ago; 0 = not given */
	OPTION_NUMBER,     /* int64_t ≥ 1; 0 = not given */
	OPTION_PERMISSION, /* struct strings of "PERM=TARGET": one word or two; may be repeated */
};
enum { OPTION_KIND_COUNT = OPTION_PERMISSION + 1 };

struct option_info {
	const char *name; /* without the dashes */
	enum option_kind kind;
	const char *value; /* how help calls the value, which says what completes it (ui/completion/value.c); NULL for a
			      flag */
	const char *help;  /* with the default */
	size_t offset;     /* in the command's structure of values */
};

struct option_table {
	const struct option_info *options;
	size_t count;
	bool stop_at_operand; /* what follows the first operand is not ours (`sbx run npm --help`) */
};
#define OPTION_TABLE(array)                                                                                            \
	{ .options = (array), .count = ARRAY_LENGTH(array) }

/*
 * Parse argv (NULL-terminated, without the command's name). `values` is the structure that the offsets mean, zeroed;
 * operands are added to *operands as copies. Returns 1 when --help was given, 0, or -EINVAL.
 */
int options_parse(const struct option_table *table, char *const *argv, void *values, struct strings *operands,
		  struct error *error);
void options_finish(const struct option_table *table, void *values);

const struct option_info *option_find(const struct option_table *table, const char *name, size_t size); /* or NULL */
bool option_repeats(const struct option_info *option); /* may it be given again, with another value? */

/* At most one of the flags, texts and numbers named in `names` (separated by a space) may be given; -EINVAL. */
int options_exclusive(const struct option_table *table, const void *values, const char *names, struct error *error);

/* One operand "PERM=TARGET", or two. *ret_target is owned by `operands`. -EINVAL. */
int operands_permission(const struct strings *operands, struct permission *ret_permission, const char **ret_target,
			struct error *error);

/* An id (≥ 1), as the listings show it, also with a leading '#'. `what` is for the error: "prompt". */
int id_parse(const char *text, const char *what, int64_t *ret_id, struct error *error);
/* The operands as such, added to the array. */
int operands_ids(const struct strings *operands, const char *what, json_t *ids, struct error *error);
