/*
 * publish: ports of the sandbox that the host's loopback leads to (design section 7, Network; permission net:listen).
 *
 * Promises: listens on 127.0.0.1 and ::1 of the host alone, and only while a verdict allows net:listen of the port;
 * connections lead to that port of the sandbox's own loopback and nowhere else. What ends the verdict ends the listener
 * and its live connections at once. Whatever listens inside is never held up, whatever is answered. Bounded: published
 * ports, ports that are asked about, connections. Every error publishes nothing.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "net/parse/host_port.h"
#include "net/streams/spares.h"
#include "schema/publication.h"
#include "schema/verdict.h"

struct publisher;

struct publisher_options {
	struct event_base *base;
	struct spares *spares;
	const uint16_t *own; /* ports inside that are sbx's own and never published; borrowed */
	size_t own_count;
	size_t connections; /* of the host at once; others wait in the kernel's queues */
	void *context;
	/* As struct gate_judge's, of net:listen and a port; `found`: something listens there, nobody named it. */
	uint64_t (*check)(void *context, const char *port, bool found,
			  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	uint64_t (*check_again)(void *context, const char *port,
				void (*done)(void *argument, const struct verdict *verdict), void *argument);
	void (*cancel)(void *context, uint64_t ticket);
	/* The TCP ports that something listens on inside; how many. */
	size_t (*ports)(void *context, uint16_t *ret_ports, size_t size);
	/* What is published is another than before. */
	void (*changed)(void *context);
	/* What began to listen was published by itself; or could not be: `failed` says why (borrowed). */
	void (*found)(void *context, const struct publication *publication, const char *failed);
	/* A connection has ended (history, kind `connection`). */
	void (*report)(void *context, const char *port, int64_t grant, uint64_t sent, uint64_t received,
		       int64_t duration_ms, const char *error /* or NULL */);
};

struct publisher *publisher_new(const struct publisher_options *options);
void publisher_free(struct publisher *publisher); /* ends all; reports */

/* A port that is published by name. */
struct publisher_wish {
	struct publication publication; /* host_port 0: any that is free */
	struct host_port *host;         /* which listens there already, taken over; or NULL */
	int64_t grant;                  /* it ends with this one, whatever else allows it; 0: none */
};
/* `done`: exactly once, now or later; `failed`: why it isn't (borrowed), else NULL. */
typedef void publisher_done(void *argument, const struct publication *publication, const char *failed);
void publisher_add(struct publisher *publisher, const struct publisher_wish *wish, publisher_done *done,
		   void *argument);

/* From now on: publish by itself what listens, as far as it is allowed or asked about. False at first. */
void publisher_follow(struct publisher *publisher, bool follow);
void publisher_stir(struct publisher *publisher); /* something inside began to listen */

/* Grants ended: what rests on them is cut and judged again. Rules or the broker are others: all is judged again. */
void publisher_cut(struct publisher *publisher, const int64_t *grants, size_t count);
void publisher_rename(struct publisher *publisher, int64_t from, int64_t to); /* a grant that has another id now */
/* What was named with any other grant is cut. */
void publisher_keep(struct publisher *publisher, const int64_t *grants, size_t count);
void publisher_review(struct publisher *publisher);
bool publisher_is_reviewed(const struct publisher *publisher); /* what is open was judged since */

void publisher_list(const struct publisher *publisher, struct strings *ret_publications); /* "PORT:HOSTPORT" */
