/* The door in a sandbox: what is taken of what a tool says, what it is told, and what many hostile guests can do. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session/inside_door.h"
#include "support/cmocka.h"
#include "support/passing.h"

/* What a tool says */

static int parse(const char *text, struct inside_message *message, struct error *error) {
	return inside_message_parse(text, strlen(text), message, error);
}

static void expect_refused(const char *text) {
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	if (parse(text, &message, &error) == 0) fail_msg("taken: %s", text);
	assert_true(error.message[0] != '\0');
}

static void a_request_is_taken_with_its_target_in_normal_form(void **state) {
	(void)state;
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	assert_int_equal(parse("{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/a/./b/../c/\", "
			       "\"reason\": \"why\"}",
			       &message, &error),
			 0);
	assert_int_equal(message.kind, INSIDE_REQUEST);
	assert_int_equal(message.permission.kind, PERMISSION_FS_READ);
	assert_string_equal(message.target, "/a/c");
	assert_string_equal(message.reason, "why");
}

static void a_permission_of_the_users_own_is_taken_as_it_is(void **state) {
	(void)state;
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	assert_int_equal(parse("{\"type\": \"request\", \"permission\": \"db:access\", \"target\": \"prod/../x\"}",
			       &message, &error),
			 0);
	assert_string_equal(message.target, "prod/../x");
	assert_null(message.reason);
}

static void what_is_malformed_is_refused_with_a_sentence(void **state) {
	(void)state;
	expect_refused("");
	expect_refused("[]");
	expect_refused("{}");
	expect_refused("{\"type\": 1}");
	expect_refused("{\"type\": \"describe\", \"session\": 1}");
	expect_refused("{\"type\": \"request\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"fs:read\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": 1}");
	expect_refused("{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"x\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"~/x\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/a\\u0000b\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"no\", \"target\": \"/x\"}");
	expect_refused("{\"type\": \"request\", \"permission\": \"net:access\", \"target\": \"a b:1\"}");
	expect_refused("{\"type\": \"request\", \"type\": \"describe\"}");
}

/* Who it is, for which session and how it asks nobody in there may say. */
static void attack_broker_3_a_tool_says_nothing_about_itself(void **state) {
	(void)state;
	static const char *const keys[] = {"process", "parents", "profile", "project", "session", "id",     "ask",
					   "again",   "folder",  "name",    "walk",    "token",   "effect", "scope"};
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		CLEANUP_FREE char *text = string_format(
			"{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/x\", \"%s\": 1}", keys[i]);
		expect_refused(text);
	}
}

/* Nothing else that the broker knows can be said here. */
static void attack_broker_11_no_other_message_of_the_brokers_is_taken(void **state) {
	(void)state;
	size_t refused = 0;
	for (int i = 0; i < MESSAGE_TYPE_COUNT; i++) {
		const char *name = message_info((enum message_type)i)->name;
		if (strcmp(name, "describe") == 0) continue;
		CLEANUP_FREE char *text = string_format("{\"type\": \"%s\"}", name);
		CLEANUP_FREE char *whole = string_format(
			"{\"type\": \"%s\", \"permission\": \"fs:read\", \"target\": \"/x\", \"id\": 1}", name);
		expect_refused(text);
		expect_refused(whole);
		refused++;
	}
	assert_int_equal(refused, MESSAGE_TYPE_COUNT - 1);
}

static void a_reason_has_a_bound(void **state) {
	(void)state;
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	char reason[LIMIT_REASON + 2];
	memset(reason, 'r', sizeof reason);
	reason[LIMIT_REASON] = '\0';
	CLEANUP_FREE char *longest = string_format(
		"{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/x\", \"reason\": \"%s\"}", reason);
	assert_int_equal(parse(longest, &message, &error), 0);
	reason[LIMIT_REASON] = 'r';
	reason[LIMIT_REASON + 1] = '\0';
	CLEANUP_FREE char *longer = string_format(
		"{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/x\", \"reason\": \"%s\"}", reason);
	expect_refused(longer);
}

/* What it is told */

static char *told(const char *module, enum effect effect, bool user) {
	struct verdict verdict = {.effect = effect,
				  .why = (char *)"the host's secret sentence",
				  .rule = (char *)"/etc/sbx/policy.d/x.yaml:7",
				  .grant = 7,
				  .asked_user = user};
	snprintf(verdict.module, sizeof verdict.module, "%s", module);
	json_t *reply = inside_reply_verdict(&verdict);
	char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(reply);
	return text;
}

static void attack_f_21_a_denial_tells_nothing_of_the_host(void **state) {
	(void)state;
	static const char *const modules[] = {"rules", "protect", "none", "exec", "grants", "ask", "flood", "broker"};
	CLEANUP_FREE char *absent = told("none", EFFECT_DENY, false);
	for (size_t i = 0; i < ARRAY_LENGTH(modules); i++) {
		CLEANUP_FREE char *text = told(modules[i], EFFECT_DENY, false);
		assert_null(strstr(text, "secret"));
		assert_null(strstr(text, "yaml"));
		assert_null(strstr(text, "7"));
		assert_non_null(strstr(text, "\"allowed\":false"));
		if (i < 4) assert_string_equal(text, absent); /* a rule's denial looks like none */
	}
	CLEANUP_FREE char *user = told("ask", EFFECT_DENY, true);
	assert_non_null(strstr(user, "\"by\":\"user\""));
	CLEANUP_FREE char *allowed = told("rules", EFFECT_ALLOW, false);
	assert_non_null(strstr(allowed, "\"allowed\":true"));
	assert_null(strstr(allowed, "secret"));
}

/* The door */

struct house {
	struct event_base *base;
	struct inside_door *door;
	struct sockaddr_un address;
	socklen_t address_size;
	inside_done *done; /* of the last that was served */
	void *argument;
	uint64_t tickets;
	unsigned served, cancelled;
	pid_t sender;
	bool known;
	char reason[64];
};

static bool on_caller(void *context, pid_t process, char **ret_process, struct strings *ret_parents) {
	struct house *house = context;
	house->sender = process;
	*ret_process = NULL;
	*ret_parents = (struct strings){0};
	return house->known;
}

static uint64_t on_serve(void *context, const struct inside_wish *wish, inside_done *done, void *argument) {
	struct house *house = context;
	house->done = done;
	house->argument = argument;
	house->served++;
	snprintf(house->reason, sizeof house->reason, "%s", wish->message->reason ? wish->message->reason : "");
	return ++house->tickets;
}

static void on_cancel(void *context, uint64_t ticket) {
	struct house *house = context;
	(void)ticket;
	house->cancelled++;
}

static int build(void **state) {
	struct house *house = mem_new(struct house);
	struct error error = ERROR_NONE;
	*house = (struct house){.base = loop_new(), .address = {.sun_family = AF_UNIX}, .known = true};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	house->address_size = sizeof house->address;
	/* an abstract name of the kernel's choice (unix(7), autobind) */
	if (bind(listener, (struct sockaddr *)&house->address, sizeof(sa_family_t)) < 0 || listen(listener, 128) < 0 ||
	    getsockname(listener, (struct sockaddr *)&house->address, &house->address_size) < 0)
		return -1;
	const struct inside_door_options options = {
		.base = house->base, .caller = on_caller, .serve = on_serve, .cancel = on_cancel, .context = house};
	*state = house;
	return inside_door_new(listener, &options, &house->door, &error);
}

static int leave(void **state) {
	struct house *house = *state;
	inside_door_free(house->door);
	event_base_free(house->base);
	free(house);
	return 0;
}

static int visit(const struct house *house) {
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&house->address, house->address_size) == 0) return fd;
	assert_int_equal(errno, EAGAIN);
	fd_close(fd);
	return -1;
}

static void turn(const struct house *house) {
	for (int i = 0; i < 400; i++) event_base_loop(house->base, EVLOOP_NONBLOCK);
}

static const char request[] =
	"{\"type\":\"request\",\"permission\":\"fs:read\",\"target\":\"/x\",\"reason\":\"because\"}";

static void say(int fd, const char *text) {
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The type of the reply; "" where the door has hung up, "-" where there is none yet. */
static const char *hear(int fd) {
	static char type[32];
	char bytes[LIMIT_DOOR_MESSAGE];
	json_t *json = NULL;
	ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (size < 0 && errno == EAGAIN) return "-";
	if (size <= 0) return "";
	assert_int_equal(message_decode(bytes, (size_t)size, &json, NULL), 0);
	snprintf(type, sizeof type, "%s", json_string_value(json_object_get(json, "type")));
	json_decref(json);
	return type;
}

static void a_connection_asks_once_is_told_once_and_is_closed(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	say(fd, request);
	turn(house);
	assert_int_equal(house->served, 1);
	assert_int_equal(house->sender, getpid());
	assert_string_equal(house->reason, "because");
	assert_string_equal(hear(fd), "-");
	house->done(house->argument, inside_reply_no("rule", "no"));
	assert_string_equal(hear(fd), "request");
	assert_string_equal(hear(fd), "");
	assert_int_equal(inside_door_count(house->door), 0);
	assert_int_equal(house->cancelled, 0);
}

static void who_hangs_up_asks_no_more(void **state) {
	struct house *house = *state;
	int fd = visit(house);
	say(fd, request);
	turn(house);
	assert_int_equal(house->served, 1);
	fd_close(fd);
	turn(house);
	assert_int_equal(house->cancelled, 1);
	assert_int_equal(inside_door_count(house->door), 0);
}

static void who_says_more_is_told_so_and_asks_no_more(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	say(fd, request);
	turn(house);
	say(fd, request);
	turn(house);
	assert_int_equal(house->served, 1);
	assert_int_equal(house->cancelled, 1);
	assert_string_equal(hear(fd), "error");
}

/* By whom the connection was made says nothing: it is who speaks. */
static void attack_broker_3_who_asks_is_who_has_sent_it(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) _exit(send(fd, request, strlen(request), 0) > 0 ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	turn(house);
	assert_int_equal(house->sender, child);
	assert_int_equal(house->served, 1);
}

static void attack_broker_3_another_number_than_ones_own_can_not_be_given(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control = {0};
	struct iovec part = {(char *)request, strlen(request)};
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *first = CMSG_FIRSTHDR(&header);
	const struct ucred other = {.pid = 1, .uid = getuid(), .gid = getgid()};
	first->cmsg_level = SOL_SOCKET;
	first->cmsg_type = SCM_CREDENTIALS;
	first->cmsg_len = CMSG_LEN(sizeof other);
	memcpy(CMSG_DATA(first), &other, sizeof other);
	if (geteuid() == 0) return; /* may: CAP_SYS_ADMIN over the pid namespace (unix(7)), which no tool has */
	assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPERM);
}

static void attack_broker_3_who_is_not_of_the_sandbox_gets_no_word(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	house->known = false;
	say(fd, request);
	turn(house);
	assert_int_equal(house->served, 0);
	assert_string_equal(hear(fd), "");
}

static void attack_broker_5_a_giant_message_is_refused(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	CLEANUP_FREE char *giant = mem_array(char, LIMIT_DOOR_MESSAGE + 2);
	memset(giant, ' ', LIMIT_DOOR_MESSAGE + 1);
	memcpy(giant, request, sizeof request - 1);
	say(fd, giant);
	turn(house);
	assert_int_equal(house->served, 0);
	assert_string_equal(hear(fd), "error");
}

static void attack_broker_5_descriptors_are_refused_and_none_stays(void **state) {
	struct house *house = *state;
	CLEANUP_FD int fd = visit(house);
	CLEANUP_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(passing_send(fd, request, strlen(request), &null, 1) == 0);
	int before = dup(0);
	fd_close(before);
	turn(house);
	int after = dup(0);
	fd_close(after);
	assert_int_equal(house->served, 0);
	assert_string_equal(hear(fd), "error");
	assert_true(after <= before);
}

static void attack_broker_5_silent_guests_make_room_for_who_speaks(void **state) {
	struct house *house = *state;
	int silent[LIMIT_DOOR_GUESTS];
	for (size_t i = 0; i < LIMIT_DOOR_GUESTS; i++) {
		silent[i] = visit(house);
		assert_true(silent[i] >= 0);
		while (inside_door_count(house->door) <= i) event_base_loop(house->base, EVLOOP_ONCE);
	}
	assert_int_equal(inside_door_count(house->door), LIMIT_DOOR_GUESTS);
	CLEANUP_FD int fd = visit(house);
	say(fd, request);
	while (house->served == 0) event_base_loop(house->base, EVLOOP_ONCE);
	assert_int_equal(inside_door_count(house->door), LIMIT_DOOR_GUESTS);
	assert_string_equal(hear(silent[0]), ""); /* who came first */
	for (size_t i = 0; i < LIMIT_DOOR_GUESTS; i++) fd_close(silent[i]);
}

static void attack_broker_5_of_a_flood_of_requests_few_wait_and_the_rest_is_told_so(void **state) {
	struct house *house = *state;
	enum { FLOOD = LIMIT_DOOR_SERVING + 20 };
	int fds[FLOOD];
	size_t refused = 0;
	for (size_t i = 0; i < FLOOD; i++) {
		fds[i] = visit(house);
		say(fds[i], request);
		while (i < LIMIT_DOOR_SERVING && house->served <= i) event_base_loop(house->base, EVLOOP_ONCE);
	}
	for (size_t i = LIMIT_DOOR_SERVING; i < FLOOD; i++) {
		const char *type;
		while (strcmp(type = hear(fds[i]), "-") == 0) event_base_loop(house->base, EVLOOP_ONCE);
		refused += strcmp(type, "error") == 0;
	}
	assert_int_equal(house->served, LIMIT_DOOR_SERVING);
	assert_int_equal(refused, FLOOD - LIMIT_DOOR_SERVING);
	for (size_t i = 0; i < FLOOD; i++) fd_close(fds[i]);
	turn(house);
	assert_int_equal(house->cancelled, LIMIT_DOOR_SERVING);
	assert_int_equal(inside_door_count(house->door), 0);
}

/* However many come, what is taken of them in a second is bounded, and afterwards the door is open again. */
static void attack_broker_5_ten_thousand_connections_are_taken_slowly(void **state) {
	struct house *house = *state;
	unsigned let_in = 0;
	for (int i = 0; i < 10000; i++) {
		int fd = visit(house);
		let_in += fd >= 0;
		fd_close(fd);
		event_base_loop(house->base, EVLOOP_NONBLOCK);
		assert_true(inside_door_count(house->door) <= LIMIT_DOOR_GUESTS);
	}
	assert_true(let_in >= LIMIT_DOOR_RATE);
	assert_true(let_in < 10000 / 2);
	int fd;
	while ((fd = visit(house)) < 0) event_base_loop(house->base, EVLOOP_ONCE);
	say(fd, request);
	while (house->served == 0) event_base_loop(house->base, EVLOOP_ONCE);
	fd_close(fd);
}

int main(void) {
#define DOOR(name) cmocka_unit_test_setup_teardown(name, build, leave)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_with_its_target_in_normal_form),
		cmocka_unit_test(a_permission_of_the_users_own_is_taken_as_it_is),
		cmocka_unit_test(what_is_malformed_is_refused_with_a_sentence),
		cmocka_unit_test(attack_broker_3_a_tool_says_nothing_about_itself),
		cmocka_unit_test(attack_broker_11_no_other_message_of_the_brokers_is_taken),
		cmocka_unit_test(a_reason_has_a_bound),
		cmocka_unit_test(attack_f_21_a_denial_tells_nothing_of_the_host),
		DOOR(a_connection_asks_once_is_told_once_and_is_closed),
		DOOR(who_hangs_up_asks_no_more),
		DOOR(who_says_more_is_told_so_and_asks_no_more),
		DOOR(attack_broker_3_who_asks_is_who_has_sent_it),
		DOOR(attack_broker_3_another_number_than_ones_own_can_not_be_given),
		DOOR(attack_broker_3_who_is_not_of_the_sandbox_gets_no_word),
		DOOR(attack_broker_5_a_giant_message_is_refused),
		DOOR(attack_broker_5_descriptors_are_refused_and_none_stays),
		DOOR(attack_broker_5_silent_guests_make_room_for_who_speaks),
		DOOR(attack_broker_5_of_a_flood_of_requests_few_wait_and_the_rest_is_told_so),
		DOOR(attack_broker_5_ten_thousand_connections_are_taken_slowly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
