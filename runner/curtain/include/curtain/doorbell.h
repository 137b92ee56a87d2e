/*
 * doorbell: the words between a doorbell and whoever answers it.
 *
 * A doorbell (the curtain, the traps) finds out that a call of the sandbox can't go on, and holds it; what the sandbox
 * is to see, and whether it may have what it lacks, others know.
 */
#pragma once

#include <stdbool.h>

#include "schema/permission.h"
#include "schema/view.h"

/* What a call that can't go on needs. */
struct need {
	enum permission_kind permission; /* fs:read, fs:write, fs:link, proc:spawn */
	const char *path;                /* normal */
	bool by_folder;                  /* a new name in `path`, which is a folder: offered first (atomic saves) */
	bool unfolds;     /* the curtain holds it, which looks again: a folder may be opened up instead */
	bool listing;     /* the call lists `path` */
	bool folder;      /* the host has a folder at `path` */
	bool made;        /* the host gets a file or folder by that name (host_make.h) */
	bool brought;     /* what is moved to a folder above `path` may have such a name in it */
	const char *name; /* of `by_folder`: what the call makes or removes there (held.h); of a link: the link; or
			   * NULL */
};

/* How what it waited for came out. */
enum held_end {
	HELD_AGAIN,       /* it is there now: let the kernel look again */
	HELD_ABSENT,      /* a rule's denial: as if it weren't there (ENOENT) */
	HELD_REFUSED,     /* a person's, or nobody answered (EACCES) */
	HELD_INTERRUPTED, /* EINTR; also of a thread that has died, which nobody will read */
};
typedef void held_done(void *argument, enum held_end end);

/* What the sandbox sees at a path. */
struct sight {
	enum view_mode mode; /* absent, ask, read, write; of what is the sandbox's own: write */
	bool own_or_asked;   /* write, since nothing of the plan is here; a rule asks about it if the host has it */
	bool ask_write;      /* read, and writing would be asked */
	bool leads;          /* something of the plan is mounted at or below it: its name must stay */
	bool program;        /* a proc:spawn rule asks about it */
	bool denied;         /* a proc:spawn rule denies it */
	bool visible;        /* ask, and only because of that: what it is may be told */
	bool masked_missing; /* a masked path that the host doesn't have, or below one: creating it is asked */
	bool masked_name; /* in a writable tree, and a pattern masks it: making or writing it is asked, and once that is
			     allowed nothing has to be mounted */
	bool masked_lock; /* likewise, and git on the host makes a masked file of what lies there: a need is for that
			   * file's path (sights_locked) */
	bool own_name;    /* in a writable tree of the host's, and a rule or grant speaks of that very name: a hard link
			     would be another way to it */
	bool like_mask;   /* asked about, and may be masked by its name in the tree that comes to be there */
	bool above_missing; /* a folder above one: what is renamed or linked to it may bring one along */
	size_t mask;        /* a mask lies in a writable tree of the host's, at the path or above it: the length of the
			       mask's path, else 0. It is gone when the host has removed what it lay on */
	bool above_mask;    /* in such a tree, and a mask lies at the path or below it */
	bool hosts;         /* in such a tree: programs of the host meet what is made there */
	bool lost; /* nothing of the plan is here, and what is made here would be where nobody looks for it: in a folder
		    * that is there since something is mounted below it, in a home that lasts, without a dot, or in the
		    * place of what the host lacks and may be written */
	bool given;     /* by name the view lets write here */
	bool mask_name; /* its last name is that of a mask in such a tree, or of a git directory */
};
