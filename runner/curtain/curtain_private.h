/*
 * curtain_private: what the parts of the curtain share.
 */
#pragma once

#include <stdalign.h>
#include <stdbool.h>

#include "curtain/curtain_options.h"
#include "curtain_caller.h"
#include "curtain_heat.h"
#include "curtain_host.h"
#include "curtain_list.h"
#include "curtain_node.h"
#include "curtain_wire.h"

enum { EXCHANGE_BUCKETS = 1024, LISTING_BYTES = 64 * 1024 };

struct curtain {
	struct curtain_options options;
	int device;
	struct event *event;
	ino_t pid_namespace;
	struct nodes *nodes;
	struct callers *callers;
	struct listings *listings;
	struct host *host;
	struct exchange *exchanges[EXCHANGE_BUCKETS];
	alignas(uint64_t) char buffer[WIRE_REQUEST_MAX];
};

/* A request that is being answered now. */
struct request {
	struct curtain *curtain;
	struct wire_request wire;
	struct node *node;
	bool by_portal;
	struct sight sight;
	char path[PATH_MAX]; /* the node's */
};

/* One that is answered later. It ends with one of exchange_refuse, exchange_tell, exchange_hold, which free it (the
 * last one later). */
struct exchange {
	struct exchange *next;
	struct curtain *curtain;
	uint64_t unique, node;
	uint32_t opcode;
	pid_t thread;
	char *path;      /* the node's; LOOKUP: of what is looked up */
	char *name;      /* LOOKUP: that; GETATTR of a folder: the path in it that is asked for instead; else NULL */
	uint64_t ticket; /* held; 0: not */
	bool by_portal;
	bool interrupted;    /* a signal came meanwhile */
	bool by_descriptor;  /* no path is walked again: what is there now is told */
	struct event *timer; /* until its thread's call can be read */
	unsigned tries;
	void (*with_call)(struct exchange *exchange, const struct call_raw *raw);
};

struct exchange *exchange_new(struct curtain *curtain, const struct wire_request *request, const char *path);
void exchange_free(struct exchange *exchange);
void exchange_refuse(struct exchange *exchange, int code);                /* negative errno */
void exchange_tell(struct exchange *exchange, const struct stat *status); /* attributes; NULL: the type */
void exchange_look(struct exchange *exchange);                            /* tell what the host has there */
void exchange_hold(struct exchange *exchange, const struct need *need);   /* borrowed for the call */
/* Go on once the thread's call can be read, or, with NULL, when it can't be. */
void exchange_with_call(struct exchange *exchange,
			void (*with_call)(struct exchange *exchange, const struct call_raw *raw));

void exchange_interrupt(struct curtain *curtain, uint64_t unique); /* a signal came */
void exchanges_refuse(struct curtain *curtain);                    /* all */

/* For a reply that is sent at once. */
struct wire_object curtain_object(const struct curtain *curtain, struct node *node, const struct stat *status);

/* Open a folder for reading its names, and read some: of those that may be known, or, for the portal, those that lead
 * to a mount, which the kernel then need not look up one by one. */
void folder_open(struct request *request);
void folder_read(struct request *request);

/* Tell, hold or refuse a GETATTR. */
void getattr_decide(struct exchange *exchange);
