/*
 * portal_mounts: what a portal has put into its sandbox, and how steps change it.
 *
 * Promises: what is mounted is the very file whose device and inode were compared with the plan's; a group appears in
 * one move (attack F22); what is taken is taken by the descriptor of its mount, never by a path (F18), after it was
 * made read-only and noexec (F20).
 */
#pragma once

#include <stdbool.h>

#include "mountinfo.h"
#include "plan/steps.h"
#include "portal_applied.h"
#include "portal_point.h"
#include "portal_reached.h"
#include "portal_spaces.h"
#include "portal_tree.h"

/* Something that was put. */
struct put {
	struct mount mount; /* owned; known by its id, lying on another by that one's */
	int tree;           /* O_PATH: its root; -1: a dead portal put it, see portal_again.c */
	int point;          /* O_PATH: what a pin covers, when it was put while the tool ran; else -1 */
	uint64_t number;    /* STATX_MNT_ID */
	bool released;      /* who has something of it open may write that */
};

struct mounts {
	const struct spaces *spaces;
	struct put *puts; /* what lies on another comes behind it */
	size_t count;
	struct points points;
	uint64_t root;         /* STATX_MNT_ID of the sandbox's root */
	int curtain;           /* O_PATH: its root in our own namespace, -1 = none */
	struct reached behind; /* a folder of the curtain's */
	struct strings primed; /* those of them whose names the kernel knows by now */
	struct reached inside; /* a folder of the sandbox's */
	bool alone;            /* nothing of the tool's runs yet: nobody sees a group being put together */
	bool again;            /* a portal has died */
	bool staged;           /* something lies on the stage that mounts_sweep removes */
};

int mounts_init(struct mounts *mounts, const struct spaces *spaces, bool again, struct error *error);

/* What a portal that died has put; its steps are PUTs, what lies below before what lies on it. Those that aren't there
 * any more have failed. */
int mounts_know(struct mounts *mounts, const struct steps *steps, struct portal_applied *applied, struct error *error);

void mounts_list(const struct mounts *mounts, struct portal_applied *applied); /* all that is put */
void mounts_sweep(struct mounts *mounts); /* what can wait until the runner has its reply */

/* For the parts of this room. */

struct put *mounts_find(const struct mounts *mounts, uint32_t id);
const struct put *mounts_find_number(const struct mounts *mounts, uint64_t number);
void mounts_keep(struct mounts *mounts, const struct mount *mount, int tree, uint64_t number); /* takes `tree` over */
void mounts_forget(struct mounts *mounts, uint32_t id); /* with what lies on it */

/* Indices of a put and of those that lie on it, ascending; freed by the caller. */
size_t *mounts_on(const struct mounts *mounts, uint32_t id, size_t *ret_count);

/* May mount points be made on it? */
bool mount_is_own(const struct mount *mount);

/* Inside: what is mounted now. */
int mounts_read(const struct mounts *mounts, struct mountinfo *ret_info);

/* What became of steps. */
struct report {
	struct portal_applied *applied;
	struct error *first;
};
void report_failure(const struct report *report, size_t index, const struct step *step, const struct error *error);

/* PUTs, from `at` up to `end`; begins and ends outside. */
void mounts_put(struct mounts *mounts, const struct steps *steps, size_t at, size_t end, const struct report *report);

/* PUT_UNDER; begins and ends outside. */
int mounts_put_under(struct mounts *mounts, const struct step *step, struct error *error);

/* Detach with all that lies on it, and stays on it for who has something of it open. *tree is -1 when nobody has.
 * Begins and ends inside. */
int mounts_drop(const struct mounts *mounts, int *tree, struct error *error);

/* Outside: drop what a portal that died was just dropping or had moved aside. */
void mounts_clear(const struct mounts *mounts);

/* Begins and ends inside. */
int mounts_take(struct mounts *mounts, const struct mount *mount, const struct report *report, struct error *error);

int mounts_release(struct mounts *mounts, const struct mount *mount, const struct report *report, struct error *error);

/* The numbers of a mount and of those that came along with it, as if they were taken. Inside. */
int mounts_tell(const struct mounts *mounts, uint32_t id, const struct report *report, struct error *error);

/* Begins inside, ends inside or outside. */
int mounts_set_read_only(struct mounts *mounts, uint32_t id, bool on, const struct report *report, struct error *error);

int mounts_compare(const struct mount *mount, int there, struct error *error);

/* Outside: get hold of what was put by a portal that died (mounts_know): 1, then it is as its plan says; 0: it isn't
 * there, or is no such thing. */
int mounts_recognise(struct mounts *mounts, uint32_t id, struct error *error);
