#include "fake_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "schema/clearance.h"
#include "schema/limits.h"
#include "schema/message.h"

struct fake {
	struct view *view;
	const char *matched, *events, *clearance;
	int client;
};

static void reply(const struct fake *fake, json_t *message) {
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	struct error error = ERROR_NONE;
	if (message_encode(message, &text, &size, &error) < 0 || fd_send(fake->client, text, size, &error) < 0) {
		fprintf(stderr, "fake broker: %s\n", error.message);
		_exit(1);
	}
	json_decref(message);
}

static void push_view(const struct fake *fake) {
	json_t *parts = view_to_parts(fake->view), *part;
	size_t index;
	json_array_foreach (parts, index, part) {
		json_object_set_new(part, "type", json_string("view"));
		json_object_set_new(part, "session", json_integer(1));
		reply(fake, json_incref(part));
	}
	json_decref(parts);
}

static json_t *mode_of(const struct fake *fake, const char *path) {
	const struct view_path *best = NULL;
	for (size_t i = 0; i < fake->view->path_count; i++) {
		const struct view_path *entry = &fake->view->paths[i];
		if (entry->pattern || !path_is_below(path, entry->path)) continue;
		if (!best || strlen(entry->path) > strlen(best->path)) best = entry;
	}
	enum view_mode mode = best ? best->mode : VIEW_ABSENT;
	if (fake->matched && string_equal(path_name(path), fake->matched)) mode = VIEW_ABSENT;
	return json_pack("{s:s, s:b, s:s, s:b}", "mode", view_mode_name(mode), "ask_write", 0, "denial", "nothing",
			 "mask", 0);
}

static json_t *resolve(const struct fake *fake, const json_t *paths) {
	json_t *modes = json_array(), *path;
	size_t index;
	json_array_foreach (paths, index, path) {
		CLEANUP_FREE char *bytes = NULL;
		if (message_bytes_take(path, &bytes, NULL) < 0 || !bytes) _exit(1);
		json_array_append_new(modes, mode_of(fake, bytes));
	}
	return modes;
}

static void keep_roots(const struct fake *fake, const json_t *paths, json_t *kept) {
	json_t *root;
	size_t index;
	json_array_foreach (paths, index, root) {
		CLEANUP_FREE char *path = NULL;
		if (message_bytes_take(root, &path, NULL) < 0 || !path) _exit(1);
		strings_add(&fake->view->roots, path);
		json_array_append_new(kept, json_true());
	}
}

/* The view has them from then on, and no rules for any. */
static json_t *take_roots(const struct fake *fake, const json_t *message) {
	json_t *kept = json_array();
	keep_roots(fake, json_object_get(message, "trees"), kept);
	keep_roots(fake, json_object_get(message, "found"), kept);
	if (json_array_size(kept) > 0) push_view(fake);
	return kept;
}

static void record(const struct fake *fake, const json_t *message) {
	CLEANUP_FREE char *text = json_dumps(message, JSON_COMPACT | JSON_SORT_KEYS);
	FILE *file = fopen(fake->events, "ae");
	if (!file || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0) _exit(1);
}

static json_t *clearance(const struct fake *fake) {
	struct stat status;
	if (stat(fake->clearance, &status) < 0) _exit(1);
	return json_pack("{s:o, s:I, s:i}", "file", message_bytes(fake->clearance), "inode", (json_int_t)status.st_ino,
			 "page", 0);
}

static void serve_message(const struct fake *fake, const json_t *message) {
	const char *type = json_string_value(json_object_get(message, "type"));
	json_t *answer = json_pack("{s:s, s:O}", "type", type, "id", json_object_get(message, "id"));
	bool opened = string_equal(type, "session-open");
	if (string_equal(type, "hello")) {
		json_object_set_new(answer, "protocol", json_integer(PROTOCOL_VERSION));
	} else if (opened) {
		json_object_set_new(answer, "session", json_integer(1));
		json_object_set_new(answer, "clearance", clearance(fake));
	} else if (string_equal(type, "resolve")) {
		json_object_set_new(answer, "modes", resolve(fake, json_object_get(message, "paths")));
	} else if (string_equal(type, "roots")) {
		json_object_set_new(answer, "kept", take_roots(fake, message));
	} else if (string_equal(type, "check")) {
		const struct verdict_text { const char *why; } no = {"the fake broker says no"};
		json_object_set_new(answer, "verdict",
				    json_pack("{s:s, s:s, s:s, s:n, s:n, s:n, s:b, s:b, s:b, s:b, s:b, s:b, s:b}",
					      "effect", "deny", "module", "none", "why", no.why, "rule", "grant",
					      "prompt", "private", 0, "direct", 0, "confirm", 0, "this_run", 0, "user",
					      0, "once", 0, "ipv4", 0));
	} else if (string_equal(type, "event")) {
		record(fake, message);
		json_object_set_new(answer, "seq", json_integer(1));
	}
	reply(fake, answer);
	if (opened) push_view(fake);
}

static void serve_client(const struct fake *fake) {
	static char buffer[LIMIT_MESSAGE];
	for (;;) {
		ssize_t size = recv(fake->client, buffer, sizeof buffer, 0);
		if (size <= 0) return;
		json_t *message = NULL;
		struct error error = ERROR_NONE;
		if (message_decode(buffer, (size_t)size, &message, &error) < 0) {
			fprintf(stderr, "fake broker: %s\n", error.message);
			_exit(1);
		}
		serve_message(fake, message);
		json_decref(message);
	}
}

static _Noreturn void serve(struct fake *fake, int listener) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		fake->client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fake->client < 0) _exit(1);
		serve_client(fake);
		fd_close(fake->client);
	}
}

/* Always given. */
static int make_clearance(const char *path) {
	static const struct clearance_word given = {.flags = CLEARANCE_GIVEN};
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : fd_write_all(fd, &given, sizeof given, NULL);
}

pid_t fake_broker_start(const char *path, const struct view *view, const char *matched, const char *events) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_FD int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	unlink(path);
	if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 8) < 0) return -1;
	CLEANUP_FREE char *name = string_format("%s.clearance", path);
	if (make_clearance(name) < 0) return -1;
	struct fake fake = {.matched = matched, .events = events, .clearance = name};
	pid_t pid = fork();
	if (pid == 0) {
		fake.view = view_copy(view);
		serve(&fake, listener);
	}
	return pid;
}

void fake_broker_stop(pid_t pid) {
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
}
