/*
 * inside_door: a socket in the sandbox where a tool can ask before it needs something, and be told what it may do.
 *
 * Promises: can do two things (inside_message.h). Who asks is who has sent the message, as the kernel says, and lives
 * in the sandbox; nobody else is answered. A connection says one thing, is told one, and is closed; one that hangs up
 * asks no more. All that a tool can make of it is bounded (LIMIT_DOOR_…), and what it makes of it holds up nobody else.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/string.h"
#include "inside_message.h"
#include "runner/inside.h"

struct inside_door;

struct inside_wish {
	const struct inside_message *message;
	const char *process;           /* or NULL */
	const struct strings *parents; /* nearest first */
};

/* The reply is taken over. */
typedef void inside_done(void *argument, json_t *reply);

struct inside_door_options {
	struct event_base *base;
	/* Who it is, for a person to read: false when it is no process of the sandbox. Freed by the caller. */
	bool (*caller)(void *context, pid_t process, char **ret_process, struct strings *ret_parents);
	/* All of the wish is borrowed, for this call. done() once, now or later, unless cancelled; 0: it was called
	 * already. */
	uint64_t (*serve)(void *context, const struct inside_wish *wish, inside_done *done, void *argument);
	void (*cancel)(void *context, uint64_t ticket);
	void *context;
};

/* `listener` is taken over, in any case. */
int inside_door_new(int listener, const struct inside_door_options *options, struct inside_door **ret_door,
		    struct error *error);
size_t inside_door_count(const struct inside_door *door); /* connections */
void inside_door_free(struct inside_door *door);
DEFINE_CLEANUP(struct inside_door *, inside_door_free);
