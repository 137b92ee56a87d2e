/*
 * curtain_node: the names that the kernel knows of the curtain, as a tree whose root is "/".
 *
 * Promises: a name has one number for as long as the kernel or a name below it holds it (a dentry whose number changed
 * would be dropped, with what is mounted on it); numbers are never used again; what the kernel has forgotten is gone.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"

enum { NODE_ROOT = 1, NODES_MAX = 1000 * 1000 };

struct node {
	struct node *next_by_number, *next_by_name, *parent;
	uint64_t number;
	uint64_t lookups;  /* of the kernel (FUSE_LOOKUP, FUSE_FORGET) */
	uint32_t children; /* that hold it */
	mode_t type;       /* S_IFDIR, S_IFREG … */
	bool unborn;       /* the host doesn't have it: it stands for a file that an open is about to make */
	/* Of a folder: how often it was told to stay as it is for a while, and what decides that (curtain_heat.h). */
	uint32_t told;
	uint32_t heat;
	int64_t heat_ms, cool_until_ms;
	char name[];
};

struct nodes;

struct nodes *nodes_new(void);
void nodes_free(struct nodes *nodes);
DEFINE_CLEANUP(struct nodes *, nodes_free);
size_t nodes_count(const struct nodes *nodes); /* with the root */

struct node *nodes_find(const struct nodes *nodes, uint64_t number); /* NULL: no such */

struct node *nodes_child(const struct nodes *nodes, const struct node *parent, const char *name); /* NULL: not known */

/* The name in `parent`, held once more by the kernel; NULL: there are NODES_MAX. */
struct node *nodes_look_up(struct nodes *nodes, struct node *parent, const char *name, mode_t type);

void nodes_forget(struct nodes *nodes, struct node *node, uint64_t count);

/* Its path, and what a name in it would be called. -ENAMETOOLONG: not below PATH_MAX, or NAME_MAX for the name. */
int node_path(const struct node *node, char ret_path[PATH_MAX]);
int node_path_of_name(const struct node *node, const char *name, char ret_path[PATH_MAX]);
