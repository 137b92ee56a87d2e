/*
 * agent: `sbx-notify` at work: the broker's prompts on the desktop, and the user's answers back (docs/protocol.md).
 *
 * Promises: it registers only where there is a notification server, so that where there is none nobody waits for an
 * answer that can't come; it says when the desktop can't be relied on, and the terminals ask then; it ends when nothing
 * has run for a while, or server, bus or broker stay away, so that it keeps no broker alive.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct agent_options {
	int64_t idle_ms; /* without a sandbox, until it ends */
	bool stay;       /* it never ends by itself */
	int waiting; /* closed when prompts reach it, or none will: who started it waits for that; -1: nobody does */
};

int agent_run(const struct agent_options *options, struct error *error);
