/*
 * promptly: does what may wait for a tool (its memory, its command line), and waits for it PROMPTLY_MS and no longer;
 * for a thread that only has no processor up to a second.
 *
 * Promises: work that isn't done by then is given up: its thread finishes alone and drops it. With PROMPTLY_MAX
 * threads that are stuck all else is given up at once. Signals stay with the caller's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"

enum { PROMPTLY_MS = 20, PROMPTLY_MAX = 4 };

struct promptly;

struct promptly *promptly_new(void);
void promptly_free(struct promptly *promptly); /* doesn't wait either */
DEFINE_CLEANUP(struct promptly *, promptly_free);

/* Runs run(work) in another thread. True: it is done, and `work` the caller's. False: `work` belongs to that thread,
 * which calls drop(work), or was dropped. `promptly` NULL: it is run here. */
bool promptly_do(struct promptly *promptly, void (*run)(void *work), void (*drop)(void *work), void *work);
