/*
 * clearance: the answer that lets a trapped call go on, which the broker can refuse until the kernel has it.
 *
 * Promises: from the moment on that the broker has withheld the clearance (schema/clearance.h), no such answer gets
 * through, whatever was looked at before, and wherever a thread that is about to send it was stopped. What the broker
 * has said last holds on while there is none. Whatever else is wrong with the file refuses, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"

struct clearance;

/* Given, until a broker says something else. */
int clearance_new(struct clearance **ret_clearance, struct error *error);

/* The file that says whether an answer is under way (schema/clearance.h), for the broker; borrowed. */
int clearance_answering_fd(const struct clearance *clearance);

/* From now on page `page` of the broker's file says it. The file must be ours alone and have that inode. On an error
 * it is as before. Other threads may be sending meanwhile, and are waited for. */
int clearance_follow(struct clearance *clearance, const char *path, uint64_t inode, uint64_t page, struct error *error);

/* A look, for who waits: it may be withheld by the time of the answer. In the thread that follows. */
bool clearance_is_given(const struct clearance *clearance);

/* The call goes on, or its thread is gone: 0. -EINVAL: the clearance is withheld; another negative errno: it can't be
 * read. In any thread. */
int clearance_send(struct clearance *clearance, int listener, uint64_t id);

/* Around what the runner does itself instead of letting the call go on. True: what is withheld from now on is waited
 * for until the end. False: it is withheld, and there is nothing to end. In the thread that follows. */
bool clearance_begin(struct clearance *clearance);
void clearance_end(struct clearance *clearance);

void clearance_free(struct clearance *clearance);
DEFINE_CLEANUP(struct clearance *, clearance_free);
#define CLEANUP_CLEARANCE CLEANUP(clearance_free_p)
