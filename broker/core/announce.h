/*
 * announce: tells the system's log what the history must contain, so that who rewrites all of it shows (design
 * section 6): the head at each session's end and at sbxd's, the anchor when retention has moved it.
 *
 * Promises: never waits and never fails; that nobody takes these lines is said once in sbxd.log and by `status`.
 */
#pragma once

#include <stdint.h>

struct broker;

/* What `status` says of it: "journal", "syslog", "nowhere". Static. */
const char *announce_place(struct broker *broker);

void announce_head(struct broker *broker, int64_t session); /* 0: sbxd's own end */
void announce_anchor(struct broker *broker, int64_t removed, int64_t seq, const char *hash);
