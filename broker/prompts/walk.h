/*
 * walk: a process that goes through a tree (find, rg, du) is asked about once, not name by name; and who reads file
 * after file of a folder, about the folder.
 *
 * Promises: of one session; what is remembered is bounded, a walk or denial within a minute; a tree never reaches above
 * what its rule names, nor above $HOME. What a runner says of its tool (`listing`, `walk`) only words the question:
 * the tree is what is shown, and nothing is allowed by it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema/request.h"
#include "schema/verdict.h"

struct walks; /* of a session */
struct walks *walks_new(void);
void walks_free(struct walks *walks);

/* A request that the user would be asked about. */
struct walk_step {
	const struct request *request;
	const char *rule; /* which asks, "file:line"; or NULL */
	const char *root; /* the folder that it names, or NULL */
	const char *home;
	int64_t now_ms; /* boot clock */
};

/* The prompt by which the user denied this a moment ago: it itself, what it lies in, or another name of the same walk;
 * 0: none. Of permissions without paths net:access alone, and it itself. */
int64_t walk_denied(struct walks *walks, const struct walk_step *step);

/* The tree that the question is about, or NULL: about its target alone. Freed by the caller. */
char *walk_tree(struct walks *walks, const struct walk_step *step);

/* The user has allowed it when asked about `path` (the target, or the tree). */
void walk_allow(struct walks *walks, const struct request *request, const char *rule, const char *path);

/* The user has denied it, this once, when asked about `path` (the target, or the tree). */
void walk_deny(struct walks *walks, const struct request *request, const char *rule, const char *path, int64_t prompt,
	       int64_t now_ms);
