/*
 * thread: a thread that nobody waits for.
 *
 * Promises: all signals are blocked in it, so that they stay with the thread that has a loop for them; what it leaves
 * behind goes when it returns (pthread_detach(3)). Memory that it shares with others needs a count of its users,
 * since none of them waits for the thread.
 */
#pragma once

#include <stddef.h>

/* `stack` in bytes, a multiple of a page. 0, or -errno: none could be started. */
int thread_start(size_t stack, void *(*run)(void *argument), void *argument);
