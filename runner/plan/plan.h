/*
 * plan: rules and facts → the ordered mounts of a sandbox (design section 7).
 *
 * Promises: pure; the same input gives the same plan, tested with golden files. Shallow before deep and
 * what lies below a path directly behind it, so a narrower
 * rule reopens or closes a part of a broader one. A rule holds for the path it names and for what that links to
 * (attack F3). An allow rule never follows a link that lies where a tool may write (F2). Nothing is made on the host.
 * Masks inside a writable tree stay: every folder above one is pinned (F4), every link on the way to one is held.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "facts.h"
#include "rule.h"

enum { PLAN_MOUNTS_MAX = 5000 }; /* with some 2,000 nodes; fs.mount-max is 100,000 (proc(5)) */

enum mount_kind {
	MOUNT_READ,  /* the host's `source`, read-only */
	MOUNT_WRITE, /* the host's `source` */
	MOUNT_PIN,   /* a folder of a writable tree onto itself, so that it can't be renamed */
	MOUNT_FRESH, /* an empty tmpfs of that mode */
	MOUNT_OWN, /* the folder `source` of sbx's own, which lasts: the profile's home. Mount points may be made in it
		    */
	MOUNT_HIDE_FOLDER, /* an empty, sealed tmpfs of that mode */
	MOUNT_HIDE_FILE,   /* an empty file that nobody can read or run */
	MOUNT_TEXT,        /* a file of sbx's own with the text `source` that everybody may read */
	MOUNT_LINK,        /* a link with the text `source`, where nothing of the host is shown */
	MOUNT_HELD,        /* a link of a writable tree that leads to a mask: onto itself, read-only */
	MOUNT_CURTAIN,     /* a node of the curtain: may be asked for; `mode` is the type alone (S_IFDIR, S_IFREG) */
	MOUNT_PROC,
	MOUNT_DEV,
};
enum { MOUNT_KIND_COUNT = MOUNT_DEV + 1 };

struct mount {
	enum mount_kind kind;
	unsigned mode;
	uint32_t id; /* the portal knows it by this; 0 = not put yet (steps.h) */
	uint32_t on; /* the mount that it lies on; 0 = the root */
	char *path;
	char *source; /* what is mounted; of a node of the curtain the name by which a program is asked about, if it is
		       * another; NULL where the kind has none */
	dev_t device; /* of source, 0 = not to be compared */
	ino_t inode;
	bool late;    /* a pin that was put while the sandbox ran: somebody may be in its folder below it */
	bool exposed; /* one that is covered: it shows more than the plan does to who has a folder of it open (steps.h)
		       */
};

struct plan {
	struct mount *mounts;
	size_t count;
	struct mount *below; /* mounted still, and covered by `mounts`: there again when those are taken (steps.h) */
	size_t below_count;
	uint32_t last_id;
	struct strings once;    /* what may be written there is so for some calls alone */
	struct strings watched; /* folders of the host whose new names would change the plan */
	struct strings awaited; /* the host doesn't have them; once one is there, there are more masks (arrivals.h) */
	struct strings ways;    /* a link that comes there leads what is denied or asked about elsewhere (arrivals.h) */
	struct strings missing; /* masks in writable trees that the host doesn't have: looked at again at the end */
	struct strings missing_names; /* of each: by which name a rule masks it, which may lead there by links */
	struct strings shared;        /* masked or hidden files that have names (hard links) where there is no mask */
	struct programs_linked linked;
	struct programs_linked asked; /* what rules for files ask about by names that lead there by links */
	struct strings notes;         /* sentences for the user */
};

bool mount_shows(const struct mount *mount);    /* something of the host's */
bool mount_hides(const struct mount *mount);    /* what the host has there */
bool mount_is_given(const struct mount *mount); /* it is bwrap's, and nothing has to be mounted */
struct mount mount_copy(const struct mount *mount);
void mount_finish(struct mount *mount);
int plan_build(const struct rules *rules, const struct facts *facts, struct plan *ret_plan, struct error *error);
const struct mount *plan_find(const struct plan *plan, uint32_t id);    /* also a covered one; or NULL */
const struct mount *plan_at(const struct plan *plan, const char *path); /* or NULL */
void plan_copy(const struct plan *plan, struct plan *ret_plan);
void plan_finish(struct plan *plan);
#define CLEANUP_PLAN __attribute__((cleanup(plan_finish)))

/* How a path comes out inside: SHOW_READ and SHOW_WRITE are the host's, SHOW_FRESH is there but not the host's. */
enum show plan_show(const struct plan *plan, const char *path);

char *mount_text(const struct mount *mount); /* its line, without the newline */
char *plan_text(const struct plan *plan);    /* one line a mount, for --print-plan and golden files */
