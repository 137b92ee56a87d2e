/*
 * exec_wire: what sbxd and its executor say to each other: one datagram of their socket pair each.
 *
 * Both are the same program, so these are structures and not a format; still neither believes a size.
 */
#pragma once

#include <stdint.h>

#include "schema/limits.h"

/* Run this: then come the words of the command, each with its NUL, and what the program reads. Without words: end the
 * run of that id. */
struct exec_order {
	uint64_t id;
	uint32_t timeout_ms, words, command_size, input_size;
};

enum exec_outcome {
	EXEC_ENDED,     /* number: the exit status */
	EXEC_KILLED,    /* number: the signal */
	EXEC_TIMED_OUT, /* number: nothing, as with the rest */
	EXEC_TOO_LONG,  /* its output is over the limit */
	EXEC_REFUSED,   /* not run; the errors say why */
	EXEC_CANCELLED,
};

/* Then come what it has written to stdout and to stderr. */
struct exec_report {
	uint64_t id;
	uint32_t outcome;
	int32_t number;
	uint32_t output_size, errors_size;
};

enum {
	EXEC_ORDER_MAX = sizeof(struct exec_order) + LIMIT_EXEC_COMMAND + LIMIT_EXEC_INPUT,
	EXEC_REPORT_MAX = sizeof(struct exec_report) + LIMIT_EXEC_OUTPUT + LIMIT_EXEC_ERRORS,
};
