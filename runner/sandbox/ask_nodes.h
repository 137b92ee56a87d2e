/*
 * ask_nodes: which of the host's names hang in a sandbox as nodes of the curtain, because an ask rule covers them.
 *
 * Promises: a folder that is asked for is one node. Only where something shown or fresh lies in it (`$HOME`, `~/.cache`
 * with `~/.cache/yarn` allowed) it is a real folder, so that the way to what is shown costs nothing and new names can
 * be made in it, with a node for each name that the host has there and no rule speaks of. Which folders are real is
 * settled with the first plan, but for those that are unfolded: later a grant is mounted on its node, and one to read
 * such a folder on each node in it (past ASK_NODES_SPREAD names over all of them, which a revocation takes in one
 * step). Reads the host with readdir and readlink only; at most ASK_NODES_MAX names.
 */
#pragma once

#include "base/string.h"
#include "plan/facts.h"

enum { ASK_NODES_MAX = 2000, ASK_NODES_SPREAD = 400 };

struct ask_folder {
	char *path;
	struct strings names; /* as paths, in the order of `facts` */
	struct facts facts;   /* their contents are owned here */
};

/* Kept for a session. Zero-initialise. */
struct ask_nodes {
	struct ask_folder *folders; /* the real ones */
	size_t count;
	bool settled;
	size_t names; /* in all of them */
	bool more;    /* than ASK_NODES_MAX */
};

/*
 * Adds a rule and a fact for each node to those of a plan, and takes the rule of a real folder back. Adds to `watched`
 * the folders of the host whose new names would be nodes or make an ask rule's path be there. `own` is the profile's
 * own home, mounted at `home`, whose names win, or NULL.
 */
void ask_nodes_add(struct ask_nodes *nodes, const char *home, const char *own, struct rules *rules, struct facts *facts,
		   struct strings *watched);
/* The folder is real in plans from now on, where it would be a node. False: it is one already. */
bool ask_nodes_unfold(struct ask_nodes *nodes, const char *path);
void ask_nodes_forget(struct ask_nodes *nodes); /* list the folders again; which are real stays */
void ask_nodes_finish(struct ask_nodes *nodes);
#define CLEANUP_ASK_NODES __attribute__((cleanup(ask_nodes_finish)))
