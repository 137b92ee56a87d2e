/* What is asked about before a tool starts: a runner in a child, and a broker that the test plays. */
#include "run/wants.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "net/gate/denied.h"
#include "runner/project.h"
#include "schema/clearance.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/cmocka.h"
#include "support/home.h"

static const char variable[] = "SBX_TEST_TOKEN";

/* The runner */

static int connect_there(void *context, struct channel **ret_channel, struct error *error) {
	return channel_connect(context, ret_channel, error);
}

/* Exits with 0 when the view that the sandbox would start with has the variable. */
static _Noreturn void run(char *socket) {
	static char *const command[] = {(char *)"tool", NULL};
	struct error error = ERROR_NONE;
	const struct run_options options = {.command = command, .connect = connect_there, .connect_context = socket};
	const struct project project = {.project = (char *)"/p", .root = (char *)"/p"};
	const struct session_options session_options = {
		.run = &options, .project = &project, .executable = "/usr/bin/tool", .directory = "/p"};
	struct denied denied = {0};
	struct session *session;
	struct view *view;
	setenv(variable, "secret", 1);
	int r = session_open(&session_options, &session, &view, &error);
	struct event_base *base = loop_new();
	const struct outlets none = {0};
	const struct wants_options wants = {.base = base,
					    .hangup = hangup_new(base),
					    .session = session,
					    .run = &options,
					    .outlets = &none,
					    .denied = &denied};
	if (r == 0) r = wants_ask(&wants, &view, &error);
	if (r < 0) fprintf(stderr, "%s\n", error.message);
	_exit(r < 0 ? 2 : !strings_contain(&view->environment, variable));
}

/* The broker */

static void say(int client, json_t *message) {
	char *text;
	size_t size;
	assert_int_equal(message_encode(message, &text, &size, NULL), 0);
	assert_int_equal(fd_send(client, text, size, NULL), 0);
	free(text);
	json_decref(message);
}

static void push_view(int client) {
	CLEANUP_VIEW struct view *view = view_new();
	view->profile = string_copy("tooled");
	view_add_path(view, "/usr", false, VIEW_READ, false);
	json_t *parts = view_to_parts(view), *part;
	size_t index;
	json_array_foreach (parts, index, part) {
		json_object_set_new(part, "type", json_string("view"));
		json_object_set_new(part, "session", json_integer(1));
		say(client, json_incref(part));
	}
	json_decref(parts);
}

/* The next request, which is of that type: its reply, so far. */
static json_t *reply_to(int client, const char *type) {
	static char buffer[LIMIT_MESSAGE];
	json_t *message;
	const ssize_t size = recv(client, buffer, sizeof buffer, 0);
	assert_true(size > 0);
	assert_int_equal(message_decode(buffer, (size_t)size, &message, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(message, "type")), type);
	json_t *reply = json_pack("{s:s, s:O}", "type", type, "id", json_object_get(message, "id"));
	json_decref(message);
	return reply;
}

static json_t *clearance(const char *path) {
	static const struct clearance_word given = {.flags = CLEARANCE_GIVEN};
	struct stat status;
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, &given, sizeof given, NULL), 0);
	assert_int_equal(fstat(fd, &status), 0);
	return json_pack("{s:o, s:I, s:i}", "file", message_bytes(path), "inode", (json_int_t)status.st_ino, "page", 0);
}

static json_t *allowed_once(void) {
	return json_pack("{s:s, s:s, s:s, s:n, s:n, s:n, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "effect", "allow",
			 "module", "grants", "why", "granted for one use", "rule", "grant", "prompt", "private", 0,
			 "direct", 0, "confirm", 0, "this_run", 0, "user", 0, "once", 1, "ipv4", 0);
}

/* Both are there when the runner looks: it is stopped meanwhile. */
static void settle_with_a_view(int client, pid_t runner, json_t *reply) {
	int status;
	assert_int_equal(kill(runner, SIGSTOP), 0);
	assert_int_equal(waitpid(runner, &status, WUNTRACED), runner);
	assert_true(WIFSTOPPED(status));
	say(client, reply);
	push_view(client);
	assert_int_equal(kill(runner, SIGCONT), 0);
}

static int listen_at(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listener, 1), 0);
	return listener;
}

static void a_variable_that_was_allowed_once_stays_when_a_view_follows_its_answer(void **state) {
	(void)state;
	CLEANUP_FREE char *path = home_path("private/broker.sock"), *page = home_path("private/clearance");
	home_write("private/empty", "");
	CLEANUP_FREE char *folder = home_path("private");
	assert_int_equal(chmod(folder, 0700), 0);
	CLEANUP_FD int listener = listen_at(path);
	const pid_t runner = fork();
	if (runner == 0) run(path);
	CLEANUP_FD int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	json_t *reply = reply_to(client, "hello");
	json_object_set_new(reply, "protocol", json_integer(PROTOCOL_VERSION));
	say(client, reply);
	reply = reply_to(client, "session-open");
	json_object_set_new(reply, "session", json_integer(1));
	json_object_set_new(reply, "clearance", clearance(page));
	json_object_set_new(reply, "wants", json_pack("[{s:s, s:s}]", "permission", "env:read", "pattern", variable));
	say(client, reply);
	push_view(client);
	reply = reply_to(client, "want");
	json_object_set_new(reply, "variables", json_pack("[{s:s, s:o}]", "name", variable, "verdict", allowed_once()));
	settle_with_a_view(client, runner, reply);
	int status;
	assert_int_equal(waitpid(runner, &status, 0), runner);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_that_was_allowed_once_stays_when_a_view_follows_its_answer),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
