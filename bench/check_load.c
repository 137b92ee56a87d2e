/*
 * check_load: how long a permission check over the broker's socket takes, beside a bare ping-pong of datagrams of
 * the same size between processes.
 *
 *     check_load ping CLIENTS COUNT      datagrams to one process that answers them all
 *     check_load cached CLIENTS COUNT    checks by the broker that serves now, of a target that was asked for before
 *     check_load distinct CLIENTS COUNT  likewise, of ever new ones
 *     check_load fill N DATABASE         put N grants of other projects into a database that no broker has open
 *     check_load hold CLIENTS            connect so many that have said hello; leave when the input ends
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "load.h"
#include "schema/channel.h"
#include "schema/limits.h"

enum { WARM_UP = 500, REQUEST_SIZE = 110, REPLY_SIZE = 240 }; /* as a check's are */

/* The bare ping-pong: each client has one end of a pair, one process answers on all the others. */

struct pair {
	int client, server;
};

static int open_end(const struct load *load, size_t client, void **ret_client, struct error *error) {
	(void)error;
	*ret_client = (void *)&((const struct pair *)load->context)[client].client;
	return 0;
}

static int ping(void *client, size_t number, struct error *error) {
	(void)number;
	static char bytes[LIMIT_MESSAGE];
	int fd = *(const int *)client;
	if (send(fd, bytes, REQUEST_SIZE, MSG_NOSIGNAL) < 0 || recv(fd, bytes, sizeof bytes, 0) <= 0)
		return error_errno(error, "ping-pong");
	return 0;
}

_Noreturn static void echo(const struct pair *pairs, size_t clients) {
	static char bytes[LIMIT_MESSAGE];
	int waiter = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < clients; i++) {
		struct epoll_event wanted = {.events = EPOLLIN, .data.fd = pairs[i].server};
		fd_close(pairs[i].client);
		if (epoll_ctl(waiter, EPOLL_CTL_ADD, pairs[i].server, &wanted) < 0) _exit(1);
	}
	/* A single client needs no asking which one. */
	struct epoll_event ready = {.data.fd = pairs[0].server};
	while (clients == 1 || epoll_wait(waiter, &ready, 1, -1) == 1)
		if (recv(ready.data.fd, bytes, sizeof bytes, 0) <= 0 ||
		    send(ready.data.fd, bytes, REPLY_SIZE, MSG_NOSIGNAL) < 0)
			break;
	_exit(0);
}

static int ping_pong(size_t clients, size_t count, struct error *error) {
	CLEANUP_FREE struct pair *pairs = mem_array(struct pair, clients);
	for (size_t i = 0; i < clients; i++) {
		int ends[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			return error_errno(error, "socketpair");
		pairs[i] = (struct pair){ends[0], ends[1]};
	}
	pid_t server = fork();
	if (server < 0) return error_errno(error, "fork");
	if (server == 0) echo(pairs, clients);
	const struct load load = {"bare ping-pong", pairs, open_end, NULL, ping, WARM_UP};
	int r = load_run(&load, clients, count, error);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	for (size_t i = 0; i < clients; i++) {
		fd_close(pairs[i].client);
		fd_close(pairs[i].server);
	}
	return r;
}

/* Checks: raw text, so that this side's JSON isn't measured. */

struct checker {
	struct channel *channel;
	size_t client;
	bool distinct;
	char *text, reply[LIMIT_MESSAGE + 1];
};

static int open_session(struct channel *channel, struct error *error) {
	json_t *reply = NULL, *message = NULL;
	json_t *wish = json_pack("{s:[s], s:s, s:s, s:s, s:s, s:[s, s]}", "command", "bench", "executable",
				 "/usr/bin/bench", "project", "/srv/bench", "root", "/srv/bench", "cwd", "/srv/bench",
				 "allow", "net:access=one.bench.test:443", "net:access=*.many.test:443");
	int r = channel_call(channel, "session-open", wish, &reply, error);
	json_decref(reply);
	/* The view follows in parts; they must not be taken for replies. */
	for (int64_t part = 0, parts = 1; r == 0 && part < parts;) {
		r = channel_receive(channel, true, &message, error);
		if (r < 0) break;
		part = json_integer_value(json_object_get(message, "part"));
		parts = json_integer_value(json_object_get(message, "parts"));
		json_decref(message);
	}
	return r;
}

static int connect_broker(struct channel **ret_channel, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int r = channel_socket_path(&path, error);
	return r < 0 ? r : channel_connect(path, ret_channel, error);
}

static int open_checker(const struct load *load, size_t client, void **ret_client, struct error *error) {
	struct checker *checker = mem_new(struct checker);
	checker->client = client;
	checker->distinct = *(const bool *)load->context;
	int r = connect_broker(&checker->channel, error);
	if (r == 0) r = open_session(checker->channel, error);
	*ret_client = checker;
	return r;
}

static void prepare_check(void *client, size_t number) {
	struct checker *checker = client;
	CLEANUP_FREE char *target = checker->distinct ? string_format("h%zu-%zu.many.test:443", checker->client, number)
						      : string_copy("one.bench.test:443");
	free(checker->text);
	checker->text = string_format("{\"type\":\"check\",\"id\":%zu,\"permission\":\"net:access\","
				      "\"target\":\"%s\",\"process\":\"bench (%d)\"}",
				      number + 1000, target, (int)getpid());
}

static int check(void *client, size_t number, struct error *error) {
	(void)number;
	struct checker *checker = client;
	int fd = channel_fd(checker->channel);
	if (send(fd, checker->text, strlen(checker->text), MSG_NOSIGNAL) < 0) return error_errno(error, "sending");
	ssize_t got = recv(fd, checker->reply, sizeof checker->reply - 1, 0);
	if (got <= 0) return error_errno(error, "receiving");
	checker->reply[got] = '\0';
	if (strstr(checker->reply, "\"effect\":\"allow\"")) return 0;
	return error_set(error, EPROTO, "no allow: %.300s", checker->reply);
}

static int checks(size_t clients, size_t count, bool distinct, struct error *error) {
	const struct load load = {distinct ? "check, grant looked up each time" : "check, cached grant",
				  &distinct,
				  open_checker,
				  prepare_check,
				  check,
				  WARM_UP};
	return load_run(&load, clients, count, error);
}

static int cached(size_t clients, size_t count, struct error *error) {
	return checks(clients, count, false, error);
}

static int distinct(size_t clients, size_t count, struct error *error) {
	return checks(clients, count, true, error);
}

/* What is there besides */

static int hold(size_t clients, struct error *error) {
	/* So many of one process are refused, so each is one. */
	for (size_t i = 0; i < clients; i++) {
		struct channel *channel = NULL;
		int ready[2];
		if (pipe(ready) < 0) return error_errno(error, "pipe");
		pid_t child = fork();
		if (child < 0) return error_errno(error, "fork");
		if (child == 0) {
			int r = connect_broker(&channel, error);
			if (r < 0) log_error("%s", error->message);
			if (r < 0 || write(ready[1], "", 1) != 1) _exit(1);
			char byte;
			while (read(STDIN_FILENO, &byte, 1) > 0) continue;
			_exit(0);
		}
		fd_close(ready[1]);
		char byte;
		ssize_t got = read(ready[0], &byte, 1);
		fd_close(ready[0]);
		if (got != 1) return error_set(error, EIO, "client %zu was not let in", i);
	}
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0) continue;
	return 0;
}

static int fill(size_t count, const char *database, struct error *error) {
	static const char sql[] =
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
		" INSERT INTO grants (active, permission, key, pattern, effect, profile, project, lifetime, created_ms,"
		" expires_ms, expires_boot_ms, boot_id, origin) SELECT 1, 'net:access', 'h' || i % 1000 || "
		"'.many.test',"
		" 'h' || i % 1000 || '.many.test:443', 'allow', 'default', '/srv/project' || i, 'always', 0, 0, 0, '',"
		" 'import' FROM n";
	sqlite3 *db = NULL;
	sqlite3_stmt *insert = NULL;
	int r = 0;
	if (sqlite3_open_v2(database, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, sql, -1, &insert, NULL) != SQLITE_OK ||
	    sqlite3_bind_int64(insert, 1, (sqlite3_int64)count) != SQLITE_OK || sqlite3_step(insert) != SQLITE_DONE)
		r = error_set(error, EIO, "%s: %s", database, sqlite3_errmsg(db));
	sqlite3_finalize(insert);
	sqlite3_close(db);
	return r;
}

static const struct {
	const char *name;
	int (*run)(size_t clients, size_t count, struct error *error);
} loads[] = {{"ping", ping_pong}, {"cached", cached}, {"distinct", distinct}};

static bool number(const char *text, size_t *ret_number) {
	unsigned long long value;
	if (string_to_u64(text, &value) < 0 || value == 0 || value > 100 * 1000 * 1000) return false;
	*ret_number = (size_t)value;
	return true;
}

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	size_t first = 0, second = 0;
	int r = 1;
	if (argc < 3 || !number(argv[2], &first)) argc = 0;
	for (size_t i = 0; argc == 4 && i < ARRAY_LENGTH(loads); i++)
		if (strcmp(argv[1], loads[i].name) == 0 && number(argv[3], &second))
			r = loads[i].run(first, second, &error);
	if (argc == 4 && strcmp(argv[1], "fill") == 0) r = fill(first, argv[3], &error);
	if (argc == 3 && strcmp(argv[1], "hold") == 0) r = hold(first, &error);
	if (r == 0) return 0;
	if (r > 0)
		log_error("usage: check_load ping|cached|distinct CLIENTS COUNT | fill COUNT DATABASE | hold CLIENTS");
	else
		log_error("%s", error.message);
	return r > 0 ? 2 : 1;
}
