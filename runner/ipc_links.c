/*
 * Theory of operation. Which connection rests on which grant, and what must be judged again, a gate knows (net/gate.h);
 * of it nothing else is used. Which sockets live is read from the sandbox's own list of them (/proc/PID/net/unix,
 * proc_net(5)), once for all links.
 */
#include "ipc_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "net/gate.h"
#include "regular.h"
#include "sandbox_sockets.h"
#include "schema/limits.h"
#include "tethers.h"

enum { IPC_LIST_MAX = 4 * 1024 * 1024 };

struct ipc_links {
	struct ipc_options options;
	struct gate *gate;
	struct tethers *tethers;
};

/* "Num RefCount Protocol Flags Type St Inode Path", all but the last two of them hexadecimal. */
static ino_t inode_of_line(char *line) {
	char *rest, *word = strtok_r(line, " ", &rest);
	for (int i = 0; word && i < 6; i++) word = strtok_r(NULL, " ", &rest);
	return word ? strtoull(word, NULL, 10) : 0;
}

/* Of all Unix sockets of the sandbox's network. */
static bool read_living(void *context, struct inodes *inodes) {
	const struct ipc_links *links = context;
	CLEANUP_FREE char *path = string_format("/proc/%d/net/unix", links->options.init), *text = NULL;
	size_t size = 0;
	if (regular_read(path, IPC_LIST_MAX, &text, &size, NULL) < 0 || size >= IPC_LIST_MAX) return false;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		const ino_t inode = inode_of_line(line);
		if (inode != 0) inodes_add(inodes, inode);
	}
	return true;
}

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
						.living = read_living,
						.context = links};
	links->tethers = tethers_new(&tethers);
	return links;
}

void ipc_links_forget(struct ipc_links *links, int socket) {
	struct sandbox_socket own;
	if (tethers_count(links->tethers) == 0 || sandbox_socket_know(socket, &own) < 0) return;
	tethers_forget(links->tethers, &own);
}

int ipc_links_add(struct ipc_links *links, int socket, const char *path, const struct verdict *verdict) {
	struct sandbox_socket own;
	int r = sandbox_socket_know(socket, &own);
	if (r < 0) return r;
	/* a datagram socket that is aimed elsewhere */
	if (!tethers_forget(links->tethers, &own)) return -ECONNREFUSED;
	if (tethers_count(links->tethers) >= LIMIT_IPC_LINKS) tethers_drop_ended(links->tethers);
	if (tethers_count(links->tethers) >= LIMIT_IPC_LINKS) return -ENOSPC;
	const struct gate_result result = {.outcome = GATE_CONNECTED, .fd = -1, .verdict = verdict, .target = path};
	tethers_add(links->tethers, &own, links->gate, &result);
	return 0;
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
