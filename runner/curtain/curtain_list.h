/*
 * curtain_list: folders of the curtain that are open for reading their names (READDIR).
 *
 * Promises: a listing is as the host's folder was when it was opened; a position that a tool made up (lseek(2)) reads
 * no part of a name; all of them together hold at most LIMIT_LISTINGS bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/string.h"
#include "curtain_host.h"

struct listings;

struct listings *listings_new(void);
void listings_free(struct listings *listings);
DEFINE_CLEANUP(struct listings *, listings_free);

/* Takes over what is in `names`; returns its handle, 0: too many are open. */
uint64_t listings_open(struct listings *listings, struct host_names *names);
void listings_close(struct listings *listings, uint64_t handle);

/* Visit the names from `offset` on, with their type (DT_…) and the offset behind them, until one returns false. -EBADF:
 * no such handle. */
typedef bool listing_visit(void *argument, const char *name, unsigned char type, uint64_t next);
int listings_read(const struct listings *listings, uint64_t handle, uint64_t offset, listing_visit *visit,
		  void *argument);
