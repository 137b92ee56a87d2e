/*
 * durable_load: how many durable changes are made a second: each is on the disk before it is answered.
 *
 *     durable_load fsync CLIENTS COUNT FOLDER    each client writes 4 KiB to a file of its own there, and syncs it
 *     durable_load grant CLIENTS COUNT           grants made, by the broker that serves now
 *     durable_load answer CLIENTS COUNT          prompts answered: a request that asks, the prompt, the answer, the
 * verdict
 *
 * Each client is a process. Prints what load.h says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "load.h"
#include "schema/channel.h"

enum { WARM_UP = 5, BLOCK = 4096 };

/* The yardstick: what the file system can do. */

static int open_file(const struct load *load, size_t client, void **ret_client, struct error *error) {
	CLEANUP_FREE char *path = string_format("%s/fsync.%zu", (const char *)load->context, client);
	int *fd = mem_new(int);
	*fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	*ret_client = fd;
	return *fd < 0 ? error_errno(error, "%s", path) : 0;
}

static int write_block(void *client, size_t number, struct error *error) {
	static const char block[BLOCK];
	int fd = *(const int *)client;
	if (pwrite(fd, block, sizeof block, (off_t)number * BLOCK) < 0 || fdatasync(fd) < 0)
		return error_errno(error, "writing");
	return 0;
}

/* The broker */

struct person {
	size_t number;
	struct channel *session, *agent;
	int64_t id;
};

static int connect_broker(struct channel **ret_channel, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int r = channel_socket_path(&path, error);
	return r < 0 ? r : channel_connect(path, ret_channel, error);
}

static int call(struct channel *channel, const char *type, json_t *body, struct error *error) {
	json_t *reply = NULL;
	int r = channel_call(channel, type, body, &reply, error);
	json_decref(reply);
	return r;
}

static int open_granter(const struct load *load, size_t client, void **ret_client, struct error *error) {
	(void)load;
	struct person *person = mem_new(struct person);
	person->number = client;
	*ret_client = person;
	return connect_broker(&person->session, error);
}

static int grant(void *client, size_t number, struct error *error) {
	const struct person *person = client;
	CLEANUP_FREE char *target = string_format("h%d-%zu.grant.test:443", (int)getpid(), number);
	return call(person->session, "grant",
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target", target, "effect",
			      "allow", "lifetime", "always", "project", "/srv/bench"),
		    error);
}

/* A session that asks, and an agent that is shown its prompts alone. */
static int open_answerer(const struct load *load, size_t client, void **ret_client, struct error *error) {
	struct person *person;
	json_t *reply = NULL;
	int r = open_granter(load, client, ret_client, error);
	if (r < 0) return r;
	person = *ret_client;
	r = channel_call(person->session, "session-open",
			 json_pack("{s:[s], s:s, s:s, s:s, s:s}", "command", "bench", "executable", "/usr/bin/bench",
				   "project", "/srv/bench", "root", "/srv/bench", "cwd", "/srv/bench"),
			 &reply, error);
	int64_t session = json_integer_value(json_object_get(reply, "session"));
	json_decref(reply);
	if (r == 0) r = connect_broker(&person->agent, error);
	if (r == 0)
		r = call(person->agent, "agent", json_pack("{s:s, s:I}", "kind", "terminal", "session", session),
			 error);
	return r;
}

/* The next message of that type; others are passed over. */
static int wait_for(struct channel *channel, const char *type, json_t **ret_message, struct error *error) {
	for (;;) {
		int r = channel_receive(channel, true, ret_message, error);
		if (r < 0) return r;
		const char *got = json_string_value(json_object_get(*ret_message, "type"));
		if (string_equal(got, type)) return 0;
		if (string_equal(got, "error"))
			r = error_set(error, EPROTO, "%s", json_string_value(json_object_get(*ret_message, "message")));
		json_decref(*ret_message);
		if (r < 0) return r;
	}
}

static int is_allow(json_t *reply, struct error *error) {
	const json_t *verdict = json_object_get(reply, "verdict");
	bool allowed = string_equal(json_string_value(json_object_get(verdict, "effect")), "allow");
	if (!allowed) error_set(error, EPROTO, "no allow: %s", json_string_value(json_object_get(verdict, "why")));
	json_decref(reply);
	return allowed ? 0 : -EPROTO;
}

static int answer(void *client, size_t number, struct error *error) {
	struct person *person = client;
	CLEANUP_FREE char *target = string_format("h%d-%zu.ask.test:443", (int)getpid(), number);
	json_t *prompt = NULL, *reply = NULL;
	int64_t id;
	int r = channel_send(person->session, "check",
			     json_pack("{s:s, s:s}", "permission", "net:access", "target", target), &id, error);
	if (r == 0) r = wait_for(person->agent, "prompt", &prompt, error);
	if (r < 0) return r;
	r = call(person->agent, "answer",
		 json_pack("{s:O, s:O, s:s, s:s}", "prompt", json_object_get(prompt, "id"), "token",
			   json_object_get(prompt, "token"), "effect", "allow", "lifetime", "always"),
		 error);
	json_decref(prompt);
	if (r == 0) r = wait_for(person->session, "check", &reply, error);
	return r == 0 ? is_allow(reply, error) : r;
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		struct load load;
		int arguments;
	} modes[] = {
		{"fsync", {"4 KiB written and synced", NULL, open_file, NULL, write_block, WARM_UP}, 5},
		{"grant", {"grant made", NULL, open_granter, NULL, grant, WARM_UP}, 4},
		{"answer", {"prompt answered", NULL, open_answerer, NULL, answer, WARM_UP}, 4},
	};
	struct error error = ERROR_NONE;
	unsigned long long clients = 0, count = 0;
	for (size_t i = 0; argc > 3 && i < ARRAY_LENGTH(modes); i++) {
		struct load load = modes[i].load;
		if (strcmp(argv[1], modes[i].name) != 0 || argc != modes[i].arguments) continue;
		if (string_to_u64(argv[2], &clients) < 0 || string_to_u64(argv[3], &count) < 0 || clients < 1 ||
		    clients > 1000 || count < 1 || count > 1000000)
			break;
		load.context = argv[4];
		if (load_run(&load, (size_t)clients, (size_t)count, &error) == 0) return 0;
		log_error("%s", error.message);
		return 1;
	}
	log_error("usage: durable_load fsync CLIENTS COUNT FOLDER | grant|answer CLIENTS COUNT");
	return 2;
}
