/*
 * Unix sockets of the host and of a sandbox's own, connected to by a tool under a filter (den.h): judged by the test.
 */
#include "net/sockets/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "den.h"
#include "plan/lead.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/passing.h"
#include "support/patience.h"

static struct den den;

/* The broker */

static struct {
	struct ipc *ipc;
	enum effect effect; /* of what is asked */
	const char *module;
	bool once, later, user;
	const char *asks; /* what the view's sockets_asked says, below top; NULL: nothing */
	struct strings questions, refused, reported;
	void (*done)(void *argument, const struct verdict *verdict);
	void *argument;
	void (*asked)(void); /* called when a question waits */
	enum effect again;
	size_t cancelled;
} judge;

static void answer(enum effect effect) {
	const struct verdict verdict = {.effect = effect,
					.grant = effect == EFFECT_ALLOW && !judge.once ? 7 : 0,
					.once = judge.once,
					.asked_user = judge.user,
					.why = (char *)"the test says so"};
	struct verdict said = verdict;
	snprintf(said.module, sizeof said.module, "%s", judge.module);
	void (*done)(void *argument, const struct verdict *verdict) = judge.done;
	judge.done = NULL;
	done(judge.argument, &said);
}

static uint64_t check(void *context, pid_t thread, const char *path,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	(void)context, (void)thread;
	strings_add(&judge.questions, path + (path_is_below(path, den.top) ? strlen(den.top) : 0));
	judge.done = done;
	judge.argument = argument;
	if (judge.asked) judge.asked();
	if (judge.later) return 1;
	answer(judge.effect);
	return 0;
}

static uint64_t check_again(void *context, const char *path,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct verdict verdict = {.effect = judge.again, .module = "rules", .grant = 7};
	(void)context, (void)path;
	done(argument, &verdict);
	return 0;
}

static void cancel(void *context, uint64_t ticket) {
	(void)context, (void)ticket;
	judge.done = NULL;
	judge.cancelled++;
}

static void refused(void *context, const char *path, const struct verdict *verdict) {
	(void)context, (void)verdict;
	strings_add(&judge.refused, path + strlen(den.top));
}

static void report(void *context, const char *path, int64_t grant, int64_t duration_ms, const char *error) {
	(void)context;
	assert_true(duration_ms >= 0);
	strings_addf(&judge.reported, "%s %lld %s", path + strlen(den.top), (long long)grant, error ? error : "ended");
	event_base_loopbreak(den.base); /* den_run goes on */
}

static bool is_own(void *context, dev_t device, ino_t inode, char **ret_name) {
	(void)context;
	return diag_bound(den.diag, device, inode, ret_name);
}

static void handle(void *context, struct socket_call *call) {
	(void)context;
	ipc_call(judge.ipc, call);
}

static int begin(void **state) {
	(void)state;
	judge.effect = judge.again = EFFECT_DENY;
	judge.module = "ask";
	judge.once = judge.later = judge.user = false;
	judge.asks = NULL;
	judge.asked = NULL;
	judge.cancelled = 0;
	return 0;
}

static int end(void **state) {
	(void)state;
	strings_finish(&judge.questions);
	strings_finish(&judge.refused);
	strings_finish(&judge.reported);
	return 0;
}

static void start(void (*tool)(const char *top)) {
	den.handle = handle;
	den_start(&den, tool);
	const struct ipc_options options = {.base = den.base,
					    .init = den.init,
					    .is_own = is_own,
					    .check = check,
					    .check_again = check_again,
					    .cancel = cancel,
					    .refused = refused,
					    .report = report};
	judge.ipc = ipc_new(&options);
	CLEANUP_VIEW struct view *view = view_new();
	if (judge.asks) strings_take(&view->sockets_asked, path_join(den.top, judge.asks));
	ipc_set_view(judge.ipc, view);
}

static void stop(void) {
	ipc_free(judge.ipc);
	den_end(&den);
}

static void run(void (*tool)(const char *top)) {
	start(tool);
	while (!den.ended) den_run(&den);
	stop();
}

static void expect(const char *output) {
	if (strcmp(den.output, output) != 0) fail_msg("said '%s', not '%s'", den.output, output);
}

static void expect_questions(size_t count, const char *last) {
	assert_int_equal(judge.questions.count, count);
	if (count > 0) assert_string_equal(judge.questions.items[count - 1], last);
}

/* Both sides */

static struct sockaddr_un address_of(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	assert_true(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path));
	return address;
}

static int bound(const char *folder, const char *name, int type) {
	CLEANUP_FREE char *path = path_join(folder, name);
	const struct sockaddr_un address = address_of(path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	unlink(path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0) return -1;
	return type == SOCK_DGRAM || listen(fd, 8) == 0 ? fd : -1;
}

static int on_host(const char *name, int type) {
	int fd = bound(den.top, name, type);
	assert_true(fd >= 0);
	return fd;
}

static void gone(const char *name) {
	CLEANUP_FREE char *path = path_join(den.top, name);
	unlink(path);
}

static int connect_path(int fd, const char *folder, const char *name) {
	CLEANUP_FREE char *path = folder ? path_join(folder, name) : string_copy(name);
	const struct sockaddr_un address = address_of(path);
	return connect(fd, (const struct sockaddr *)&address, sizeof address);
}

static int connected(const char *folder, const char *name, int type) {
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (connect_path(fd, folder, name) == 0) return fd;
	const int code = errno;
	close(fd);
	errno = code;
	return -1;
}

static ssize_t send_path(int fd, const char *folder, const char *name, const char *text) {
	CLEANUP_FREE char *path = path_join(folder, name);
	const struct sockaddr_un address = address_of(path);
	return sendto(fd, text, strlen(text), 0, (const struct sockaddr *)&address, sizeof address);
}

/* Who has come already; -1: nobody. */
static int accept_now(int fd) {
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	return poll(&polled, 1, 0) == 1 ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
}

static void expect_bytes(int fd, const char *text) {
	char bytes[64] = "";
	ssize_t size = recv(fd, bytes, sizeof bytes - 1, MSG_DONTWAIT);
	if (size < 0 || strcmp(bytes, text) != 0) fail_msg("got '%s' (%zd), not '%s'", bytes, size, text);
}

/* The sandbox's own */

static struct sockaddr_un abstract_address(const char *name, socklen_t *ret_size) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path + 1, name, strlen(name));
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	return address;
}

static int connect_abstract(const char *name) {
	socklen_t size;
	const struct sockaddr_un address = abstract_address(name, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(fd, (const struct sockaddr *)&address, size);
}

static int bind_abstract(const char *name) {
	socklen_t size;
	const struct sockaddr_un address = abstract_address(name, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 8) < 0) return -1;
	return fd;
}

static void tool_own(const char *top) {
	CLEANUP_FREE char *shown = path_join(top, "shown"), *hidden = path_join(top, "hidden");
	int stream = bound(shown, "own", SOCK_STREAM), packets = bound(hidden, "own", SOCK_SEQPACKET);
	int datagrams = bound(shown, "mail", SOCK_DGRAM), sender = socket(AF_UNIX, SOCK_DGRAM, 0), pair[2];
	char byte = 0;
	den_say("stream", connected(shown, "own", SOCK_STREAM));
	den_say("packets", connected(hidden, "own", SOCK_SEQPACKET));
	den_say("wrong type", connected(hidden, "own", SOCK_STREAM));
	den_say("datagram", send_path(sender, shown, "mail", "m"));
	if (recv(datagrams, &byte, 1, 0) != 1 || byte != 'm') den_write("no mail");
	den_say("aimed", connect_path(sender, shown, "mail"));
	den_say("sent", send(sender, "n", 1, 0));
	den_say("elsewhere", connect_path(sender, hidden, "nothing"));
	den_say("abstract", bind_abstract("sbx-den-own"));
	den_say("to it", connect_abstract("sbx-den-own"));
	den_say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	den_say("again", connect_path(pair[0], shown, "own"));
	close(stream);
	close(packets);
	den_say("closed", connected(shown, "own", SOCK_STREAM));
}

static void what_the_sandbox_bound_is_free(void **state) {
	(void)state;
	run(tool_own);
	expect("stream: worked\npackets: worked\nwrong type: EPROTOTYPE\ndatagram: worked\naimed: worked\nsent: "
	       "worked\n"
	       "elsewhere: ENOENT\nabstract: worked\nto it: worked\npair: worked\nagain: EISCONN\nclosed: "
	       "ECONNREFUSED\n");
	expect_questions(0, NULL);
	gone("shown/own");
	gone("shown/mail");
}

static void tool_addresses(const char *top) {
	CLEANUP_FREE char *file = path_join(top, "shown/file"), *folder = path_join(top, "shown");
	const struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
	struct sockaddr_un odd = address_of(file);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), datagrams = socket(AF_UNIX, SOCK_DGRAM, 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	den_say("file", connect_path(fd, NULL, file));
	den_say("folder", connect_path(fd, NULL, folder));
	den_say("below", connect_path(fd, folder, "file/below"));
	den_say("missing", connect_path(fd, folder, "missing"));
	den_say("unnamed", connect(fd, (const struct sockaddr *)&odd, offsetof(struct sockaddr_un, sun_path)));
	den_say("unspecified", connect(fd, &unspecified, sizeof unspecified));
	den_say("dissolved", connect(datagrams, &unspecified, sizeof unspecified));
	den_say("too long", connect(fd, (const struct sockaddr *)&odd, sizeof odd + 1));
	odd.sun_family = AF_INET;
	den_say("family", connect(fd, (const struct sockaddr *)&odd, sizeof odd));
	den_say("stream to", send_path(fd, folder, "missing", "x"));
	unlink(file);
}

static char *outside(void (*tool)(const char *top)) {
	int pair[2];
	static char text[4096];
	size_t size = 0;
	ssize_t got;
	assert_int_equal(pipe2(pair, 0), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pair[1], 3);
		tool(den.top);
		_exit(0);
	}
	close(pair[1]);
	while ((got = read(pair[0], text + size, sizeof text - 1 - size)) > 0) size += (size_t)got;
	text[size] = '\0';
	close(pair[0]);
	waitpid(child, NULL, 0);
	return text;
}

static void odd_addresses_are_as_outside(void **state) {
	(void)state;
	run(tool_addresses);
	expect(outside(tool_addresses));
	assert_non_null(strstr(den.output, "missing: ENOENT"));
	expect_questions(0, NULL);
}

static void tool_abstract(const char *top) {
	(void)top;
	den_say("abstract", connect_abstract("sbx-den-host"));
}

static void attack_n_13_abstract_sockets_of_the_host_are_not_there(void **state) {
	(void)state;
	int fd = bind_abstract("sbx-den-host");
	assert_true(fd >= 0);
	run(tool_abstract);
	expect("abstract: ECONNREFUSED\n");
	expect_questions(0, NULL);
	close(fd);
}

/* The host's */

static void tool_talk(const char *top) {
	struct sockaddr_un peer = {0};
	socklen_t size = sizeof peer;
	char bytes[8] = "";
	int fd = connected(top, "shown/host", SOCK_STREAM);
	den_say("host", fd);
	if (fd < 0) return;
	den_say("name", getpeername(fd, (struct sockaddr *)&peer, &size));
	den_write(path_name(peer.sun_path));
	if (write(fd, "hello", 5) != 5 || read(fd, bytes, 2) != 2) den_write("no bytes");
	den_write(bytes);
	den_say("again", connect_path(fd, top, "shown/host"));
}

static void serve_one(void) {
	judge.asked = NULL;
}

static int listener;

static void on_accept(evutil_socket_t fd, short what, void *argument) {
	char bytes[8] = "";
	(void)what, (void)argument;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (read(peer, bytes, 5) == 5 && write(peer, "ok", 2) == 2) assert_string_equal(bytes, "hello");
	close(peer);
}

static void a_socket_of_the_host_is_asked_for_and_connected(void **state) {
	(void)state;
	listener = on_host("shown/host", SOCK_STREAM);
	struct event *accepts = event_new(den.base, listener, EV_READ | EV_PERSIST, on_accept, NULL);
	event_add(accepts, NULL);
	judge.effect = EFFECT_ALLOW;
	judge.asked = serve_one;
	run(tool_talk);
	expect("host: worked\nname: worked\nhost\nok\nagain: EISCONN\n");
	expect_questions(2, "/shown/host");
	event_free(accepts);
	close(listener);
	gone("shown/host");
}

static void tool_connect(const char *top) {
	den_say("shown", connected(top, "shown/host", SOCK_STREAM));
	den_say("hidden", connected(top, "hidden/host", SOCK_STREAM));
	den_say("datagram", send_path(socket(AF_UNIX, SOCK_DGRAM, 0), top, "shown/mail", "x"));
}

static void attack_n_14_what_is_denied_looks_like_nobody(void **state) {
	(void)state;
	int one = on_host("shown/host", SOCK_STREAM), other = on_host("hidden/host", SOCK_STREAM);
	int mail = on_host("shown/mail", SOCK_DGRAM);
	judge.module = "none";
	run(tool_connect);
	expect("shown: ECONNREFUSED\nhidden: ENOENT\ndatagram: ECONNREFUSED\n");
	expect_questions(2, "/shown/mail"); /* what is hidden, and no rule speaks of, is not looked at */
	assert_int_equal(judge.refused.count, 2);
	strings_finish(&judge.questions);
	judge.asks = "**";
	judge.module = "rules";
	run(tool_connect);
	expect("shown: ECONNREFUSED\nhidden: ENOENT\ndatagram: ECONNREFUSED\n");
	assert_int_equal(judge.questions.count, 3);
	judge.module = "ask";
	judge.user = true;
	run(tool_connect);
	expect("shown: EACCES\nhidden: EACCES\ndatagram: EACCES\n");
	assert_int_equal(accept_now(one), -1);
	close(one), close(other), close(mail);
	gone("shown/host"), gone("hidden/host"), gone("shown/mail");
}

static void tool_hidden(const char *top) {
	den_say("hidden", connected(top, "hidden/host", SOCK_STREAM));
	den_say("by a link", connected(top, "shown/link", SOCK_STREAM));
	den_say("none", connected(top, "hidden/none", SOCK_STREAM));
	den_say("file", connected(top, "hidden/file", SOCK_STREAM));
}

static void what_is_hidden_and_asked_about_is_connected(void **state) {
	(void)state;
	CLEANUP_FREE char *link = path_join(den.top, "shown/link"), *file = path_join(den.top, "hidden/file");
	int fd = on_host("hidden/host", SOCK_STREAM);
	assert_int_equal(symlink("../hidden/host", link), 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	judge.asks = "**";
	judge.effect = EFFECT_ALLOW;
	run(tool_hidden);
	expect("hidden: worked\nby a link: worked\nnone: ENOENT\nfile: ENOENT\n");
	expect_questions(2, "/hidden/host"); /* by the name that it has */
	close(fd);
	unlink(link), unlink(file);
	gone("hidden/host");
}

static void tool_one(const char *top) {
	int fd = connected(top, "shown/host", SOCK_STREAM);
	den_say("host", fd);
	if (fd >= 0 && write(fd, "to whom", 7) != 7) den_write("not sent");
}

static int second;

static void swap(void) {
	second = on_host("shown/other", SOCK_STREAM);
	CLEANUP_FREE char *from = path_join(den.top, "shown/other"), *to = path_join(den.top, "shown/host");
	assert_int_equal(rename(from, to), 0);
}

static void attack_n_16_what_was_looked_at_is_what_is_connected(void **state) {
	(void)state;
	int first = on_host("shown/host", SOCK_STREAM);
	judge.effect = EFFECT_ALLOW;
	judge.asked = swap;
	run(tool_one);
	expect("host: worked\n");
	CLEANUP_FD int peer = accept_now(first);
	assert_true(peer >= 0);
	expect_bytes(peer, "to whom");
	assert_int_equal(accept_now(second), -1);
	close(first), close(second);
	gone("shown/host");
}

/* Under a name that the host has for something else nothing is judged. */
static void tool_moved(const char *top) {
	CLEANUP_FREE char *from = path_join(top, "shown/host"), *to = path_join(top, "hidden/host");
	den_say("link", link(from, to));
	den_say("moved", rename(from, to));
	CLEANUP_FREE char *deep = path_join(top, "shown/deep");
	if (mkdir(deep, 0700) < 0 || chdir(deep) < 0) den_write("no folder");
	den_say("relative", connected(NULL, "../host", SOCK_STREAM));
	den_say("by proc", connected(NULL, "/proc/self/cwd/../host", SOCK_STREAM));
	den_say("root", connected(NULL, "/proc/self/root/../proc/thread-self/cwd/../host", SOCK_STREAM));
	if (chdir("/") < 0) den_write("no way back");
	rmdir(deep);
}

static void a_socket_is_judged_by_its_name_on_the_host(void **state) {
	(void)state;
	int fd = on_host("shown/host", SOCK_STREAM);
	judge.effect = EFFECT_ALLOW;
	run(tool_moved);
	expect("link: EXDEV\nmoved: EXDEV\nrelative: worked\nby proc: worked\nroot: worked\n");
	expect_questions(3, "/shown/host");
	close(fd);
	gone("shown/host");
}

enum { DEEP = 60, STEP = 100 };

static void tool_deep(const char *top) {
	char name[STEP + 1] = "";
	memset(name, 'd', STEP);
	if (chdir(top) < 0 || chdir("hidden") < 0) den_write("no top");
	for (int i = 0; i < DEEP; i++)
		if (mkdir(name, 0700) < 0 || chdir(name) < 0) den_write("not deeper");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memset(address.sun_path, 's', sizeof address.sun_path); /* all of it: no NUL */
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);
	den_say("bound", bind(fd, (const struct sockaddr *)&address, sizeof address));
	den_say("listens", listen(fd, 1));
	den_say("deep", connect(other, (const struct sockaddr *)&address, sizeof address));
	den_say("missing", connected(NULL, "missing", SOCK_STREAM));
}

static void long_names_and_deep_folders_are_no_obstacle(void **state) {
	(void)state;
	judge.asks = "**";
	run(tool_deep);
	expect("bound: worked\nlistens: worked\ndeep: worked\nmissing: ENOENT\n");
	expect_questions(0, NULL);
}

/* A full backlog */

static void tool_backlog(const char *top) {
	int first = connected(top, "shown/host", SOCK_STREAM), fd;
	den_say("first", first);
	den_say("room", connected(top, "shown/host", SOCK_STREAM));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	den_say("at once", connect_path(fd, top, "shown/host"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const struct timeval limit = {.tv_usec = 20000};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	den_say("a while", connect_path(fd, top, "shown/host"));
	den_say("in the end", connected(top, "shown/host", SOCK_STREAM));
}

static void drain(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	if (!strstr(den.output, "a while") || judge.questions.count < 5) return;
	while (accept_now(listener) >= 0) {
	}
}

static void a_full_backlog_holds_up_the_caller_alone(void **state) {
	(void)state;
	const struct timeval often = {.tv_usec = 1000};
	listener = on_host("shown/host", SOCK_STREAM);
	assert_int_equal(listen(listener, 1), 0);
	struct event *ticks = event_new(den.base, -1, EV_PERSIST, drain, NULL);
	event_add(ticks, &often);
	judge.effect = EFFECT_ALLOW;
	run(tool_backlog);
	expect("first: worked\nroom: worked\nat once: EAGAIN\na while: EAGAIN\nin the end: worked\n");
	event_free(ticks);
	close(listener);
	gone("shown/host");
}

static void tool_waits(const char *top) {
	connected(top, "shown/host", SOCK_STREAM);
	connected(top, "shown/host", SOCK_STREAM);
	den_say("waits", connected(top, "shown/host", SOCK_STREAM));
}

static void take_back(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	if (judge.questions.count != 3) return;
	judge.effect = EFFECT_DENY;
	judge.user = true;
	ipc_review(judge.ipc);
}

static void what_waits_is_asked_for_again_when_rules_change(void **state) {
	(void)state;
	const struct timeval often = {.tv_usec = 1000};
	listener = on_host("shown/host", SOCK_STREAM);
	assert_int_equal(listen(listener, 1), 0);
	struct event *ticks = event_new(den.base, -1, EV_PERSIST, take_back, NULL);
	event_add(ticks, &often);
	judge.effect = judge.again = EFFECT_ALLOW;
	run(tool_waits);
	expect("waits: EACCES\n");
	event_free(ticks);
	close(listener);
	gone("shown/host");
}

/* Datagrams */

static void tool_mail(const char *top) {
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	for (int i = 0; i < 3; i++) den_say("mail", send_path(fd, top, "shown/mail", "letter"));
	den_say("aimed", connect_path(fd, top, "shown/mail"));
	den_say("sent", send(fd, "parcel", 6, 0));
}

static void attack_n_14_datagrams_are_asked_for_as_connections_are(void **state) {
	(void)state;
	int fd = on_host("shown/mail", SOCK_DGRAM);
	judge.effect = EFFECT_ALLOW;
	run(tool_mail);
	expect("mail: worked\nmail: worked\nmail: worked\naimed: worked\nsent: worked\n");
	expect_questions(2, "/shown/mail"); /* the first of the datagrams, and connect(2) */
	for (int i = 0; i < 3; i++) expect_bytes(fd, "letter");
	expect_bytes(fd, "parcel");
	strings_finish(&judge.questions);
	judge.once = true;
	run(tool_mail);
	assert_int_equal(judge.questions.count, 4);
	close(fd);
	gone("shown/mail");
}

static void tool_aims(const char *top) {
	const struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
	CLEANUP_FREE char *hidden = path_join(top, "hidden");
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), own = bound(hidden, "own", SOCK_DGRAM);
	den_say("aimed", connect_path(fd, top, "shown/mail"));
	den_say("dissolved", connect(fd, &unspecified, sizeof unspecified));
	den_say("aimed again", connect_path(fd, top, "shown/mail"));
	den_say("at home", connect_path(fd, hidden, "own"));
	den_say("nowhere", connect_path(fd, hidden, "none"));
	den_say("sent", send(fd, "x", 1, 0));
	close(own);
}

/* Each time it leaves the host's socket that connection has ended: nothing is left to be cut. */
static void what_is_aimed_elsewhere_is_the_hosts_no_more(void **state) {
	(void)state;
	int fd = on_host("shown/mail", SOCK_DGRAM);
	judge.effect = EFFECT_ALLOW;
	run(tool_aims);
	expect("aimed: worked\ndissolved: worked\naimed again: worked\nat home: worked\nnowhere: ENOENT\nsent: "
	       "worked\n");
	assert_int_equal(judge.reported.count, 2);
	assert_string_equal(judge.reported.items[1], "/shown/mail 7 ended");
	close(fd);
	gone("shown/mail");
}

/* The end of a grant */

static void tool_live(const char *top) {
	char byte;
	int fd = connected(top, "shown/host", SOCK_STREAM);
	den_say("host", fd);
	int copy = dup(fd);
	close(fd);
	if (fork() == 0) { /* the only one that has it */
		if (read(copy, &byte, 1) == 0) den_write("the end");
		_exit(0);
	}
	close(copy);
	wait(NULL);
}

static int live;

static void cut_it(void) {
	static const int64_t other = 6, grant = 7;
	ipc_cut(judge.ipc, &other, 1);
	ipc_cut(judge.ipc, &grant, 1);
}

static void review_it(void) {
	ipc_review(judge.ipc);
}

static void (*end_it)(void);

static void on_live(evutil_socket_t fd, short what, void *argument) {
	(void)what, (void)argument;
	live = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(live >= 0);
	end_it();
}

static struct event *accepts;

/* The first who connects to the host's socket is taken, and then this is done. */
static void host_serves(void (*then)(void)) {
	listener = on_host("shown/host", SOCK_STREAM);
	accepts = event_new(den.base, listener, EV_READ, on_live, NULL);
	event_add(accepts, NULL);
	end_it = then;
	judge.effect = EFFECT_ALLOW;
}

static void host_ends(void) {
	event_free(accepts);
	close(listener), close(live);
	gone("shown/host");
}

static void cut_by(void (*how)(void), const char *reported) {
	host_serves(how);
	run(tool_live);
	expect("host: worked\nthe end\n");
	assert_int_equal(judge.reported.count, 1);
	assert_string_equal(judge.reported.items[0], reported);
	strings_finish(&judge.reported);
	char byte;
	assert_int_equal(read(live, &byte, 1), 0);
	host_ends();
}

static void a_connection_ends_with_its_grant(void **state) {
	(void)state;
	cut_by(cut_it, "/shown/host 7 the grant has ended");
	cut_by(review_it, "/shown/host 7 what allowed it has changed"); /* a rule or denial that is new */
}

static void send_fd(int line, int fd) {
	if (passing_send(line, "x", 1, &fd, 1) < 0) den_write("not sent");
}

/* Kept in a message while it is looked for. */
static void tool_hides(const char *top) {
	int line[2], fds[PASSING_MAX], fd = connected(top, "shown/host", SOCK_STREAM);
	size_t count;
	char byte;
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line);
	send_fd(line[0], fd);
	close(fd);
	den_say("hidden", 0);
	CLEANUP_FREE char *mark = path_join(top, "shown/mark");
	while (access(mark, F_OK) < 0) usleep(1000);
	if (passing_receive(line[1], &byte, 1, fds, &count) == 1 && read(fds[0], &byte, 1) == 0) den_write("the end");
}

static void mark_it(void) {
	CLEANUP_FREE char *mark = path_join(den.top, "shown/mark");
	close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static struct event *waits;
static bool is_cut;

static void on_hidden(evutil_socket_t fd, short what, void *argument) {
	const struct timeval soon = {.tv_usec = 2000};
	(void)fd, (void)what, (void)argument;
	if (is_cut) { /* and looked for, in that turn of the loop */
		mark_it();
		return;
	}
	is_cut = strstr(den.output, "hidden");
	if (is_cut) cut_it();
	evtimer_add(waits, &soon);
}

static void hide_it(void) {
	const struct timeval soon = {.tv_usec = 2000};
	waits = evtimer_new(den.base, on_hidden, NULL);
	evtimer_add(waits, &soon);
}

static void expect_hidden(void (*tool)(const char *top), const char *says) {
	is_cut = false;
	host_serves(hide_it);
	run(tool);
	expect(says);
	event_free(waits);
	host_ends();
	gone("shown/mark");
}

static void what_is_kept_in_a_message_is_found_when_it_comes_back(void **state) {
	(void)state;
	expect_hidden(tool_hides, "hidden: worked\nthe end\n");
}

static void tool_keeps(const char *top) {
	int line[2], fd = connected(top, "shown/host", SOCK_STREAM);
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line);
	send_fd(line[0], fd);
	close(fd);
	den_say("hidden", 0);
	for (;;) pause();
}

static void who_keeps_it_in_a_message_is_ended(void **state) {
	(void)state;
	expect_hidden(tool_keeps, "hidden: worked\n");
}

static void tool_closes(const char *top) {
	int fd = connected(top, "shown/host", SOCK_STREAM);
	den_say("host", fd);
	close(fd);
	CLEANUP_FREE char *mark = path_join(top, "shown/mark");
	while (access(mark, F_OK) < 0) usleep(1000);
}

static void on_end(evutil_socket_t fd, short what, void *argument) {
	char byte;
	(void)what, (void)argument;
	assert_int_equal(read(fd, &byte, 1), 0);
	strings_add(&judge.reported, "the peer knows");
}

static struct event *peer_end;

static void wait_for_end(void) {
	peer_end = event_new(den.base, live, EV_READ, on_end, NULL);
	event_add(peer_end, NULL);
}

static void a_connection_that_the_tool_closes_is_closed(void **state) {
	(void)state;
	host_serves(wait_for_end);
	start(tool_closes);
	while (judge.reported.count < 2) den_run(&den); /* the peer at once, the history within a look */
	mark_it();
	while (!den.ended) den_run(&den);
	stop();
	assert_string_equal(judge.reported.items[0], "the peer knows");
	assert_string_equal(judge.reported.items[1], "/shown/host 7 ended");
	event_free(peer_end);
	host_ends();
	gone("shown/mark");
}

/* Held */

static void on_signal(int number) {
	(void)number;
}

static void tool_signalled(const char *top) {
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	pid_t parent = getpid();
	CLEANUP_FREE char *mark = path_join(top, "shown/mark");
	if (fork() == 0) {
		while (access(mark, F_OK) < 0) usleep(1000);
		kill(parent, SIGINT);
		_exit(0);
	}
	den_say("held", connected(top, "shown/host", SOCK_STREAM));
	wait(NULL);
}

static void a_signal_ends_a_held_call(void **state) {
	(void)state;
	int fd = on_host("shown/host", SOCK_STREAM);
	judge.later = true;
	judge.asked = mark_it;
	run(tool_signalled);
	expect("held: EINTR\n");
	assert_int_equal(judge.cancelled, 1);
	close(fd);
	gone("shown/host"), gone("shown/mark");
}

/* Once it is asked about it is interrupted by a timer; the third time the handler stays until there is an answer. */
static struct ticking {
	char *asked, *third, *answered;
	volatile sig_atomic_t ticks;
	bool reviewed;
	struct event *look;
} ticking;

static void on_tick(int number) {
	(void)number;
	if (access(ticking.asked, F_OK) < 0 || ++ticking.ticks != 3) return;
	close(open(ticking.third, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (access(ticking.answered, F_OK) < 0) usleep(1000);
}

static void tool_ticking(const char *top) {
	const struct sigaction action = {.sa_handler = on_tick};
	const struct itimerval often = {.it_value.tv_usec = 50000, .it_interval.tv_usec = 50000}, never = {0};
	long r;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	do {
		r = connected(top, "shown/host", SOCK_STREAM);
	} while (r < 0 && errno == EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	den_say("in the end", r);
}

static void look_for_third(evutil_socket_t fd, short what, void *argument) {
	const struct timeval soon = {.tv_usec = 5000};
	(void)fd, (void)what, (void)argument;
	evtimer_add(ticking.look, &soon);
	if (access(ticking.third, F_OK) < 0 || !judge.done) return;
	answer(judge.effect);
	if (ticking.reviewed) ipc_review(judge.ipc);
	close(open(ticking.answered, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void run_ticking(enum effect effect) {
	int fd = on_host("shown/host", SOCK_STREAM);
	judge.later = judge.once = true;
	judge.effect = effect;
	ticking.ticks = 0;
	judge.asked = mark_it;
	ticking.asked = path_join(den.top, "shown/mark");
	ticking.third = path_join(den.top, "shown/third");
	ticking.answered = path_join(den.top, "shown/answered");
	ticking.look = evtimer_new(den.base, look_for_third, NULL);
	start(tool_ticking);
	look_for_third(-1, 0, NULL);
	while (!den.ended) den_run(&den);
	stop();
	event_free(ticking.look);
	gone("shown/mark"), gone("shown/third"), gone("shown/answered"), gone("shown/host");
	free(ticking.asked);
	free(ticking.third);
	free(ticking.answered);
	close(fd);
}

static void attack_r28_a_call_that_a_handler_interrupts_keeps_its_question(void **state) {
	(void)state;
	ticking.reviewed = false;
	run_ticking(EFFECT_ALLOW);
	expect("in the end: worked\n");
	expect_questions(1, "/shown/host");
	run_ticking(EFFECT_DENY);
	expect("in the end: EACCES\n");
	expect_questions(2, "/shown/host");
	assert_int_equal(judge.cancelled, 0);
}

static void what_was_allowed_meanwhile_is_asked_anew_after_a_change_of_rules(void **state) {
	(void)state;
	ticking.reviewed = true;
	run_ticking(EFFECT_ALLOW);
	expect("in the end: worked\n");
	expect_questions(2, "/shown/host");
}

static int make_all(void **state) {
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	den_make(&den);
	return 0;
}

static int remove_all(void **state) {
	(void)state;
	den_remove(&den);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
	const struct CMUnitTest tests[] = {
		TEST(what_the_sandbox_bound_is_free),
		TEST(odd_addresses_are_as_outside),
		TEST(attack_n_13_abstract_sockets_of_the_host_are_not_there),
		TEST(a_socket_of_the_host_is_asked_for_and_connected),
		TEST(attack_n_14_what_is_denied_looks_like_nobody),
		TEST(what_is_hidden_and_asked_about_is_connected),
		TEST(attack_n_16_what_was_looked_at_is_what_is_connected),
		TEST(a_socket_is_judged_by_its_name_on_the_host),
		TEST(long_names_and_deep_folders_are_no_obstacle),
		TEST(a_full_backlog_holds_up_the_caller_alone),
		TEST(what_waits_is_asked_for_again_when_rules_change),
		TEST(attack_n_14_datagrams_are_asked_for_as_connections_are),
		TEST(what_is_aimed_elsewhere_is_the_hosts_no_more),
		TEST(a_connection_ends_with_its_grant),
		TEST(what_is_kept_in_a_message_is_found_when_it_comes_back),
		TEST(who_keeps_it_in_a_message_is_ended),
		TEST(a_connection_that_the_tool_closes_is_closed),
		TEST(a_signal_ends_a_held_call),
		TEST(attack_r28_a_call_that_a_handler_interrupts_keeps_its_question),
		TEST(what_was_allowed_meanwhile_is_asked_anew_after_a_change_of_rules),
	};
	return cmocka_run_group_tests(tests, make_all, remove_all);
}
