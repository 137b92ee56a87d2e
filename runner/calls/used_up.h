/*
 * used_up: what is said when the kernel refuses because something is used up that it counts by user or in all.
 *
 * Promises: the sentence names what is used up, where its limit stands, and what can be done.
 */
#pragma once

#include "base/error.h"

/* NULL: a complaint of bwrap's, or of strerror(3), that has another cause. */
const char *used_up_sentence(const char *complaint);

/* "WHAT: " and the sentence, or what error_errno would say. Returns -errno. */
int used_up_errno(struct error *error, const char *what);
