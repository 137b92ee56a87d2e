/*
 * check_load: how long a permission check over the broker's socket takes, beside a bare ping-pong of datagrams of
 * the same size between two processes.
 *
 *     check_load [COUNT]              against the broker that serves now; prints microseconds
 *     check_load --fill N DATABASE    puts N grants of other projects into a database that no broker has open
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/limits.h"

enum { COUNT = 20000, WARM_UP = 500, REQUEST_SIZE = 160, REPLY_SIZE = 320 };

static int64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *a, const void *b) {
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static double report(const char *what, int64_t *times, size_t count) {
	qsort(times, count, sizeof *times, compare);
	size_t half = count / 2, most = count * 99 / 100;
	double p50 = (double)times[half] / 1000, p99 = (double)times[most] / 1000;
	printf("%-34s p50 %7.1f us   p99 %7.1f us   max %9.1f us\n", what, p50, p99, (double)times[count - 1] / 1000);
	return p50;
}

static void echo(int fd) {
	static char bytes[LIMIT_MESSAGE];
	while (recv(fd, bytes, sizeof bytes, 0) > 0)
		if (send(fd, bytes, REPLY_SIZE, MSG_NOSIGNAL) < 0) break;
	_exit(0);
}

static int ping_pong(int64_t *times, size_t count, struct error *error) {
	int ends[2];
	static char bytes[LIMIT_MESSAGE];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return error_errno(error, "socketpair");
	pid_t child = fork();
	if (child < 0) return error_errno(error, "fork");
	if (child == 0) {
		close(ends[0]);
		echo(ends[1]);
	}
	close(ends[1]);
	for (size_t i = 0; i < count + WARM_UP; i++) {
		int64_t start = now_ns();
		if (send(ends[0], bytes, REQUEST_SIZE, 0) < 0 || recv(ends[0], bytes, sizeof bytes, 0) < 0)
			return error_errno(error, "ping-pong");
		if (i >= WARM_UP) times[i - WARM_UP] = now_ns() - start;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	return 0;
}

/* One exchange of raw text, so that this side's JSON isn't measured. */
static int exchange(int fd, const char *text, char *reply, size_t size, struct error *error) {
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) return error_errno(error, "sending");
	ssize_t got = recv(fd, reply, size - 1, 0);
	if (got <= 0) return error_errno(error, "receiving");
	reply[got] = '\0';
	return 0;
}

static int checks(struct channel *channel, const char *target, bool distinct, int64_t *times, size_t count,
		  struct error *error) {
	static char reply[LIMIT_MESSAGE];
	int r = 0;
	for (size_t i = 0; r == 0 && i < count + WARM_UP; i++) {
		CLEANUP_FREE char *name = distinct ? string_format("h%zu.%s", i, target) : string_copy(target);
		CLEANUP_FREE char *text = string_format("{\"type\":\"check\",\"id\":%zu,\"permission\":\"net:access\","
							"\"target\":\"%s\",\"process\":\"bench (%d)\"}",
							i + 1000, name, (int)getpid());
		int64_t start = now_ns();
		r = exchange(channel_fd(channel), text, reply, sizeof reply, error);
		if (i >= WARM_UP) times[i - WARM_UP] = now_ns() - start;
		if (r == 0 && !strstr(reply, "\"allow\"")) r = error_set(error, EPROTO, "no allow: %.300s", reply);
	}
	return r;
}

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

static int measure(size_t count, struct error *error) {
	CLEANUP_FREE int64_t *times = mem_array(int64_t, count);
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int r = ping_pong(times, count, error);
	if (r < 0) return r;
	double bare = report("bare ping-pong", times, count);
	r = channel_socket_path(&path, error);
	if (r == 0) r = channel_connect(path, &channel, error);
	if (r == 0) r = open_session(channel, error);
	if (r == 0) r = checks(channel, "one.bench.test:443", false, times, count, error);
	if (r < 0) return r;
	double cached = report("check, cached grant", times, count);
	r = checks(channel, "many.test:443", true, times, count, error);
	if (r < 0) return r;
	report("check, grant looked up each time", times, count);
	printf("cached check / ping-pong: %.2f\n", cached / bare);
	return 0;
}

static int fill(unsigned long long count, const char *database, struct error *error) {
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

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	unsigned long long count = COUNT;
	bool filling = argc == 4 && strcmp(argv[1], "--fill") == 0;
	if (argc > 1 && (string_to_u64(argv[filling ? 2 : 1], &count) < 0 || count == 0 || (!filling && argc > 2))) {
		log_error("usage: check_load [COUNT] | check_load --fill COUNT DATABASE");
		return 2;
	}
	if ((filling ? fill(count, argv[3], &error) : measure((size_t)count, &error)) == 0) return 0;
	log_error("%s", error.message);
	return 1;
}
