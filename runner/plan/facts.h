/*
 * facts: what the host has at each path a rule names.
 *
 * Promises: looks with lstat and readlink only, never opens anything, never touches /proc, /sys below what a rule
 * names. The answer is a moment's: whoever mounts by it compares device and inode afterwards (portal.h), since the
 * trees may be written by another sandbox meanwhile (attack F2). What was looked at once is known until it is
 * forgotten, so that the next plan of a session costs only what is new in it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "rule.h"

/* FACT_LINK: of a name that was listed, never of a rule's path. FACT_SPECIAL: fifo, device. */
enum fact_type { FACT_MISSING, FACT_FOLDER, FACT_FILE, FACT_SOCKET, FACT_SPECIAL, FACT_LINK };

struct fact_link {
	char *path; /* where the link lies; its parents are no links */
	char *text;
	bool judged, foreign; /* somebody else than the user may have made it (foreign.h); false until it is judged */
};

struct fact {
	char *real; /* the rule's path with links resolved; of a missing one as far as there is something */
	enum fact_type type;
	size_t there;            /* of `real` so much is a folder that is there (0: the root) */
	struct fact_link *links; /* met on the way, in order */
	size_t link_count;
	dev_t device;
	ino_t inode;
	nlink_t names; /* of a file: more than one means hard links */
};

/* What is known of the host. Zero-initialise. */
struct fact_book {
	struct fact_entry *entries; /* by path */
	size_t count;
	size_t looks; /* calls of lstat so far */
};

void fact_book_finish(struct fact_book *book);
#define CLEANUP_FACT_BOOK __attribute__((cleanup(fact_book_finish)))

struct facts {
	struct fact *items; /* one for each rule, in their order; what they point at is the book's */
	size_t count;
};

/* Adds those of the rules behind the ones that have theirs already. */
void facts_collect(const struct rules *rules, struct fact_book *book, struct facts *facts);
/* Does a rule give something where its path leads by a link, or a file? RULE_PLACE and the layout are no rules of
 * somebody's. */
bool rule_is_led(const struct rule *rule, const struct fact *fact);
void facts_add(struct facts *facts, const struct fact *fact); /* what it points at stays the caller's */
void facts_finish(struct facts *facts);
#define CLEANUP_FACTS __attribute__((cleanup(facts_finish)))

/* Takes copies; the fact is the caller's own. */
void fact_add_link(struct fact *fact, const char *path, const char *text);
void fact_finish(struct fact *fact);
enum fact_type fact_type_of(mode_t mode);
