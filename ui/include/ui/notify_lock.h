/*
 * notify_lock: one desktop agent a user (sbx-notify).
 *
 * Promises: looking takes no lock, so that who looks never keeps an agent from starting. The file lies beside the
 * broker's socket; its lock ends with the process that holds it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* `sbx-notify --ready` closes it when prompts reach it, or none will. */
enum { NOTIFY_READY_FD = 3 };

/* Take it, for as long as the process lives: its descriptor. -EBUSY: there is an agent. */
int notify_lock_take(struct error *error);
bool notify_lock_is_taken(void);
