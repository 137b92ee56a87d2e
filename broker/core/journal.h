/*
 * journal: lines for the system's log, where the user's own files don't reach: systemd's journal with fields of their
 * own (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/), else syslog (RFC 3164, as syslog(3) writes it).
 *
 * Promises: never waits: a line that the log doesn't take at once is lost, and the caller is told. Connects anew for
 * each line (there are few), so that a log that was started again is found.
 */
#pragma once

#include <stddef.h>

enum journal_place { JOURNAL_NOWHERE, JOURNAL_SYSLOG, JOURNAL_NATIVE };

/* Sockets, of datagrams. Borrowed. */
struct journal_sockets {
	const char *native; /* /run/systemd/journal/socket */
	const char *syslog; /* /dev/log */
};

struct journal_field {
	const char *name, *value; /* without line feeds */
};

/* Where the line went. `message` is for people, the fields are for programs; syslog gets the message alone. */
enum journal_place journal_write(const struct journal_sockets *sockets, const char *message,
				 const struct journal_field *fields, size_t count);
