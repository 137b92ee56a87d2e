/*
 * endings: grants that end by the thousand: all allows, a profile's, a session's: the head of endings/.
 *
 * For: all ways in which a grant ends: revoked (meant: which one means; remaining: what lets it through all the same),
 * by its time (expiry), with its session. Guarantees: none of them is found from the start on, whoever looks; they are
 * written down LIMIT_ENDING at a time, each with its event. Whoever asked gets one reply, when all is written. A
 * revocation of more than that is itself written down with its first part, durably, and removed with its last: if sbxd
 * is killed on the way the next one begins with it, before it serves. What can't be written (a full disk) counts no
 * more all the same, for as long as this sbxd runs; whoever asked is told so, and it is tried again each second. May be
 * called by: prompts, handlers, service.c. Questions are judged again by hooks.h, `denials_changed`. In: which grants.
 * Out: rows, what sessions are told (session_tell.h), a reply to `revoke`.
 */
#pragma once

#include "core/broker.h"
#include "schema/event.h"
#include "sessions/settling.h"

struct endings;

struct endings *endings_new(struct broker *broker);
void endings_free(struct endings *endings);

struct ending_wish {
	struct grant_mass mass;          /* `last` is set here; the profile is copied */
	enum event_kind kind;            /* EVENT_REVOKE or EVENT_EXPIRE */
	const char *why;                 /* static */
	bool kill;                       /* processes that still hold what is revoked are ended */
	struct settling_request request; /* who gets the reply to `revoke`; client NULL: nobody */
	bool at_once;                    /* the reply waits for no sandbox */
};

/* The first of them are ended at once. When that fails no reply is sent; the error says what holds now. */
int endings_start(struct broker *broker, const struct ending_wish *wish, struct error *error);

/* Those of a session end with it; those of all sessions that a former sbxd had, before anybody is served. */
void endings_of_session(struct session *session);
int endings_of_former_sessions(struct broker *broker, struct error *error);

/* Before anybody is served: what an sbxd that was killed had begun to revoke. */
int endings_resume(struct broker *broker, struct error *error);

/* Something is revoked in memory alone: it would be in force again after the end of this process. */
bool endings_are_unwritten(const struct broker *broker);
void endings_forget_client(struct broker *broker, const struct client *client);

/* What a reply to `revoke` says of grants that have ended. Zero-initialise. */
struct revoked {
	json_t *ids;      /* the first REVOKED_IDS_MAX */
	json_t *sessions; /* running ones that one of them held for */
	json_t *lifted;   /* those of the ids that were denials, the first REVOKED_LIFTED_MAX */
	json_t *knowing;  /* those whose tools were started with a variable that is taken back */
	json_t *spent;    /* used-up allows for connections, and for anything else: the first REVOKED_LIFTED_MAX each */
	json_t *spent_open;
	size_t count;
};
/* 20 digits each at most, and LIMIT_CLIENTS sessions beside them. */
enum { REVOKED_IDS_MAX = 2000, REVOKED_LIFTED_MAX = 200 };
void revoked_add(struct revoked *revoked, const struct broker *broker, const struct grant_list *list);
/* Revoked as well (spent.h). */
void revoked_add_spent(struct revoked *revoked, const struct broker *broker, const struct grant_list *list);
/* Had ended before: those by whose use something may go on. */
void revoked_add_ended(struct revoked *revoked, const struct broker *broker, const struct grant_list *list);
json_t *revoked_reply(const struct broker *broker, struct revoked *revoked); /* it is empty then */
