/*
 * curtain_host: what the host has at a path, by looking, never by opening what is there.
 *
 * Promises: no link is followed, in no part of a path; what is local is looked at here and now, what may be far away (a
 * network, another FUSE server) by one thread, and given up after LIMIT_LOOK_MS with -EIO, so that a server
 * that hangs holds up nobody. Bounded: LIMIT_LISTING names of a folder.
 */
#pragma once

#include <event2/event.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/string.h"

struct host_names {
	struct string text; /* each name with its NUL, behind a byte with its type (DT_…) */
	size_t *starts;     /* of each in `text` */
	size_t count;
};
void host_names_finish(struct host_names *names);

/* code is 0 or negative errno; `status` and `names` are NULL unless they were asked for and are there. What is in
 * `names` may be stolen. */
typedef void host_done(void *argument, int code, const struct stat *status, struct host_names *names);

struct host;

struct host *host_new(struct event_base *base);
void host_free(struct host *host); /* what is still asked is not answered */
DEFINE_CLEANUP(struct host *, host_free);

/* done() is called once, before these return where that takes no time. */
void host_look(struct host *host, const char *path, host_done *done, void *argument);
void host_list(struct host *host, const char *path, host_done *done, void *argument);
void host_read_link(struct host *host, const char *path, host_done *done,
		    void *argument); /* names->text is the link's */
