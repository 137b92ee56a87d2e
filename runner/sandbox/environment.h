/*
 * environment: which variables the tool gets.
 *
 * Promises: only what the view names, what --env and the profile set, and what a sandbox needs to make sense (HOME,
 * PATH, USER, proxies); proxy variables from outside never. Of left-out ones a tool may miss the names are told.
 */
#pragma once

#include "base/string.h"
#include "schema/view.h"

struct environment_options {
	const struct view *view;
	char *const *outside;        /* environ */
	const struct strings *asked; /* --env: "K" or "K=V" */
	const char *home, *path, *directory;
	bool proxied; /* HTTP_PROXY and its kin lead to the gate */
};

enum { ENVIRONMENT_PROXY_PORT = 61080 };

/* `environment` gets "K=V" each, `left_out` the names a tool might miss, sorted. */
void environment_build(const struct environment_options *options, struct strings *environment,
		       struct strings *left_out);
