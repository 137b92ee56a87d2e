/*
 * curtain_wire: FUSE messages, in and out (linux/fuse.h, fuse(4)).
 *
 * Promises: the only place that parses bytes from /dev/fuse; every length is checked before it is believed, every name
 * ends within the message and is one that a folder can have. A message that isn't as it should be is -EIO, with what is
 * known of it, so that it can be answered.
 */
#pragma once

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/string.h"

enum {
	WIRE_REQUEST_MAX = 16 * 1024, /* bytes; at least FUSE_MIN_READ_BUFFER, and a write of WIRE_WRITE_MAX */
	WIRE_WRITE_MAX = 4096,
	WIRE_NEVER = 1000 * 1000 * 1000, /* seconds: what is told does not expire */
};

struct wire_request {
	uint32_t opcode; /* enum fuse_opcode, or one that we don't know */
	uint64_t unique;
	uint64_t node;
	pid_t thread;                          /* as our pid namespace has it; 0: it isn't in it */
	const char *name;                      /* LOOKUP, and what makes or removes a name; in the message */
	const char *attribute;                 /* GETXATTR */
	uint32_t flags;                        /* OPEN, OPENDIR: open(2)'s */
	uint64_t handle;                       /* READDIR, READDIRPLUS, RELEASEDIR */
	uint64_t offset, size;                 /* READDIR, READDIRPLUS */
	uint64_t target;                       /* INTERRUPT: a unique */
	uint64_t count;                        /* FORGET; how many in `forgets` */
	const struct fuse_forget_one *forgets; /* BATCH_FORGET; in the message */
	struct {
		uint32_t major, minor, readahead;
		uint64_t flags;
	} init;
};

/* `bytes` is aligned for a uint64_t. */
int wire_parse(const void *bytes, size_t size, struct wire_request *ret_request);
bool wire_wants_reply(const struct wire_request *request);

/* Replies to `unique`; code is 0 or negative errno. A requester that is gone is no error. */
void wire_reply(int device, uint64_t unique, int code, const void *data, size_t size);
void wire_reply_init(int device, const struct wire_request *request);
void wire_reply_opened(int device, uint64_t unique, uint64_t handle);
void wire_reply_statfs(int device, uint64_t unique);

/* Of an object nothing but number and type is told, or what `status` says. */
struct wire_object {
	uint64_t node;
	mode_t type;
	uid_t uid;
	gid_t gid;
	const struct stat *status; /* may be NULL */
	uint32_t valid_ms;         /* for so long the attributes hold */
};
void wire_reply_attributes(int device, uint64_t unique, const struct wire_object *object);
/* The name is looked up again at each use, or, when it is to stay, never. */
void wire_reply_entry(int device, uint64_t unique, const struct wire_object *object, bool stays);

/* The kernel is to forget a node's attributes. Waits for nothing. */
void wire_notify_attributes(int device, uint64_t node);

/* An entry of a listing, READDIR's or READDIRPLUS's. */
struct wire_name {
	const char *name;
	unsigned char type; /* DT_… */
	uint64_t next;      /* where the one behind it is */
};
size_t wire_name_size(const struct wire_name *name, bool plus);
void wire_append_name(struct string *listing, const struct wire_name *name);
/* READDIRPLUS: the kernel knows the name from now on, for ever, as if it had looked it up; NULL: it doesn't. */
void wire_append_entry(struct string *listing, const struct wire_name *name, const struct wire_object *object);
