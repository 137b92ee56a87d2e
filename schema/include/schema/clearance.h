/*
 * clearance: whether the runner of a session may let trapped calls go on, as sbxd says it to the kernel itself.
 *
 * The kernel copies the runner's answer (struct seccomp_notif_resp, seccomp_unotify(2)) within the ioctl(2) that sends
 * it, and refuses flags that it doesn't know (seccomp_notify_send() in kernel/seccomp.c). This is the end of that
 * answer. It begins a page of a file that sbxd writes and the runner has mapped, so the look at it and the answer are
 * one step, which nothing can come between.
 *
 * What the kernel has copied may still be under way when sbxd writes. So a runner has a word of its own, at the
 * beginning of a memory file (memfd_create(2)), which counts the answers that are under way.
 */
#pragma once

#include <assert.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

struct clearance_word {
	int32_t error; /* 0 */
	uint32_t flags;
};

static_assert(offsetof(struct seccomp_notif_resp, flags) + sizeof(uint32_t) == sizeof(struct seccomp_notif_resp),
	      "the flags are the last of an answer");
static_assert(offsetof(struct seccomp_notif_resp, error) + sizeof(struct clearance_word) ==
		      sizeof(struct seccomp_notif_resp),
	      "the word is the end of an answer");

typedef uint32_t clearance_answering;

enum { CLEARANCE_GIVEN = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

/* Half written, it is refused as well: no byte of it is one of CLEARANCE_GIVEN. */
#define CLEARANCE_WITHHELD UINT32_MAX
