/*
 * error: what went wrong, as a sentence a user can act on.
 *
 * Promises: a function that can fail takes a `struct error *` last (NULL where nobody will read it) and
 * returns a negative errno on failure; only then is the error filled. The text is built from the inside out:
 * the place that sees the fault says what and why, callers put their context in front
 * ("loading policy: ~/.config/sbx/policy.yaml:12:5: …").
 * A function either returns an error or logs it, never both.
 */
#pragma once

#include <stddef.h>

enum { ERROR_MESSAGE_MAX = 1024 };

struct error {
	int code; /* positive errno; 0 = none */
	char message[ERROR_MESSAGE_MAX];
};

#define ERROR_NONE ((struct error){0})

/* Fill `error` (NULL is allowed) and return -code. A longer message is cut. */
int error_set(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with errno for the code, and ": " strerror(errno) after the text. Never returns 0. */
int error_errno(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put context in front ("context: message") and return -error->code (-EIO when error is NULL or empty). */
int error_prefix(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All three return something negative: said so that compilers and analysers know that what they guard is set. */
static inline int error_negative(int code) {
	if (code >= 0) __builtin_unreachable();
	return code;
}
#define error_set(...)    error_negative(error_set(__VA_ARGS__))
#define error_errno(...)  error_negative(error_errno(__VA_ARGS__))
#define error_prefix(...) error_negative(error_prefix(__VA_ARGS__))
