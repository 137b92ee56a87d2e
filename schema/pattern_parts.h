/*
 * pattern_parts: the insides of a pattern, for pattern.c (compiling, matching a target) and pattern_pair.c (two of
 * them).
 */
#pragma once

#include "base/string.h"
#include "net_pattern.h"
#include "port_range.h"
#include "schema/pattern.h"

struct pattern {
	struct permission permission;
	enum target_form form;
	char *text;
	char *target;    /* of a literal */
	bool everything; /* "*" where that means any target: proc:spawn, net:listen */

	struct strings names; /* of a path with wildcards */

	struct net_pattern net;
	struct port_range ports; /* of net:listen */
};
