/*
 * request: {session, subject, permission, target, process, reason} (design section 4).
 *
 * Promises: the subject comes from the broker's session record, never from the client's message or the sandbox.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/permission.h"

struct subject {
	char *profile; /* owned */
	char *project; /* canonical path that grants are kept under; owned */
};

struct request {
	int64_t session; /* 0 = none (`sbx check`) */
	struct subject subject;
	struct permission permission;
	char *target;           /* canonical (target.h) */
	char *process;          /* what asks, "npm (412)"; or NULL */
	struct strings parents; /* nearest first */
	char *reason;           /* the tool's own words, or NULL */
	/* As the runner sees it, for the words of a question and request_opens_folder. Of files: how the call asks. */
	bool by_folder; /* a name in the target is made or removed */
	bool listing;   /* the target's names are read */
	bool folder;    /* the target is a folder */
	bool masked;    /* programs outside run or read the file, which the runner has found out: to write it is allowed
			   by what names it, and asked about otherwise */
	bool view;      /* a view is made, which is for all calls: no allow for one alone counts */
	char *name;     /* the path in the target that is made, replaced or removed; of a connection, the host that its
			   first bytes ask for when that isn't the target's; of a program, where the link leads that the
			   target is; of a link, the link that is made; or NULL: not known, or none is */
	char *walk;     /* the uppermost folder above the target that the process walks through, or NULL */
};

/* A connection to an address, or to localhost: who allows it has named what it leads to. */
bool request_names_address(const struct request *request);

/* A folder that is opened to be read: who has it open reads all that ever comes into it, so no allow for one call alone
 * can be kept of it. */
bool request_opens_folder(const struct request *request);

const char *request_link(const struct request *request); /* that is made; NULL: it is about none. Borrowed */

void subject_finish(struct subject *subject);
void request_finish(struct request *request);
#define CLEANUP_SUBJECT __attribute__((cleanup(subject_finish)))
#define CLEANUP_REQUEST __attribute__((cleanup(request_finish)))
