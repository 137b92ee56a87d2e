#include "support/broker.h"

#include "support/cmocka.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/clearance.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/home.h"
#include "support/patience.h"

enum { ARGUMENTS_MAX = 16 };

int broker_start(const char *const *arguments) {
	CLEANUP_FREE char *path = home_path("bin/sbxd");
	const char *argv[ARGUMENTS_MAX] = {"sbxd"};
	for (size_t i = 0; arguments && arguments[i]; i++) {
		assert_true(i + 2 < ARGUMENTS_MAX);
		argv[i + 1] = arguments[i];
	}
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* What can't be traced can't be searched for leaks at its end. */
		setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
		execv(path, (char *const *)argv);
		_exit(127);
	}
	int status;
	while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t broker_pid(void) {
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	if (!peer) return -1;
	json_t *status = peer_call(peer, "status", NULL);
	pid_t pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
	json_decref(status);
	return pid;
}

/* Whatever the tests made the broker do, it asked the kernel for nothing that isn't on its list
 * (broker/core/confine.c). */
static void no_call_was_refused(void) {
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbxd.log");
	CLEANUP_FREE char *log = NULL;
	if (file_read(path, 16 * 1024 * 1024, &log, NULL, NULL) < 0) return;
	const char *refused = strstr(log, "system call");
	if (refused) fail_msg("sbxd.log: %.200s", refused);
}

static void end_broker(int number) {
	no_call_was_refused();
	pid_t pid = broker_pid();
	if (pid <= 0) return;
	CLEANUP_FD int held = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(held >= 0);
	assert_int_equal(kill(pid, number), 0);
	struct pollfd gone = {.fd = held, .events = POLLIN};
	assert_int_equal(poll(&gone, 1, PATIENCE_MS), 1);
	no_call_was_refused();
}

void broker_stop(void) {
	end_broker(SIGTERM);
}

void broker_kill(void) {
	end_broker(SIGKILL);
}

int broker_teardown(void **state) {
	(void)state;
	broker_stop();
	return 0;
}

const char *text_of(const json_t *message, const char *key) {
	const char *text = json_string_value(json_object_get(message, key));
	return text ? text : "";
}

int64_t number_of(const json_t *message, const char *key) {
	return json_integer_value(json_object_get(message, key));
}

struct peer *peer_connect(bool hello) {
	CLEANUP_FREE char *path = NULL;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	assert_true(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path));
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return NULL;
	struct peer *peer = mem_new(struct peer);
	peer->fd = fd_steal(&fd);
	peer->pushes = json_array();
	if (hello) {
		json_t *reply = peer_call(peer, "hello",
					  json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", "test"));
		assert_string_equal(json_string_value(json_object_get(reply, "type")), "hello");
		json_decref(reply);
	}
	return peer;
}

void peer_free(struct peer *peer) {
	if (!peer) return;
	fd_close(peer->fd);
	json_decref(peer->pushes);
	free(peer);
}

void peer_free_p(struct peer **peer) {
	peer_free(*peer);
}

void peer_send_text(struct peer *peer, const char *bytes, size_t size) {
	/* A broker that has closed already is seen by what is received. */
	if (send(peer->fd, bytes, size, MSG_NOSIGNAL) < 0) assert_true(errno == EPIPE || errno == ECONNRESET);
}

int64_t peer_send(struct peer *peer, const char *type, json_t *body) {
	if (!body) body = json_object();
	json_object_set_new(body, "type", json_string(type));
	json_object_set_new(body, "id", json_integer(++peer->last_id));
	CLEANUP_FREE char *text = NULL;
	size_t size;
	assert_int_equal(message_encode(body, &text, &size, NULL), 0);
	json_decref(body);
	peer_send_text(peer, text, size);
	return peer->last_id;
}

bool peer_is_quiet(struct peer *peer, int ms) {
	struct pollfd ready = {.fd = peer->fd, .events = POLLIN};
	return poll(&ready, 1, ms) == 0;
}

json_t *peer_receive(struct peer *peer) {
	static char bytes[LIMIT_MESSAGE];
	assert_false(peer_is_quiet(peer, PATIENCE_MS));
	ssize_t size = recv(peer->fd, bytes, sizeof bytes, 0);
	if (size <= 0) return NULL;
	json_t *message = NULL;
	assert_int_equal(message_decode(bytes, (size_t)size, &message, NULL), 0);
	return message;
}

/* Why is in its log, if anywhere. */
static void fail_closed(void) {
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbxd.log");
	CLEANUP_FREE char *log = NULL;
	file_read(path, 16 * 1024 * 1024, &log, NULL, NULL);
	size_t size = log ? strlen(log) : 0;
	fail_msg("the broker has closed the connection; sbxd.log ends: %s",
		 log ? log + (size > 300 ? size - 300 : 0) : "");
}

/* A push's own "id" is a prompt's: a reply has one of a request, and its type is no push's. */
static bool is_reply(const json_t *message, int64_t id) {
	const json_t *answered = json_object_get(message, "id");
	const char *type = json_string_value(json_object_get(message, "type"));
	bool push = !answered || strcmp(type, "prompt") == 0 || strcmp(type, "prompt-gone") == 0;
	return !push && json_integer_value(answered) == id;
}

/* One that came before another that was waited for. */
static json_t *take_reply(struct peer *peer, int64_t id) {
	size_t index;
	json_t *message;
	json_array_foreach (peer->pushes, index, message) {
		if (!is_reply(message, id)) continue;
		json_incref(message);
		json_array_remove(peer->pushes, index);
		return message;
	}
	return NULL;
}

json_t *peer_reply(struct peer *peer, int64_t id) {
	json_t *message = take_reply(peer, id);
	while (!message) {
		message = peer_receive(peer);
		if (!message) fail_closed();
		if (is_reply(message, id)) break;
		json_array_append_new(peer->pushes, message);
		message = NULL;
	}
	return message;
}

json_t *peer_call(struct peer *peer, const char *type, json_t *body) {
	return peer_reply(peer, peer_send(peer, type, body));
}

static json_t *take_push(struct peer *peer, const char *type) {
	size_t index;
	json_t *push;
	json_array_foreach (peer->pushes, index, push) {
		if (strcmp(json_string_value(json_object_get(push, "type")), type) != 0) continue;
		json_incref(push);
		json_array_remove(peer->pushes, index);
		return push;
	}
	return NULL;
}

static json_t *next_push(struct peer *peer, const char *type) {
	for (;;) {
		json_t *push = take_push(peer, type);
		if (push) return push;
		push = peer_receive(peer);
		assert_non_null(push);
		json_array_append_new(peer->pushes, push);
	}
}

static json_t *paths_of(json_t *push) {
	return json_object_get(json_object_get(push, "view"), "paths");
}

static void add_part(json_t *push, json_t *part) {
	const char *key;
	json_t *list;
	json_object_foreach (paths_of(part), key, list) {
		json_t *known = json_object_get(paths_of(push), key);
		if (known)
			json_array_extend(known, list);
		else
			json_object_set(paths_of(push), key, list);
	}
}

/* A view that comes in several parts is one. */
json_t *peer_push(struct peer *peer, const char *type) {
	json_t *push = next_push(peer, type);
	const json_int_t parts = json_integer_value(json_object_get(push, "parts"));
	for (json_int_t i = 1; i < parts; i++) {
		json_t *part = next_push(peer, type);
		add_part(push, part);
		json_decref(part);
	}
	return push;
}

/* As a runner says that an answer is under way (schema/clearance.h): never, unless the test writes to it. */
static int answering_file(void) {
	static int fd = -1;
	if (fd >= 0) return fd;
	fd = memfd_create("answering", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(clearance_answering)) < 0) fail_msg("a memory file: %s", strerror(errno));
	return fd;
}

json_t *session_wish(json_t *keys) {
	CLEANUP_FREE char *app = home_path("app");
	json_t *body = json_pack("{s:[s], s:s, s:s, s:s, s:s, s:[s], s:i}", "command", "tool", "executable",
				 "/usr/bin/tool", "project", app, "root", app, "cwd", app, "environment", "LANG",
				 "answering", answering_file());
	if (keys) json_object_update(body, keys);
	json_decref(keys);
	return body;
}

int64_t peer_open_session(struct peer *peer, json_t *keys) {
	json_t *reply = peer_call(peer, "session-open", session_wish(keys));
	int64_t session = json_integer_value(json_object_get(reply, "session"));
	if (session == 0) fail_msg("session-open: %s", json_string_value(json_object_get(reply, "message")));
	json_decref(reply);
	return session;
}
