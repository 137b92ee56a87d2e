/*
 * Theory of operation. Which connection rests on which grant, and what must be judged again, a gate knows (net/gate.h);
 * of it nothing else is used.
 */
#include "ipc_links.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "net/gate/gate.h"
#include "schema/limits.h"
#include "tethers.h"

struct ipc_links {
	struct ipc_options options;
	struct gate *gate;
	struct tethers *tethers;
};

/* The judge */

static uint64_t judge_again(void *context, const char *target,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct ipc_links *links = context;
	return links->options.check_again(links->options.context, target, done, argument);
}

static void judge_cancel(void *context, uint64_t ticket) {
	const struct ipc_links *links = context;
	links->options.cancel(links->options.context, ticket);
}

static void judge_report(void *context, const char *target, int64_t grant, const char *door, uint64_t sent,
			 uint64_t received, int64_t duration_ms, const char *error) {
	const struct ipc_links *links = context;
	(void)door, (void)sent, (void)received;
	if (links->options.report) links->options.report(links->options.context, target, grant, duration_ms, error);
}

struct ipc_links *ipc_links_new(const struct ipc_options *options) {
	struct ipc_links *links = mem_new(struct ipc_links);
	*links = (struct ipc_links){.options = *options};
	const struct gate_judge judge = {
		.context = links, .check_again = judge_again, .cancel = judge_cancel, .report = judge_report};
	links->gate = gate_new(options->base, &judge);
	const struct tethers_options tethers = {.base = options->base,
						.init = options->init,
						.what = "a connection to a socket of this machine",
						.door = "unix",
						.look_ms = LIMIT_IPC_LOOK_MS,
						.most = LIMIT_IPC_LINKS};
	links->tethers = tethers_new(&tethers);
	return links;
}

void ipc_links_forget(struct ipc_links *links, int socket) {
	tethers_forget(links->tethers, socket);
}

int ipc_links_add(struct ipc_links *links, int socket, const char *path, const struct verdict *verdict) {
	const struct gate_result result = {.outcome = GATE_CONNECTED, .fd = -1, .verdict = verdict, .target = path};
	/* a datagram socket that is aimed elsewhere */
	if (!tethers_forget(links->tethers, socket)) return -ECONNREFUSED;
	return tethers_add(links->tethers, socket, links->gate, &result, NULL);
}

void ipc_links_cut(struct ipc_links *links, const int64_t *grants, size_t count) {
	gate_cut(links->gate, grants, count);
}

void ipc_links_review(struct ipc_links *links) {
	gate_review(links->gate);
}

bool ipc_links_are_cut(const struct ipc_links *links) {
	return gate_is_reviewed(links->gate) && tethers_are_cut(links->tethers);
}

void ipc_links_free(struct ipc_links *links) {
	if (!links) return;
	tethers_free(links->tethers);
	gate_free(links->gate);
	free(links);
}
