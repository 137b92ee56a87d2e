/*
 * facts: what the host has at each path a rule names.
 *
 * Promises: looks with lstat and readlink only, never opens anything, never touches /proc, /sys below what a rule
 * names. The answer is a moment's: whoever mounts by it compares device and inode afterwards (portal.h), since the
 * trees may be written by another sandbox meanwhile (attack F2).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "rule.h"

enum fact_type { FACT_MISSING, FACT_FOLDER, FACT_FILE, FACT_SOCKET };

struct fact_link {
	char *path; /* where the link lies; its parents are no links */
	char *text;
};

struct fact {
	char *real; /* the rule's path with links resolved; of a missing one as far as there is something */
	enum fact_type type;
	struct fact_link *links; /* met on the way, in order */
	size_t link_count;
	dev_t device;
	ino_t inode;
	nlink_t names; /* of a file: more than one means hard links */
};

struct facts {
	struct fact *items; /* one for each rule, in their order */
	size_t count;
};

void facts_collect(const struct rules *rules, struct facts *ret_facts);
void facts_add_link(struct fact *fact, const char *path, const char *text);
void facts_finish(struct facts *facts);
#define CLEANUP_FACTS __attribute__((cleanup(facts_finish)))
