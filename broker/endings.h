/*
 * endings: grants that end by the thousand: all allows, a profile's, a session's.
 *
 * Promises: none of them is found from the start on, whoever looks; they are written down LIMIT_ENDING at a time, each
 * with its event, and others are served in between. Whoever asked gets one reply, when all is written. If sbxd is
 * killed on the way, whole grants have ended and the others are in force again: who got no reply says it again; a
 * session's are ended when sbxd starts.
 */
#pragma once

#include "broker.h"
#include "schema/event.h"

struct endings;

struct endings *endings_new(struct broker *broker);
void endings_free(struct endings *endings);

struct ending_wish {
	struct grant_mass mass; /* `last` is set here; the profile is copied */
	enum event_kind kind;   /* EVENT_REVOKE or EVENT_EXPIRE */
	const char *why;        /* static */
	struct client *client;  /* who gets the reply to `revoke`; NULL: nobody */
	int64_t id;             /* of its request */
};

/* The first of them are ended at once; when that fails nothing is, and no reply is sent. */
int endings_start(struct broker *broker, const struct ending_wish *wish, struct error *error);
void endings_forget_client(struct broker *broker, const struct client *client);

/* What a reply to `revoke` says of grants that have ended. Zero-initialise. */
struct revoked {
	json_t *ids;      /* the first REVOKED_IDS_MAX */
	json_t *sessions; /* running ones that one of them held for */
	size_t count;
};
enum { REVOKED_IDS_MAX = 2000 }; /* 20 digits each at most, and LIMIT_CLIENTS sessions beside them */
void revoked_add(struct revoked *revoked, const struct broker *broker, const struct grant_list *list);
json_t *revoked_reply(struct revoked *revoked); /* it is empty then */
void revoked_finish(struct revoked *revoked);
