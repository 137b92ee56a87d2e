#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "net/doors/proxy.h"
#include "net/gate/gate_private.h"
#include "support/patience.h"

enum { HELD_MAX = 64, NAMES_MAX = 16 };

struct held {
	uint64_t ticket;
	void (*done)(void *argument, const struct verdict *verdict);
	void *argument;
	bool localhost;
};

struct name {
	char *name, *addresses;
};

struct command {
	void (*function)(struct fixture *fixture, void *argument);
	void *argument;
};

struct fixture {
	struct event_base *base;
	struct gate *gate;
	struct proxy *proxy;
	struct event *control;
	int control_fds[2], reply_fds[2];
	pthread_t thread;
	uint16_t port;
	struct sockaddr_un unix_address;
	socklen_t unix_size;
	bool stopped;
	/* of the loop's thread */
	enum fixture_answer answer;
	int64_t grant;
	bool private_allowed;
	const char *denied_address;
	struct held held[HELD_MAX];
	size_t held_count;
	uint64_t next_ticket;
	/* of all threads */
	pthread_mutex_t lock;
	struct fixture_counts counts;
	struct name names[NAMES_MAX];
	size_t name_count;
	bool names_held;
	size_t names_busy; /* look-ups that threads are at */
	pthread_cond_t names_changed;
};

/* The judge */

static void answer(const struct fixture *fixture, enum fixture_answer given, const struct held *held) {
	char why[] = "the test says so";
	bool allow = given == FIXTURE_ALLOW || given == FIXTURE_ALLOW_STAR || given == FIXTURE_ALLOW_ONCE;
	/* As the broker has it: who names localhost means it. */
	bool named = held->localhost && given == FIXTURE_ALLOW;
	struct verdict verdict = {.effect = allow ? EFFECT_ALLOW : EFFECT_DENY,
				  .why = why,
				  .grant = fixture->grant,
				  .prompt = given == FIXTURE_ALLOW_ONCE,
				  .once = given == FIXTURE_ALLOW_ONCE,
				  .private_allowed = fixture->private_allowed || named};

	snprintf(verdict.module, sizeof verdict.module, "%s", given == FIXTURE_FORBID ? "rules" : "ask");
	held->done(held->argument, &verdict);
}

static uint64_t hold_or_answer(struct fixture *fixture, const struct held *held) {
	if (fixture->answer == FIXTURE_HOLD) {
		assert_true(fixture->held_count < HELD_MAX);
		fixture->held[fixture->held_count++] = *held;
		return held->ticket;
	}
	answer(fixture, fixture->answer, held);
	return 0;
}

static uint64_t judge_check(void *context, const char *target, const struct gate_caller *caller,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct fixture *fixture = context;
	struct held held = {++fixture->next_ticket, done, argument, string_starts(target, "localhost:")};

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.checks++;
	snprintf(fixture->counts.target, sizeof fixture->counts.target, "%s", target);
	snprintf(fixture->counts.process, sizeof fixture->counts.process, "%s", caller->process ? caller->process : "");
	snprintf(fixture->counts.says, sizeof fixture->counts.says, "%s", caller->says ? caller->says : "");
	pthread_mutex_unlock(&fixture->lock);
	return hold_or_answer(fixture, &held);
}

static uint64_t judge_check_unasked(void *context, const char *target,
				    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct fixture *fixture = context;
	struct held held = {++fixture->next_ticket, done, argument, string_starts(target, "localhost:")};

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.unasked++;
	snprintf(fixture->counts.target_unasked, sizeof fixture->counts.target_unasked, "%s", target);
	pthread_mutex_unlock(&fixture->lock);
	return hold_or_answer(fixture, &held);
}

static uint64_t judge_check_again(void *context, const char *target,
				  void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct fixture *fixture = context;
	struct held held = {++fixture->next_ticket, done, argument, string_starts(target, "localhost:")};

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.again++;
	snprintf(fixture->counts.target_again, sizeof fixture->counts.target_again, "%s", target);
	pthread_mutex_unlock(&fixture->lock);
	if (fixture->answer != FIXTURE_GONE) return hold_or_answer(fixture, &held);
	done(argument, NULL);
	return 0;
}

static uint64_t judge_check_address(void *context, const char *target,
				    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct fixture *fixture = context;
	char why[] = "the test denies it";
	const bool denied = fixture->denied_address && strcmp(target, fixture->denied_address) == 0;
	struct verdict verdict = {
		.effect = denied ? EFFECT_DENY : EFFECT_ALLOW, .module = "rules", .why = denied ? why : NULL};

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.addresses++;
	pthread_mutex_unlock(&fixture->lock);
	done(argument, &verdict);
	return 0;
}

static void held_remove(struct fixture *fixture, size_t index) {
	fixture->held_count--;
	memmove(&fixture->held[index], &fixture->held[index + 1],
		(fixture->held_count - index) * sizeof *fixture->held);
}

static void judge_cancel(void *context, uint64_t ticket) {
	struct fixture *fixture = context;

	for (size_t i = 0; i < fixture->held_count; i++) {
		if (fixture->held[i].ticket != ticket) continue;
		held_remove(fixture, i);
		pthread_mutex_lock(&fixture->lock);
		fixture->counts.cancels++;
		pthread_mutex_unlock(&fixture->lock);
		return;
	}
	fail_msg("a ticket that nobody holds was cancelled");
}

static void judge_refuse(void *context, const char *target, int64_t grant, const char *why) {
	struct fixture *fixture = context;

	(void)target, (void)grant;
	pthread_mutex_lock(&fixture->lock);
	fixture->counts.refusals++;
	snprintf(fixture->counts.refused, sizeof fixture->counts.refused, "%s", why);
	pthread_mutex_unlock(&fixture->lock);
}

static void judge_complain(void *context, const char *sentence) {
	struct fixture *fixture = context;

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.complaints++;
	snprintf(fixture->counts.complaint, sizeof fixture->counts.complaint, "%s", sentence);
	pthread_mutex_unlock(&fixture->lock);
}

static void judge_report(void *context, const char *target, int64_t grant, const char *door, uint64_t sent,
			 uint64_t received, int64_t duration_ms, const char *error) {
	struct fixture *fixture = context;

	(void)target, (void)grant;
	assert_true(duration_ms >= 0);
	pthread_mutex_lock(&fixture->lock);
	fixture->counts.reports++;
	fixture->counts.sent += sent;
	fixture->counts.received += received;
	snprintf(fixture->counts.door, sizeof fixture->counts.door, "%s", door);
	snprintf(fixture->counts.error, sizeof fixture->counts.error, "%s", error ? error : "");
	pthread_mutex_unlock(&fixture->lock);
}

/* The resolver */

static void list_free(struct addrinfo *list) {
	while (list) {
		struct addrinfo *next = list->ai_next;

		free(list->ai_addr);
		free(list);
		list = next;
	}
}

static struct addrinfo *list_item(const char *text) {
	struct addrinfo *item = mem_new(struct addrinfo);
	struct sockaddr_in *ipv4 = mem_new(struct sockaddr_in);
	struct sockaddr_in6 *ipv6 = mem_new(struct sockaddr_in6);

	ipv4->sin_family = AF_INET;
	ipv6->sin6_family = AF_INET6;
	if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
		item->ai_addr = (struct sockaddr *)ipv4;
		item->ai_addrlen = sizeof *ipv4;
		free(ipv6);
		return item;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &ipv6->sin6_addr), 1);
	item->ai_addr = (struct sockaddr *)ipv6;
	item->ai_addrlen = sizeof *ipv6;
	free(ipv4);
	return item;
}

static int names_find(void *context, const char *name, struct addrinfo **ret_list) {
	struct fixture *fixture = context;
	CLEANUP_FREE char *addresses = NULL;
	struct addrinfo **end = ret_list;
	char *state = NULL;

	pthread_mutex_lock(&fixture->lock);
	fixture->counts.lookups++;
	fixture->names_busy++;
	while (fixture->names_held) pthread_cond_wait(&fixture->names_changed, &fixture->lock);
	for (size_t i = 0; i < fixture->name_count; i++)
		if (strcmp(fixture->names[i].name, name) == 0) addresses = string_copy(fixture->names[i].addresses);
	fixture->names_busy--;
	pthread_cond_broadcast(&fixture->names_changed);
	pthread_mutex_unlock(&fixture->lock); /* from here on the fixture may be gone */
	if (!addresses) return EAI_NONAME;
	for (char *text = strtok_r(addresses, ",", &state); text; text = strtok_r(NULL, ",", &state)) {
		*end = list_item(text);
		end = &(*end)->ai_next;
	}
	return 0;
}

/* The loop's thread */

static void control_ready(evutil_socket_t fd, short what, void *argument) {
	struct fixture *fixture = argument;
	struct command command;

	(void)what;
	if (read((int)fd, &command, sizeof command) != sizeof command) {
		event_base_loopbreak(fixture->base);
		return;
	}
	command.function(fixture, command.argument);
	assert_int_equal(write(fixture->reply_fds[1], "", 1), 1);
}

static void *thread_main(void *argument) {
	struct fixture *fixture = argument;

	event_base_dispatch(fixture->base);
	return NULL;
}

void fixture_call(struct fixture *fixture, void (*function)(struct fixture *fixture, void *argument), void *argument) {
	struct command command = {function, argument};
	char byte;

	assert_int_equal(write(fixture->control_fds[1], &command, sizeof command), sizeof command);
	assert_int_equal(read(fixture->reply_fds[0], &byte, 1), 1);
}

static int listen_on_loopback(uint16_t *ret_port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 4096), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static int listen_on_unix(struct fixture *fixture) {
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fixture->unix_address.sun_family = AF_UNIX;
	fixture->unix_size = sizeof fixture->unix_address;
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&fixture->unix_address, sizeof(sa_family_t)), 0); /* autobind */
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&fixture->unix_address, &fixture->unix_size), 0);
	return fd;
}

struct fixture *fixture_new(void) {
	struct fixture *fixture = mem_new(struct fixture);
	const struct gate_judge judge = {.context = fixture,
					 .check = judge_check,
					 .check_unasked = judge_check_unasked,
					 .check_again = judge_check_again,
					 .check_address = judge_check_address,
					 .cancel = judge_cancel,
					 .refuse = judge_refuse,
					 .complain = judge_complain,
					 .report = judge_report};
	const struct lookup lookup = {.context = fixture, .find = names_find, .release = list_free};

	pthread_mutex_init(&fixture->lock, NULL);
	pthread_cond_init(&fixture->names_changed, NULL);
	assert_int_equal(pipe(fixture->control_fds), 0);
	assert_int_equal(pipe(fixture->reply_fds), 0);
	fixture->base = loop_new();
	fixture->gate = gate_new(fixture->base, &judge);
	gate_set_lookup(fixture->gate, &lookup);
	fixture->proxy = proxy_new(fixture->base, fixture->gate, "test");
	assert_int_equal(proxy_listen(fixture->proxy, listen_on_loopback(&fixture->port), NULL), 0);
	assert_int_equal(proxy_listen(fixture->proxy, listen_on_unix(fixture), NULL), 0);
	fixture->control =
		event_new(fixture->base, fixture->control_fds[0], EV_READ | EV_PERSIST, control_ready, fixture);
	event_add(fixture->control, NULL);
	assert_int_equal(pthread_create(&fixture->thread, NULL, thread_main, fixture), 0);
	return fixture;
}

void fixture_hold_names(struct fixture *fixture, bool held) {
	pthread_mutex_lock(&fixture->lock);
	fixture->names_held = held;
	pthread_cond_broadcast(&fixture->names_changed);
	pthread_mutex_unlock(&fixture->lock);
}

void fixture_free(struct fixture *fixture) {
	fixture_hold_names(fixture, false);
	fd_close(fd_steal(&fixture->control_fds[1]));
	pthread_join(fixture->thread, NULL);
	proxy_free(fixture->proxy);
	gate_free(fixture->gate);
	event_free(fixture->control);
	event_base_free(fixture->base);
	fd_close(fixture->control_fds[0]);
	fd_close(fixture->reply_fds[0]);
	fd_close(fixture->reply_fds[1]);
	usleep(20 * 1000); /* a resolver thread may be on its way in */
	pthread_mutex_lock(&fixture->lock);
	while (fixture->names_busy > 0) pthread_cond_wait(&fixture->names_changed, &fixture->lock);
	pthread_mutex_unlock(&fixture->lock);
	for (size_t i = 0; i < fixture->name_count; i++) {
		free(fixture->names[i].name);
		free(fixture->names[i].addresses);
	}
	pthread_cond_destroy(&fixture->names_changed);
	pthread_mutex_destroy(&fixture->lock);
	free(fixture);
}

uint16_t fixture_port(const struct fixture *fixture) {
	return fixture->port;
}

struct gate *fixture_gate(struct fixture *fixture) {
	return fixture->gate;
}

struct event_base *fixture_base(struct fixture *fixture) {
	return fixture->base;
}

int fixture_dial_unix(struct fixture *fixture) {
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&fixture->unix_address, fixture->unix_size), 0);
	return fd;
}

/* Orders to the loop's thread */

struct judge_settings {
	enum fixture_answer answer;
	int64_t grant;
	bool private_allowed;
};

static void do_set_judge(struct fixture *fixture, void *argument) {
	const struct judge_settings *settings = argument;

	fixture->answer = settings->answer;
	fixture->grant = settings->grant;
	fixture->private_allowed = settings->private_allowed;
}

void fixture_deny_address(struct fixture *fixture, const char *target) {
	fixture->denied_address = target;
}

void fixture_set_judge(struct fixture *fixture, enum fixture_answer answer_given, int64_t grant, bool private_allowed) {
	struct judge_settings settings = {answer_given, grant, private_allowed};

	fixture_call(fixture, do_set_judge, &settings);
}

static void do_answer_held(struct fixture *fixture, void *argument) {
	struct held held = fixture->held[0];

	if (fixture->held_count == 0) return;
	held_remove(fixture, 0);
	answer(fixture, *(enum fixture_answer *)argument, &held);
}

void fixture_answer_held(struct fixture *fixture, enum fixture_answer given) {
	fixture_call(fixture, do_answer_held, &given);
}

struct cut {
	int64_t grant;
	size_t count;
};

static void do_cut(struct fixture *fixture, void *argument) {
	struct cut *cut = argument;

	cut->count = gate_cut(fixture->gate, &cut->grant, 1);
}

size_t fixture_cut(struct fixture *fixture, int64_t grant) {
	struct cut cut = {grant, 0};

	fixture_call(fixture, do_cut, &cut);
	return cut.count;
}

static void do_review(struct fixture *fixture, void *argument) {
	(void)argument;
	gate_review(fixture->gate);
}

void fixture_review(struct fixture *fixture) {
	fixture_call(fixture, do_review, NULL);
}

static void do_set_host(struct fixture *fixture, void *argument) {
	gate_set_hosts(fixture->gate, argument, 1);
}

void fixture_set_host(struct fixture *fixture, const char *name, const char *address) {
	CLEANUP_FREE char *name_copy = string_copy(name);
	CLEANUP_FREE char *address_copy = string_copy(address);
	struct view_pair pair = {name_copy, address_copy};

	fixture_call(fixture, do_set_host, &pair);
}

static void do_set_upstream(struct fixture *fixture, void *argument) {
	gate_set_upstream(fixture->gate, argument);
}

void fixture_set_upstream(struct fixture *fixture, char *upstream) {
	fixture_call(fixture, do_set_upstream, upstream);
}

static void do_set_limits(struct fixture *fixture, void *argument) {
	proxy_set_limits(fixture->proxy, argument);
}

void fixture_set_limits(struct fixture *fixture, struct proxy_limits limits) {
	fixture_call(fixture, do_set_limits, &limits);
}

void fixture_set_name(struct fixture *fixture, const char *name, const char *addresses) {
	pthread_mutex_lock(&fixture->lock);
	assert_true(fixture->name_count < NAMES_MAX);
	fixture->names[fixture->name_count++] = (struct name){string_copy(name), string_copy(addresses)};
	pthread_mutex_unlock(&fixture->lock);
}

/* Counts */

static void do_count_clients(struct fixture *fixture, void *argument) {
	*(size_t *)argument = proxy_client_count(fixture->proxy);
}

struct fixture_counts fixture_counts(struct fixture *fixture) {
	struct fixture_counts counts;
	size_t clients;

	fixture_call(fixture, do_count_clients, &clients);
	pthread_mutex_lock(&fixture->lock);
	counts = fixture->counts;
	pthread_mutex_unlock(&fixture->lock);
	counts.clients = clients;
	return counts;
}

void fixture_wait(struct fixture *fixture, bool (*holds)(const struct fixture_counts *counts, unsigned wanted),
		  unsigned wanted) {
	struct fixture_counts counts = {0};

	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end; usleep(2000)) {
		counts = fixture_counts(fixture);
		if (holds(&counts, wanted)) return;
	}
	fail_msg("waited in vain: checks %u cancels %u reports %u clients %zu, wanted %u", counts.checks,
		 counts.cancels, counts.reports, counts.clients, wanted);
}

bool lookups_reach(const struct fixture_counts *counts, unsigned wanted) {
	return counts->lookups >= wanted;
}

bool checks_reach(const struct fixture_counts *counts, unsigned wanted) {
	return counts->checks >= wanted;
}

bool unasked_reaches(const struct fixture_counts *counts, unsigned wanted) {
	return counts->unasked >= wanted;
}

bool again_reaches(const struct fixture_counts *counts, unsigned wanted) {
	return counts->again >= wanted;
}

bool cancels_reach(const struct fixture_counts *counts, unsigned wanted) {
	return counts->cancels >= wanted;
}

bool reports_reach(const struct fixture_counts *counts, unsigned wanted) {
	return counts->reports >= wanted;
}

bool clients_reach(const struct fixture_counts *counts, unsigned wanted) {
	return counts->clients == wanted;
}
