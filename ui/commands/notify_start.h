/*
 * notify_start: `sbx run` starts the desktop agent where there is a desktop.
 *
 * Promises: never waits for it, and never fails: without an agent the terminal asks. SBX_NO_NOTIFY (anything but empty
 * or 0) keeps it away.
 */
#pragma once

/* What notify_await waits for: a descriptor, the caller's; -1: no agent was started. */
int notify_start(void);

/*
 * Until that agent can show prompts or has found that it can't, at most LIMIT_AGENT_MS: for a run without a terminal,
 * whose first question else comes to nobody. Starts the broker, which the agent is waiting for.
 */
void notify_await(int agent);
