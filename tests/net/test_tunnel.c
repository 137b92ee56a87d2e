/* What goes through a tunnel first: only what asks for the host that was allowed, or for another that is, too. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "dialog.h"
#include "fixture.h"
#include "support/patience.h"
#include "wire.h"

#define ASKS_FOR(host) "GET /secret HTTP/1.1\r\nHost: " host "\r\n\r\n"

/* A host that answers "got it" when it has seen the end of a request, and remembers what came. */
struct host_log {
	pthread_mutex_t lock;
	struct string text;
	bool speaks_first;
};

static void serve_log(int fd, void *argument) {
	struct host_log *log = argument;
	bool answered = false;
	char bytes[512];
	ssize_t n;

	if (log->speaks_first) wire_say(fd, "220 ready\r\n");
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
		pthread_mutex_lock(&log->lock);
		string_append_bytes(&log->text, bytes, (size_t)n);
		bool whole = strstr(log->text.data, "\r\n\r\n") != NULL;
		pthread_mutex_unlock(&log->lock);
		if (whole && !answered) wire_say(fd, "got it");
		answered = answered || whole;
	}
}

struct scene {
	struct fixture *fixture;
	struct server *server;
	struct host_log log;
};

static void scene_open(struct scene *scene, bool speaks_first) {
	*scene = (struct scene){.fixture = fixture_new(), .log.speaks_first = speaks_first};
	pthread_mutex_init(&scene->log.lock, NULL);
	scene->server = server_new(serve_log, &scene->log);
	fixture_set_name(scene->fixture, "allowed.test", "127.0.0.1");
	fixture_set_judge(scene->fixture, FIXTURE_ALLOW, 7, true);
}

static void scene_close(struct scene *scene) {
	fixture_free(scene->fixture);
	server_free(scene->server);
	string_finish(&scene->log.text);
	pthread_mutex_destroy(&scene->log.lock);
}

/* Waits until the host has got that much; what it got. */
static void host_has(struct scene *scene, const char *text) {
	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end; usleep(1000)) {
		pthread_mutex_lock(&scene->log.lock);
		bool has = string_equal(scene->log.text.data, text);
		pthread_mutex_unlock(&scene->log.lock);
		if (has) return;
	}
	fail_msg("the host has \"%s\", not \"%s\"", scene->log.text.data ? scene->log.text.data : "", text);
}

static void host_lacks(struct scene *scene, const char *part) {
	pthread_mutex_lock(&scene->log.lock);
	if (scene->log.text.data) lacks(scene->log.text.data, part);
	pthread_mutex_unlock(&scene->log.lock);
}

/* CONNECT, with `more` right behind it. */
static int tunnel_with(struct scene *scene, const char *host, const char *more) {
	int fd = wire_dial(fixture_port(scene->fixture));

	wire_say(fd, "CONNECT %s:%d HTTP/1.1\r\n\r\n%s", host, server_port(scene->server), more);
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "200");
	return fd;
}

static int tunnel_to(struct scene *scene, const char *host) {
	return tunnel_with(scene, host, "");
}

/* By SOCKS, by name. */
static int socks_to(struct scene *scene, const char *host) {
	int fd = wire_dial(fixture_port(scene->fixture)), port = server_port(scene->server);
	const char tail[2] = {(char)(port >> 8), (char)port};

	wire_send(fd, "\5\1\0", 3);
	wire_send(fd, "\5\1\0\3", 4);
	wire_send(fd, &(char){(char)strlen(host)}, 1);
	wire_send(fd, host, strlen(host));
	wire_send(fd, tail, 2);
	CLEANUP_FREE char *reply = wire_read_bytes(fd, 12);
	assert_memory_equal(reply, "\5\0\5\0", 4);
	return fd;
}

static void add_denied(void *argument, const struct denied_target *item) {
	string_appendf(argument, "%s %u %s: %s\n", item->target, item->count, item->verdict.module, item->verdict.why);
}

static void do_list_denied(struct fixture *fixture, void *argument) {
	gate_each_denied(fixture_gate(fixture), add_denied, argument);
}

static void expect_refusal(struct scene *scene, int fd, int code, const char *why) {
	assert_int_equal(code, ECONNRESET);
	fixture_wait(scene->fixture, reports_reach, 1);
	struct fixture_counts counts = fixture_counts(scene->fixture);

	/* A host that the judge denied is on the judge's own record. */
	assert_int_equal(counts.refusals + counts.unasked, 1);
	if (counts.refusals > 0) contains(counts.refused, why);
	contains(counts.error, why);
	fd_close(fd);
}

static void expect_reset(struct scene *scene, int fd, const char *why) {
	expect_refusal(scene, fd, wire_read_end(fd), why);
}

static void expect_answer(int fd) {
	CLEANUP_FREE char *answer = wire_read_bytes(fd, strlen("got it"));

	assert_string_equal(answer, "got it");
}

static void what_asks_for_the_host_itself_goes_on(void **state) {
	int (*const doors[])(struct scene *, const char *) = {tunnel_to, socks_to};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(doors); i++) {
		struct scene scene;

		scene_open(&scene, false);
		int fd = doors[i](&scene, "allowed.test");
		wire_say(fd, ASKS_FOR("Allowed.TEST:80"));
		expect_answer(fd);
		wire_say(fd, "more");
		host_has(&scene, ASKS_FOR("Allowed.TEST:80") "more");
		assert_int_equal(fixture_counts(scene.fixture).unasked, 0);
		fd_close(fd);
		scene_close(&scene);
	}
}

static void attack_net_04_what_asks_for_another_host_never_arrives_whole(void **state) {
	int (*const doors[])(struct scene *, const char *) = {tunnel_to, socks_to};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(doors); i++) {
		struct scene scene;
		char target[100];

		scene_open(&scene, false);
		int fd = doors[i](&scene, "allowed.test");
		fixture_set_judge(scene.fixture, FIXTURE_DENY, 0, false);
		wire_say(fd, ASKS_FOR("other.test"));
		expect_reset(&scene, fd, "first bytes");
		host_lacks(&scene, "other.test\r\n\r\n");
		snprintf(target, sizeof target, "other.test:%d", server_port(scene.server));
		assert_string_equal(fixture_counts(scene.fixture).target_unasked, target);
		/* What is to be allowed is the other host. */
		CLEANUP_STRING struct string denied = {0};
		CLEANUP_FREE char *listed =
			string_format("other.test:%d 1 ask: a connection to allowed.test:%d asks for it by its first "
				      "bytes, and the test says so\n",
				      server_port(scene.server), server_port(scene.server));
		fixture_call(scene.fixture, do_list_denied, &denied);
		assert_string_equal(denied.data, listed);
		assert_int_equal(fixture_counts(scene.fixture).checks, 1); /* nobody was asked about it */
		scene_close(&scene);
	}
}

static void attack_net_04_bytes_that_come_with_the_request_are_heard_too(void **state) {
	struct scene *scene = *state;

	fixture_set_judge(scene->fixture, FIXTURE_ALLOW, 7, true);
	int fd = tunnel_with(scene, "allowed.test", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
	expect_reset(scene, fd, "more than one Host header");
	host_lacks(scene, "\r\n\r\n");
}

static void another_host_that_is_allowed_goes_on(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "allowed.test");
	wire_say(fd, ASKS_FOR("other.test"));
	expect_answer(fd);
	assert_int_equal(fixture_counts(scene->fixture).unasked, 1);
	assert_int_equal(fixture_counts(scene->fixture).refusals, 0);
	fd_close(fd);
}

static void attack_net_04_a_tunnel_ends_with_the_right_to_either_of_its_hosts(void **state) {
	static const struct {
		int64_t grant;
		const char *why;
	} ends[] = {{7, "the grant has ended"}, {8, "the grant for the host that its first bytes ask for has ended"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		struct scene scene;

		scene_open(&scene, false);
		int fd = tunnel_to(&scene, "allowed.test");
		fixture_set_judge(scene.fixture, FIXTURE_ALLOW, 8, false);
		wire_say(fd, ASKS_FOR("other.test"));
		expect_answer(fd);
		assert_int_equal(fixture_cut(scene.fixture, 9), 0);
		assert_int_equal(fixture_cut(scene.fixture, ends[i].grant), 1);
		assert_int_equal(wire_read_end(fd), ECONNRESET);
		assert_string_equal(fixture_counts(scene.fixture).error, ends[i].why);
		fd_close(fd);
		scene_close(&scene);
	}
}

static void half_a_hello_waits_for_nothing(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "allowed.test");
	fixture_set_judge(scene->fixture, FIXTURE_DENY, 0, false);
	wire_say(fd, "ruok"); /* the whole of a protocol's question */
	host_has(scene, "ruok");
	wire_say(fd, " / HTTP/1.1\r\nHost: other.test\r\n");
	host_has(scene, "ruok / HTTP/1.1\r\nHost: other.test\r\n");
	wire_say(fd, "\r\nbody");
	expect_reset(scene, fd, "first bytes");
	host_lacks(scene, "\r\n\r\n");
}

/* To some servers the end of what is said is that of a request. */
static void attack_net_04_the_end_waits_for_the_judge_like_a_last_piece(void **state) {
	struct scene scene;

	(void)state;
	for (int allowed = 0; allowed < 2; allowed++) {
		scene_open(&scene, false);
		int fd = tunnel_to(&scene, "allowed.test");
		fixture_set_judge(scene.fixture, FIXTURE_HOLD, 0, false);
		wire_say(fd, "GET / HTTP/1.1\r\nHost: other.test");
		host_has(&scene, "GET / HTTP/1.1\r\nHost: other.test");
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		fixture_wait(scene.fixture, unasked_reaches, 1);
		fixture_answer_held(scene.fixture, allowed ? FIXTURE_ALLOW : FIXTURE_DENY);
		if (allowed) {
			assert_int_equal(wire_read_end(fd), 0);
			fd_close(fd);
		} else {
			expect_reset(&scene, fd, "first bytes");
		}
		scene_close(&scene);
	}
}

static void what_ends_as_no_request_ends_in_order(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "allowed.test");
	fixture_set_judge(scene->fixture, FIXTURE_DENY, 0, false);
	wire_say(fd, "ruok");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(wire_read_end(fd), 0);
	host_has(scene, "ruok");
	assert_int_equal(fixture_counts(scene->fixture).refusals, 0);
	fd_close(fd);
}

static void the_last_piece_waits_for_the_judge(void **state) {
	struct scene scene;

	(void)state;
	for (int allowed = 0; allowed < 2; allowed++) {
		scene_open(&scene, false);
		int fd = tunnel_to(&scene, "allowed.test");
		fixture_set_judge(scene.fixture, FIXTURE_HOLD, 0, false);
		wire_say(fd, "GET / HTTP/1.1\r\nHost: other.test\r\n");
		host_has(&scene, "GET / HTTP/1.1\r\nHost: other.test\r\n");
		wire_say(fd, "\r\nrest");
		fixture_wait(scene.fixture, unasked_reaches, 1);
		wire_say(fd, " of it");
		host_has(&scene, "GET / HTTP/1.1\r\nHost: other.test\r\n");
		fixture_answer_held(scene.fixture, allowed ? FIXTURE_ALLOW : FIXTURE_DENY);
		if (allowed) {
			expect_answer(fd);
			host_has(&scene, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\nrest of it");
			fd_close(fd);
		} else {
			expect_reset(&scene, fd, "first bytes");
			host_lacks(&scene, "rest");
		}
		scene_close(&scene);
	}
}

static void a_tunnel_that_is_cut_while_it_is_judged_asks_no_more(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "allowed.test");
	fixture_set_judge(scene->fixture, FIXTURE_HOLD, 0, false);
	wire_say(fd, ASKS_FOR("other.test"));
	fixture_wait(scene->fixture, unasked_reaches, 1);
	assert_int_equal(fixture_cut(scene->fixture, 7), 1);
	assert_int_equal(fixture_counts(scene->fixture).cancels, 1);
	assert_int_equal(wire_read_end(fd), ECONNRESET);
	assert_string_equal(fixture_counts(scene->fixture).error, "the grant has ended");
	fd_close(fd);
}

static void whom_the_host_speaks_to_first_is_not_heard(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "allowed.test");
	CLEANUP_FREE char *greeting = wire_read_bytes(fd, strlen("220 ready\r\n"));
	assert_string_equal(greeting, "220 ready\r\n");
	fixture_set_judge(scene->fixture, FIXTURE_DENY, 0, false);
	wire_say(fd, ASKS_FOR("other.test"));
	expect_answer(fd);
	assert_int_equal(fixture_counts(scene->fixture).unasked, 0);
	fd_close(fd);
}

/* Who allowed an address allowed no name. */
static void what_goes_to_an_address_is_not_heard(void **state) {
	struct scene *scene = *state;

	int fd = tunnel_to(scene, "127.0.0.1");
	fixture_set_judge(scene->fixture, FIXTURE_DENY, 0, false);
	wire_say(fd, ASKS_FOR("other.test"));
	expect_answer(fd);
	assert_int_equal(fixture_counts(scene->fixture).unasked, 0);
	fd_close(fd);
}

static void attack_net_12_a_hello_without_end_is_refused(void **state) {
	static char more[1024];
	struct scene *scene = *state;

	memset(more, 'x', sizeof more);
	int fd = tunnel_to(scene, "allowed.test");
	wire_say(fd, "GET /");
	int code = 0; /* who sends is told of a reset, and then who reads no more */
	for (int i = 0; i < 64 && code == 0; i++) code = wire_send(fd, more, sizeof more);
	expect_refusal(scene, fd, code ? code : wire_read_end(fd), "a hello that has no end");
}

/* The question */

struct heard {
	int near, tool; /* what the gate has of the connection, and the tool */
	struct gate_call *call;
	const char *target;
};

static void never(void *argument, const struct gate_result *result) {
	(void)argument, (void)result;
	fail_msg("nobody answered");
}

static void do_open_heard(struct fixture *fixture, void *argument) {
	struct heard *heard = argument;
	const struct gate_caller caller = {.process = "curl (7)"};
	struct host host;
	uint16_t port;

	assert_int_equal(host_port_parse(heard->target, strlen(heard->target), &host, &port, NULL), 0);
	heard->call = gate_open_heard(fixture_gate(fixture), &host, port, &caller, heard->near, never, NULL);
}

static void do_cancel(struct fixture *fixture, void *argument) {
	(void)fixture;
	gate_cancel(((struct heard *)argument)->call);
}

/* Opened; the judge has been asked whether it would be a question, and holds that. */
static struct fixture *heard_begin(struct heard *heard, const char *target, const char *bytes) {
	struct fixture *fixture = fixture_new();
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	*heard = (struct heard){.near = ends[0], .tool = ends[1], .target = target};
	if (bytes) wire_send(heard->tool, bytes, strlen(bytes));
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	fixture_call(fixture, do_open_heard, heard);
	fixture_wait(fixture, again_reaches, 1);
	return fixture;
}

static void heard_end(const struct heard *heard, struct fixture *fixture) {
	fd_close(heard->near);
	fd_close(heard->tool);
	fixture_free(fixture);
}

struct question {
	const char *target, *bytes, *says;
};

/* It would be asked about (which the judge says), and then it is (which nobody answers). */
static void expect_question(struct question question) {
	struct heard heard;
	struct fixture *fixture = heard_begin(&heard, question.target, question.bytes);

	fixture_answer_held(fixture, FIXTURE_DENY);
	fixture_wait(fixture, checks_reach, 1);
	assert_string_equal(fixture_counts(fixture).says, question.says);
	assert_string_equal(fixture_counts(fixture).process, "curl (7)");
	fixture_call(fixture, do_cancel, &heard);
	assert_int_equal(fixture_counts(fixture).cancels, 1);
	/* What was said is still there. */
	if (question.bytes) {
		CLEANUP_FREE char *bytes = wire_read_bytes(heard.near, strlen(question.bytes));
		assert_string_equal(bytes, question.bytes);
	}
	heard_end(&heard, fixture);
}

static void a_question_says_which_other_host_the_first_bytes_ask_for(void **state) {
	(void)state;
	expect_question((struct question){"allowed.test:80", ASKS_FOR("Other.test"), "other.test"});
	expect_question((struct question){"192.0.2.1:80", ASKS_FOR("other.test"), "other.test"});
	expect_question((struct question){"allowed.test:80", ASKS_FOR("allowed.test"), ""});
	expect_question((struct question){"allowed.test:80", "\1\2\3", ""});
	expect_question((struct question){"allowed.test:80", "GET / HTTP/1.1\r\n", ""});
	expect_question((struct question){"allowed.test:80", NULL, ""}); /* nothing comes */
}

static void a_call_that_is_heard_can_be_cancelled_at_any_point(void **state) {
	(void)state;
	for (int answered = 0; answered < 2; answered++) {
		struct heard heard;
		struct fixture *fixture = heard_begin(&heard, "allowed.test:80", NULL);

		if (answered) fixture_answer_held(fixture, FIXTURE_DENY);
		fixture_call(fixture, do_cancel, &heard);
		/* However long it took until here: what was asked is cancelled. */
		assert_int_equal(fixture_counts(fixture).cancels, fixture_counts(fixture).checks + (answered ? 0 : 1));
		heard_end(&heard, fixture);
	}
}

static int setup_with(void **state, bool speaks_first) {
	*state = mem_new(struct scene);
	scene_open(*state, speaks_first);
	return 0;
}

static int setup(void **state) {
	return setup_with(state, false);
}

static int setup_speaking(void **state) {
	return setup_with(state, true);
}

static int teardown(void **state) {
	scene_close(*state);
	free(*state);
	return 0;
}

#define SCENE(test)    cmocka_unit_test_setup_teardown(test, setup, teardown)
#define SPEAKING(test) cmocka_unit_test_setup_teardown(test, setup_speaking, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_asks_for_the_host_itself_goes_on),
		cmocka_unit_test(attack_net_04_what_asks_for_another_host_never_arrives_whole),
		SCENE(attack_net_04_bytes_that_come_with_the_request_are_heard_too),
		SCENE(another_host_that_is_allowed_goes_on),
		cmocka_unit_test(attack_net_04_a_tunnel_ends_with_the_right_to_either_of_its_hosts),
		SCENE(half_a_hello_waits_for_nothing),
		cmocka_unit_test(the_last_piece_waits_for_the_judge),
		cmocka_unit_test(attack_net_04_the_end_waits_for_the_judge_like_a_last_piece),
		SCENE(what_ends_as_no_request_ends_in_order),
		SCENE(a_tunnel_that_is_cut_while_it_is_judged_asks_no_more),
		SPEAKING(whom_the_host_speaks_to_first_is_not_heard),
		SCENE(what_goes_to_an_address_is_not_heard),
		SCENE(attack_net_12_a_hello_without_end_is_refused),
		cmocka_unit_test(a_question_says_which_other_host_the_first_bytes_ask_for),
		cmocka_unit_test(a_call_that_is_heard_can_be_cancelled_at_any_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
