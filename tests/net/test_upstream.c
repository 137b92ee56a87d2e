/* Through an upstream proxy: what is said to it, what it may answer, and what never goes to it. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "dialog.h"
#include "fixture.h"
#include "support/patience.h"
#include "wire.h"

/* A proxy that reads a head, remembers it, answers with `reply` (in pieces of `piece` bytes) and then echoes. */
struct script {
	const char *reply;
	size_t piece;
	pthread_mutex_t lock;
	struct string heard;
};

static void serve_proxy(int fd, void *argument) {
	struct script *script = argument;
	CLEANUP_FREE char *head = wire_read_head(fd);
	size_t size = strlen(script->reply), piece = script->piece ? script->piece : size;
	char bytes[256];
	ssize_t n;

	pthread_mutex_lock(&script->lock);
	string_append(&script->heard, head);
	pthread_mutex_unlock(&script->lock);
	for (size_t at = 0; at < size; at += piece) {
		wire_send(fd, script->reply + at, size - at < piece ? size - at : piece);
		if (piece < size) usleep(200); /* so that they come one by one, most of them */
	}
	if (!strstr(script->reply, " 200 ")) return;
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) wire_send(fd, bytes, (size_t)n);
}

struct opened {
	sem_t done;
	enum gate_outcome outcome;
	int fd, code;
	char message[400];
};

static void on_done(void *argument, const struct gate_result *result) {
	struct opened *opened = argument;

	opened->outcome = result->outcome;
	opened->fd = result->fd;
	opened->code = result->code;
	snprintf(opened->message, sizeof opened->message, "%s", result->message);
	sem_post(&opened->done);
}

struct order {
	const char *target;
	struct opened *opened;
	bool datagrams;
};

static void do_open(struct fixture *fixture, void *argument) {
	const struct order *order = argument;
	struct host host;
	uint16_t port;

	assert_int_equal(host_port_parse(order->target, strlen(order->target), &host, &port, NULL), 0);
	(order->datagrams ? gate_open_datagrams : gate_open)(fixture_gate(fixture), &host, port, NULL, on_done,
							     order->opened);
}

static struct opened open_by(struct fixture *fixture, struct order order) {
	struct opened opened = {.fd = -1};
	struct timespec until;

	sem_init(&opened.done, 0, 0);
	order.opened = &opened;
	fixture_call(fixture, do_open, &order);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	if (sem_timedwait(&opened.done, &until) < 0) fail_msg("%s: no answer", order.target);
	if (opened.fd >= 0) assert_int_equal(fd_nonblocking(opened.fd, false, NULL), 0);
	return opened;
}

struct scene {
	struct fixture *fixture;
	struct server *server;
	struct script script;
	char upstream[100];
};

/* `user`: "" or "USER:PASSWORD@" */
static void scene_open(struct scene *scene, const char *user, const char *reply) {
	*scene = (struct scene){.fixture = fixture_new(), .script.reply = reply};
	pthread_mutex_init(&scene->script.lock, NULL);
	scene->server = server_new(serve_proxy, &scene->script);
	fixture_set_judge(scene->fixture, FIXTURE_ALLOW, 0, false);
	fixture_set_name(scene->fixture, "proxy.test", "127.0.0.1");
	snprintf(scene->upstream, sizeof scene->upstream, "http://%sproxy.test:%d", user, server_port(scene->server));
	fixture_set_upstream(scene->fixture, scene->upstream);
}

static void scene_close(struct scene *scene) {
	fixture_free(scene->fixture);
	server_free(scene->server);
	string_finish(&scene->script.heard);
	pthread_mutex_destroy(&scene->script.lock);
}

static struct opened scene_dial(struct scene *scene, const char *target) {
	return open_by(scene->fixture, (struct order){.target = target});
}

/* Its socket talks with whoever echoes behind the proxy. */
static void expect_echo(const struct opened *opened) {
	assert_int_equal(opened->outcome, GATE_CONNECTED);
	wire_say(opened->fd, "hello");
	CLEANUP_FREE char *echo = wire_read_bytes(opened->fd, 5);
	assert_string_equal(echo, "hello");
	fd_close(opened->fd);
}

static void a_name_goes_through_and_is_not_looked_up(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 Connection established\r\n\r\n");
	struct opened opened = scene_dial(&scene, "far.example:443");
	expect_echo(&opened);
	assert_int_equal(fixture_counts(scene.fixture).lookups, 1); /* the proxy's own name */
	assert_string_equal(scene.script.heard.data,
			    "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n\r\n");
	scene_close(&scene);
}

static void the_user_is_told_to_the_proxy_alone(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "Aladdin:open%20sesame@", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n");
	struct opened opened = scene_dial(&scene, "far.example:443");
	expect_echo(&opened);
	contains(scene.script.heard.data, "\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n");
	scene_close(&scene);
}

static void a_public_address_goes_through_too(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	struct opened opened = scene_dial(&scene, "[2606:4700::1111]:443");
	expect_echo(&opened);
	contains(scene.script.heard.data, "CONNECT [2606:4700::1111]:443 HTTP/1.1\r\n");
	scene_close(&scene);
}

static void what_comes_behind_the_reply_is_the_far_hosts(void **state) {
	static const size_t pieces[] = {0, 1, 2, 7, 40};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
		struct scene scene;

		scene_open(&scene, "",
			   "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\nX: y\r\n\r\n"
			   "HTTP/1.1 200 OK\r\nA: b\r\n\r\nSSH-2.0-far\r\n");
		scene.script.piece = pieces[i];
		struct opened opened = scene_dial(&scene, "far.example:22");
		CLEANUP_FREE char *greeting = wire_read_bytes(opened.fd, strlen("SSH-2.0-far\r\n"));
		assert_string_equal(greeting, "SSH-2.0-far\r\n");
		expect_echo(&opened);
		scene_close(&scene);
	}
}

static void what_the_proxy_refuses_is_a_sentence(void **state) {
	static const struct {
		const char *user, *reply, *says;
		int code;
	} cases[] = {
		{"me:secret@", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\nno!\n",
		 "it does not take the user me with the password of the policy's `upstream` (407)", EACCES},
		{"", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it wants a user and a password (407)",
		 EACCES},
		{"", "HTTP/1.1 403 Forbidden\r\n\r\n",
		 "it refuses to connect to far.example:80 (403); many proxies connect to port 443 alone", EACCES},
		{"", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "it can't reach far.example:80 (502)", EHOSTUNREACH},
		{"", "HTTP/1.1 504 Gateway Timeout\r\n\r\n", "it had no answer from far.example:80 in time (504)",
		 ETIMEDOUT},
		{"", "HTTP/1.1 418 I'm a \x9b\x31m\x1b[31m teapot\r\n\r\n", "a control character", EPROTO},
		{"",
		 "HTTP/1.1 418 I am \xe2\x80\xae"
		 "a teapot\r\n\r\n",
		 "it answers 418 I am \\u{202e}a teapot", ECONNREFUSED},
		{"", "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\n\r\n", "it answers 302 Found", ECONNREFUSED},
		{"", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "it answers 101 Switching Protocols", ECONNREFUSED},
		{"", "SSH-2.0-OpenSSH\r\n\r\n", "", EPROTO},
		{"", "HTTP/1.1 200 OK\nX: y\n\n", "a bare LF", EPROTO},
		{"", "HTTP/2 200 \r\n\r\n", "", EPROTO},
		{"", "HTTP/1.1 2", "closed the connection without an answer", ECONNRESET},
		{"", "", "closed the connection without an answer", ECONNRESET},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct scene scene;

		scene_open(&scene, cases[i].user, cases[i].reply);
		struct opened opened = scene_dial(&scene, "far.example:80");
		assert_int_equal(opened.outcome, GATE_FAILED);
		assert_int_equal(opened.code, cases[i].code);
		contains(opened.message, "the upstream proxy proxy.test:");
		contains(opened.message, cases[i].says);
		lacks(opened.message, "secret");
		lacks(opened.message, "bWU6c2VjcmV0");
		/* The user hears of it, once. */
		scene_dial(&scene, "far.example:80");
		assert_int_equal(fixture_counts(scene.fixture).complaints, 1);
		assert_string_equal(fixture_counts(scene.fixture).complaint, opened.message);
		scene_close(&scene);
	}
}

/* A head that never ends, and interim replies that never do. */
static void attack_net_12_the_proxys_reply_is_bounded(void **state) {
	CLEANUP_STRING struct string header = {0}, interim = {0};
	const char *replies[2];

	(void)state;
	string_append(&header, "HTTP/1.1 200 OK\r\nX: ");
	while (header.size < 2 * LIMIT_HEADER) string_append(&header, "xxxxxxxxxxxxxxxx");
	while (interim.size < 2 * LIMIT_HEADER) string_append(&interim, "HTTP/1.1 103 Early\r\n\r\n");
	replies[0] = header.data;
	replies[1] = interim.data;
	for (size_t i = 0; i < 2; i++) {
		struct scene scene;

		scene_open(&scene, "", replies[i]);
		struct opened opened = scene_dial(&scene, "far.example:443");
		assert_int_equal(opened.outcome, GATE_FAILED);
		contains(opened.message, "a head of more than");
		scene_close(&scene);
	}
}

static void a_proxy_that_is_not_there_is_told(void **state) {
	struct fixture *fixture = fixture_new();
	char upstream[100];

	(void)state;
	snprintf(upstream, sizeof upstream, "http://me:secret@127.0.0.1:%d", wire_closed_port());
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	fixture_set_upstream(fixture, upstream);
	struct opened opened = open_by(fixture, (struct order){.target = "far.example:443"});
	assert_int_equal(opened.code, ECONNREFUSED);
	contains(opened.message, "the upstream proxy localhost:");
	contains(opened.message, "Connection refused");
	char unknown[] = "http://nowhere.test:3128";
	fixture_set_upstream(fixture, unknown);
	opened = open_by(fixture, (struct order){.target = "far.example:443"});
	assert_int_equal(opened.code, EHOSTUNREACH);
	contains(opened.message, "the upstream proxy nowhere.test:3128: the name can't be resolved");
	fixture_free(fixture);
}

static void serve_direct(int fd, void *argument) {
	(void)argument;
	wire_say(fd, "direct");
}

/* localhost, `hosts:` and private addresses are this machine's to reach. */
static void what_is_near_never_goes_through(void **state) {
	struct scene scene;
	char target[100];

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	struct server *near = server_new(serve_direct, NULL);
	static const char *const hosts[] = {"localhost", "127.0.0.1", "near.test"};

	fixture_set_host(scene.fixture, "near.test", "127.0.0.1");
	for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
		snprintf(target, sizeof target, "%s:%d", hosts[i], server_port(near));
		struct opened opened = scene_dial(&scene, target);
		assert_int_equal(opened.outcome, GATE_CONNECTED);
		CLEANUP_FREE char *said = wire_read_bytes(opened.fd, strlen("direct"));
		assert_string_equal(said, "direct");
		fd_close(opened.fd);
	}
	assert_null(scene.script.heard.data);
	server_free(near);
	scene_close(&scene);
}

static void attack_net_06_private_addresses_keep_their_check(void **state) {
	static const char *const targets[] = {"10.0.0.1:80", "169.254.169.254:80", "[fd00::1]:80"};
	struct scene scene;

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	for (size_t i = 0; i < ARRAY_LENGTH(targets); i++)
		assert_int_equal(scene_dial(&scene, targets[i]).outcome, GATE_DENIED);
	assert_int_equal(server_accepted(scene.server), 0);
	scene_close(&scene);
}

static void attack_net_05_what_is_denied_is_not_told_to_the_proxy(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	fixture_set_judge(scene.fixture, FIXTURE_DENY, 0, false);
	assert_int_equal(scene_dial(&scene, "secret.evil.example:443").outcome, GATE_DENIED);
	assert_int_equal(server_accepted(scene.server), 0);
	assert_int_equal(fixture_counts(scene.fixture).lookups, 0);
	scene_close(&scene);
}

static void datagrams_do_not_go_round_the_proxy(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	struct opened opened = open_by(scene.fixture, (struct order){.target = "far.example:443", .datagrams = true});
	assert_int_equal(opened.outcome, GATE_FAILED);
	assert_int_equal(opened.code, ENETUNREACH);
	contains(opened.message, "carries no datagrams");
	assert_int_equal(fixture_counts(scene.fixture).lookups, 0);
	scene_close(&scene);
}

static void without_one_names_are_looked_up_again(void **state) {
	struct scene scene;
	char target[100];

	(void)state;
	scene_open(&scene, "", "HTTP/1.1 200 OK\r\n\r\n");
	struct server *near = server_new(serve_direct, NULL);
	fixture_set_upstream(scene.fixture, NULL);
	fixture_set_judge(scene.fixture, FIXTURE_ALLOW, 0, true);
	fixture_set_name(scene.fixture, "far.example", "127.0.0.1");
	snprintf(target, sizeof target, "far.example:%d", server_port(near));
	struct opened opened = scene_dial(&scene, target);
	assert_int_equal(opened.outcome, GATE_CONNECTED);
	fd_close(opened.fd);
	assert_int_equal(server_accepted(scene.server), 0);
	server_free(near);
	scene_close(&scene);
}

/* The proxy's own doors use it as any other. */
static void a_tunnel_goes_through(void **state) {
	struct scene scene;

	(void)state;
	scene_open(&scene, "me:secret@", "HTTP/1.1 407 No\r\n\r\n");
	int fd = wire_dial(fixture_port(scene.fixture));
	wire_say(fd, "CONNECT far.example:443 HTTP/1.1\r\n\r\n");
	CLEANUP_FREE char *answer = wire_read_response(fd);
	contains(answer, "does not take the user me");
	lacks(answer, "secret");
	fd_close(fd);
	scene_close(&scene);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_goes_through_and_is_not_looked_up),
		cmocka_unit_test(the_user_is_told_to_the_proxy_alone),
		cmocka_unit_test(a_public_address_goes_through_too),
		cmocka_unit_test(what_comes_behind_the_reply_is_the_far_hosts),
		cmocka_unit_test(what_the_proxy_refuses_is_a_sentence),
		cmocka_unit_test(attack_net_12_the_proxys_reply_is_bounded),
		cmocka_unit_test(a_proxy_that_is_not_there_is_told),
		cmocka_unit_test(what_is_near_never_goes_through),
		cmocka_unit_test(attack_net_06_private_addresses_keep_their_check),
		cmocka_unit_test(attack_net_05_what_is_denied_is_not_told_to_the_proxy),
		cmocka_unit_test(datagrams_do_not_go_round_the_proxy),
		cmocka_unit_test(without_one_names_are_looked_up_again),
		cmocka_unit_test(a_tunnel_goes_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
