/*
 * migrations: the steps that lead an sbx database from nothing to the newest form (design section 6).
 *
 * Promises: a step is never changed once released, only followed by another; versions count up by one from 1 and
 * are what PRAGMA user_version says after the step. A program that meets a higher version than its own refuses.
 */
#pragma once

#include <stddef.h>

struct migration {
	int version;
	const char *sql;
};

/* In order; the last one's version is the newest. Static. */
const struct migration *migrations(size_t *ret_count);
int migrations_newest(void);
