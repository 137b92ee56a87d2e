/*
 * curtain_heat: for how long the kernel may believe what it was told of a folder.
 *
 * Each walk through a folder asks for its attributes, tens of microseconds, which is how a call is held in time. Where
 * something behind it is granted and used a lot, that would be most of the cost of each access, and where something is
 * denied and looked for a lot, half of it; there the folder is told to stay as it is for a while, and what that makes
 * impossible is held elsewhere (curtain_caller.c, curtain.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "curtain_node.h"

/* One more walk through the folder to what is granted or denied behind it. */
void node_warm(struct node *node);

/* How many milliseconds to tell now: 0, or some seconds where it only leads somewhere, or one where it is hot. */
uint32_t node_tell(struct node *node, bool is_way);

/* The same for the portal, which comes by once for each of many names: a moment. */
uint32_t node_tell_portal(struct node *node);

/* From now on, for a while, each walk is to ask. True: the kernel has to be told so, it may believe something else. */
bool node_cool(struct node *node);
