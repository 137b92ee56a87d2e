/*
 * broker: the command line's side of the broker: connect (starting it where it is absent), call, list.
 *
 * Promises: however many start it at once, one broker results and all get through; a broker that leaves between
 * connect and hello is started again. Errors say what to do. Nothing here decides anything.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "schema/channel.h"

/* The path of a program of ours: beside the running one (build tree, bindir), else in ../libexec/sbx. -ENOENT. */
int program_find(const char *name, char **ret_path, struct error *error);

/* `context` is not used: the signature is that of run_options.connect. */
int broker_connect(void *context, struct channel **ret_channel, struct error *error);

/* Connect, call, disconnect. `body` is taken over. */
int broker_call(const char *type, json_t *body, json_t **ret_reply, struct error *error);

/*
 * Every item of a listing, page by page. `what` is grants, prompts, sessions or history; `filter` (taken over; NULL =
 * none) as in docs/protocol.md. `each` returns 0 to go on; what else it returns ends the listing and is returned.
 */
struct listing {
	const char *what;
	bool ended_too;
	bool newest; /* first; else the oldest */
	json_t *filter;
	int (*each)(void *context, const json_t *item, struct error *error);
	int (*page)(void *context, struct error *error); /* after every page; or NULL */
	void *context;
};
int broker_list(struct channel *channel, const struct listing *listing, struct error *error);

/* json_object_set_new that leaves out a NULL text; any bytes. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_id(json_t *object, const char *key, int64_t id); /* 0 is left out */
