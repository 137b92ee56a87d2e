/*
 * session_terminate: a sandbox is ended by its runner, and both are killed when the runner doesn't.
 */
#pragma once

#include <sys/types.h>

struct session;

/* Tell the runner to end the sandbox; kill both when it doesn't. */
void session_terminate(struct session *session);
void session_end_runner(pid_t runner, int pidfd);
