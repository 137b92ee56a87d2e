/*
 * notify_start: `sbx run` starts the desktop agent where there is a desktop.
 *
 * Promises: never waits for it, and never fails: without an agent the terminal asks. SBX_NO_NOTIFY (anything but empty
 * or 0) keeps it away.
 */
#pragma once

void notify_start(void);
