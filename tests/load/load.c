/*
 * load: the real sbxd under clients that mean it no good, and what a client that does sees meanwhile.
 *
 * Theory of operation.
 *
 * A witness, a process with one session, checks all the time: after each reply it waits a little and asks again. While
 * it does, attackers (processes, since one may have only so many connections) do one kind of harm each. What counts is
 * that the witness was served, that the broker's memory stayed below a bound, and that a second round of everything
 * needs no more than the first: nothing leaks. Times are printed, never asserted: machines differ.
 *
 * SBX_LOAD (default 1) multiplies what the attackers do.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

enum {
	SAMPLES_MAX = 1 << 20,
	WITNESS_PAUSE_US = 500,
	SERVED_AT_LEAST = 20, /* checks of the witness during each attack: it was never shut out for long */
	PROCESSES = 10,
	CONNECTIONS = 50, /* of each process: 500 clients */
	ROUNDS = 2,
	MEMORY_MAX_KIB = 160 * 1024, /* LIMIT_QUEUES, and a quarter of a MiB for each of 500 sessions */
	LEAK_KIB = 4 * 1024,
};

static_assert(PROTOCOL_VERSION == 7, "hello says so");
static const char hello[] = "{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"load\"}";
static const char status[] = "{\"type\":\"status\",\"id\":2}";

/* Shared with the witness. */
struct samples {
	atomic_size_t count;
	atomic_bool stop;
	uint32_t micros[SAMPLES_MAX];
};

static struct samples *samples;
static pid_t witness;
static int scale = 1;
static long round_end_kib[ROUNDS];

static int64_t now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void pause_us(long us) {
	const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	nanosleep(&time, NULL);
}

/* In children failures are told and end the child: an assertion would go on in the parent's test. */
_Noreturn static void give_up(const char *what) {
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int connect_raw(void) {
	CLEANUP_FREE char *path = NULL;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (channel_socket_path(&path, NULL) < 0) give_up("the socket's path");
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) give_up("socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool say(int fd, const char *text) {
	return send(fd, text, strlen(text), MSG_NOSIGNAL) >= 0;
}

static ssize_t hear(int fd, char bytes[LIMIT_MESSAGE + 1]) {
	ssize_t got = recv(fd, bytes, LIMIT_MESSAGE, 0);
	bytes[got > 0 ? got : 0] = '\0';
	return got;
}

static int connect_greeted(void) {
	char bytes[LIMIT_MESSAGE + 1];
	int fd = connect_raw();
	if (fd >= 0 && say(fd, hello) && hear(fd, bytes) > 0) return fd;
	fd_close(fd);
	return -1;
}

/* A session that allows *.many.test and has its view; what isn't allowed is asked. */
static int connect_session(void) {
	char bytes[LIMIT_MESSAGE + 1];
	int fd = connect_greeted();
	if (fd < 0) give_up("connecting");
	CLEANUP_FREE char *app = home_path("app");
	CLEANUP_FREE char *open = string_format(
		"{\"type\":\"session-open\",\"id\":2,\"command\":[\"tool\"],\"executable\":\"/usr/bin/"
		"tool\",\"project\":\"%s\","
		"\"root\":\"%s\",\"cwd\":\"%s\",\"environment\":[],\"allow\":[\"net:access=*.many.test:443\"]}",
		app, app, app);
	if (!say(fd, open)) give_up("session-open");
	bool opened = false, viewed = false;
	while (!opened || !viewed) {
		if (hear(fd, bytes) <= 0) give_up("opening a session");
		if (strstr(bytes, "\"type\":\"error\"")) give_up(bytes);
		opened |= strstr(bytes, "\"type\":\"session-open\"") != NULL;
		viewed |= strstr(bytes, "\"type\":\"view\"") != NULL;
	}
	return fd;
}

static bool ask(int fd, int64_t id, const char *host) {
	char text[256];
	snprintf(text, sizeof text,
		 "{\"type\":\"check\",\"id\":%lld,\"permission\":\"net:access\",\"target\":\"%s:443\"}", (long long)id,
		 host);
	return say(fd, text);
}

/* The next reply to a check, whatever is pushed before it. */
static bool hear_verdict(int fd, char bytes[LIMIT_MESSAGE + 1]) {
	do {
		if (hear(fd, bytes) <= 0) return false;
	} while (!strstr(bytes, "\"type\":\"check\""));
	return true;
}

static bool allows(const char *bytes) {
	return strstr(bytes, "\"effect\":\"allow\"") != NULL;
}

static bool allowed(int fd) {
	char bytes[LIMIT_MESSAGE + 1];
	return hear_verdict(fd, bytes) && allows(bytes);
}

/* The witness */

_Noreturn static void be_witness(void) {
	char bytes[LIMIT_MESSAGE + 1];
	int fd = connect_session();
	for (int64_t id = 10; !atomic_load(&samples->stop); id++) {
		int64_t start = now_us();
		if (!ask(fd, id, "witness.many.test")) give_up("the witness can't ask");
		if (!hear_verdict(fd, bytes)) give_up("the witness was not answered");
		if (!allows(bytes)) give_up(bytes);
		size_t count = atomic_load(&samples->count);
		if (count >= SAMPLES_MAX) give_up("there is no room for more samples");
		samples->micros[count] = (uint32_t)(now_us() - start);
		atomic_store(&samples->count, count + 1);
		pause_us(WITNESS_PAUSE_US);
	}
	_exit(0);
}

static int wait_for(pid_t child) {
	int result;
	while (waitpid(child, &result, 0) < 0) assert_int_equal(errno, EINTR);
	return WIFEXITED(result) ? WEXITSTATUS(result) : -WTERMSIG(result);
}

static void witness_start(void) {
	atomic_store(&samples->stop, false);
	witness = fork();
	assert_true(witness >= 0);
	if (witness == 0) be_witness();
}

static void witness_stop(void) {
	atomic_store(&samples->stop, true);
	assert_int_equal(wait_for(witness), 0);
}

/* Attackers: each runs in a process of its own, told its number. */

/* 500 clients, 10^5 checks in all rounds together: all of a process's connections ask at once, again and again. */
static void many_checks(int number) {
	int fds[CONNECTIONS];
	const int rounds = 100 * 1000 / (PROCESSES * CONNECTIONS * ROUNDS) * scale;
	(void)number;
	for (int i = 0; i < CONNECTIONS; i++) fds[i] = connect_session();
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < CONNECTIONS; i++)
			if (!ask(fds[i], 10 + round, "busy.many.test")) give_up("asking");
		for (int i = 0; i < CONNECTIONS; i++)
			if (!allowed(fds[i])) give_up("a check was not allowed");
	}
}

/* 10^4 prompts in all rounds together, each for a new target, that an agent answers. */
static void be_agent(void) {
	char bytes[LIMIT_MESSAGE + 1], text[512];
	int fd = connect_greeted();
	if (fd < 0 || !say(fd, "{\"type\":\"agent\",\"id\":2,\"kind\":\"terminal\"}")) give_up("the agent");
	for (int64_t id = 10; hear(fd, bytes) > 0; id++) {
		if (!strstr(bytes, "\"type\":\"prompt\"")) continue;
		json_t *prompt = json_loads(bytes, 0, NULL);
		snprintf(text, sizeof text,
			 "{\"type\":\"answer\",\"id\":%lld,\"prompt\":%lld,\"token\":\"%s\",\"effect\":\"allow\","
			 "\"lifetime\":\"once\",\"terminal\":true}",
			 (long long)id, (long long)json_integer_value(json_object_get(prompt, "id")),
			 json_string_value(json_object_get(prompt, "token")));
		json_decref(prompt);
		if (!say(fd, text)) break;
	}
}

static void many_prompts(int number) {
	const int count = 10 * 1000 / (PROCESSES * ROUNDS) * scale;
	int fd = connect_session();
	for (int i = 0; i < count; i++) {
		char host[64];
		snprintf(host, sizeof host, "h%d-%d.asked.test", number, i);
		if (!ask(fd, 10 + i, host) || !allowed(fd)) give_up("an answered prompt did not allow");
	}
}

/* 1,001 prompts and more that nobody answers (B12): they are denied, and the session is told. */
static void flood_of_prompts(int number) {
	int fd = connect_session();
	int denied = 0;
	for (int i = 0; i < 1001; i++) {
		char host[64];
		snprintf(host, sizeof host, "f%d-%d.flood.test", number, i);
		if (!ask(fd, 10 + i, host)) give_up("flooding");
	}
	for (int i = 0; i < 1001; i++) denied += !allowed(fd);
	if (denied != 1001) give_up("a flood was allowed something");
}

/* Who asks and never reads: its replies wait in the broker, up to a bound, and then it is cut off. */
static void slow_readers(int number) {
	int fds[CONNECTIONS];
	(void)number;
	for (int i = 0; i < CONNECTIONS; i++) fds[i] = connect_greeted();
	int alive = CONNECTIONS;
	for (int64_t end = now_us() + 2000000 * (int64_t)scale; alive > 0 && now_us() < end;) {
		alive = 0;
		bool moved = false;
		for (int i = 0; i < CONNECTIONS; i++) {
			if (fds[i] < 0) continue;
			alive++;
			if (send(fds[i], status, sizeof status - 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
				moved = true;
			} else if (errno != EAGAIN) {
				close(fds[i]);
				fds[i] = -1;
			}
		}
		if (!moved) pause_us(1000);
	}
}

/* Pieces of messages, nothing at all in a message, far too much, and then silence. */
static void half_messages(int number) {
	static char large[2 * LIMIT_MESSAGE];
	static const char *const pieces[] = {"{\"type\":\"hel",
					     "{",
					     "\"",
					     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
					     "\xff\xfe",
					     "{\"type\":\"hello\",\"type\":\"hello\"}"};
	(void)number;
	memset(large, 'x', sizeof large);
	for (int i = 0; i < 30 * scale; i++) {
		int fds[CONNECTIONS];
		for (int c = 0; c < CONNECTIONS; c++) {
			fds[c] = connect_raw();
			if (fds[c] < 0) continue;
			switch ((i + c) % 4) {
			case 0:
				say(fds[c], pieces[(size_t)c % ARRAY_LENGTH(pieces)]);
				break;
			case 1:
				send(fds[c], "", 0, MSG_NOSIGNAL);
				break;
			case 2:
				send(fds[c], large, sizeof large, MSG_NOSIGNAL | MSG_DONTWAIT);
				break;
			default:
				break; /* silence */
			}
		}
		for (int c = 0; c < CONNECTIONS; c++) fd_close(fds[c]);
	}
}

/* 10^4 connections in all that say nothing, held as long as there is room, far past LIMIT_CLIENTS. */
static void silent_connections(int number) {
	enum { HELD = LIMIT_CLIENTS / PROCESSES + 20 };
	(void)number;
	/* One process may have 64: so each attacker is several. */
	for (int child = 0; child < HELD / LIMIT_CLIENTS_PROCESS + 1; child++) {
		pid_t pid = fork();
		if (pid < 0) give_up("fork");
		if (pid > 0) continue;
		int fds[LIMIT_CLIENTS_PROCESS] = {0};
		for (int i = 0; i < 10 * 1000 / PROCESSES / ROUNDS / 2 * scale; i++) {
			int *slot = &fds[i % LIMIT_CLIENTS_PROCESS];
			if (*slot > 0) close(*slot);
			*slot = connect_raw();
		}
		pause_us(500 * 1000);
		_exit(0);
	}
	while (wait(NULL) > 0) continue;
}

/* Scenes */

static pid_t broker;

static long memory_kib(const char *key) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", (int)broker);
	CLEANUP_FREE char *text = NULL;
	assert_int_equal(file_read(path, 65536, &text, NULL, NULL), 0);
	const char *found = strstr(text, key);
	return found ? strtol(found + strlen(key), NULL, 10) : -1;
}

static int compare(const void *left, const void *right) {
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static void print_row(const char *what, size_t from, int64_t us) {
	size_t count = atomic_load(&samples->count) - from;
	CLEANUP_FREE uint32_t *sorted = mem_copy(&samples->micros[from], count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	printf("%-36s %7.1f %8zu %9u %9u %9u %9ld %9ld\n", what, (double)us / 1e6, count, count ? sorted[count / 2] : 0,
	       count ? sorted[count * 99 / 100] : 0, count ? sorted[count - 1] : 0, memory_kib("VmRSS:"),
	       memory_kib("VmHWM:"));
	fflush(stdout);
}

static pid_t start_attacker(void (*attack)(int), int number) {
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0) return child;
	attack(number);
	_exit(0);
}

static void scene(const char *what, void (*attack)(int), int processes) {
	pid_t attackers[PROCESSES];
	size_t from = atomic_load(&samples->count);
	int64_t start = now_us();
	for (int i = 0; i < processes; i++) attackers[i] = start_attacker(attack, i);
	for (int i = 0; i < processes; i++) assert_int_equal(wait_for(attackers[i]), 0);
	/* However short the attack, the witness has seen what follows it. */
	for (int i = 0; i < 10 * 1000 && atomic_load(&samples->count) < from + SERVED_AT_LEAST; i++) pause_us(1000);
	print_row(what, from, now_us() - start);
	assert_true(atomic_load(&samples->count) >= from + SERVED_AT_LEAST);
	assert_true(memory_kib("VmHWM:") < MEMORY_MAX_KIB);
	assert_int_equal(broker_pid(), broker);
}

static void wait_alone(int number) {
	(void)number;
	pause_us(300 * 1000);
}

static void agent_alone(int number) {
	(void)number;
	be_agent();
}

static void wait_for_agent(void) {
	char bytes[LIMIT_MESSAGE + 1] = "";
	int fd = connect_greeted();
	assert_true(fd >= 0);
	for (int i = 0; i < 10 * 1000 && !strstr(bytes, "\"agents\":1"); i++) {
		pause_us(1000);
		assert_true(say(fd, status) && hear(fd, bytes) > 0);
	}
	close(fd);
	assert_non_null(strstr(bytes, "\"agents\":1"));
}

static void with_agent(void) {
	pid_t agent = start_attacker(agent_alone, 0);
	wait_for_agent();
	scene("prompts, answered one by one", many_prompts, PROCESSES);
	kill(agent, SIGTERM);
	wait_for(agent);
}

static void one_round(int round) {
	scene("the witness alone", wait_alone, 1);
	scene("500 clients that check", many_checks, PROCESSES);
	with_agent();
	scene("flood of prompts, nobody answers", flood_of_prompts, PROCESSES);
	scene("500 that ask and don't read", slow_readers, PROCESSES);
	scene("half, empty and huge messages", half_messages, PROCESSES);
	scene("connections that say nothing", silent_connections, PROCESSES);
	pause_us(2000 * 1000); /* two ticks: what is free goes back */
	round_end_kib[round] = memory_kib("VmRSS:");
}

static int setup(void **state) {
	(void)state;
	const char *wish = getenv("SBX_LOAD");
	if (wish && strtol(wish, NULL, 10) > 0) scale = (int)strtol(wish, NULL, 10);
	home_write(".config/sbx/policy.yaml", "version: 1\nprompt: {timeout: 2s}\n");
	samples = mmap(NULL, sizeof *samples, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (samples == MAP_FAILED || broker_start(NULL) != 0) return -1;
	broker = broker_pid();
	return 0;
}

static int teardown(void **state) {
	(void)state;
	broker_stop();
	return 0;
}

static void attack_broker_5_and_12_under_load_others_are_served(void **state) {
	(void)state;
	printf("%-36s %7s %8s %9s %9s %9s %9s %9s\n", "meanwhile, the witness's checks", "s", "checks", "p50 us",
	       "p99 us", "most us", "RSS KiB", "peak KiB");
	for (int round = 0; round < ROUNDS; round++) {
		witness_start();
		one_round(round);
		witness_stop();
	}
}

static void what_is_over_leaves_nothing(void **state) {
	(void)state;
	assert_true(round_end_kib[ROUNDS - 1] <= round_end_kib[0] + LEAK_KIB);
}

/* A leaked descriptor would be one place less. */
static void all_places_are_free_again(void **state) {
	(void)state;
	enum { EACH = 60, OTHERS = 16 };
	int ends[2], ready[2];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t children[OTHERS];
	for (int i = 0; i < OTHERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] > 0) continue;
		close(ends[1]);
		for (int c = 0; c < EACH; c++)
			if (connect_greeted() < 0) give_up("a place is taken");
		char byte = 0;
		_exit(write(ready[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 0); /* until all have theirs */
	}
	for (int i = 0; i < OTHERS; i++) {
		struct pollfd one = {.fd = ready[0], .events = POLLIN};
		char byte;
		assert_int_equal(poll(&one, 1, 20 * 1000), 1);
		assert_int_equal(read(ready[0], &byte, 1), 1);
	}
	close(ends[0]);
	close(ends[1]);
	close(ready[0]);
	close(ready[1]);
	for (int i = 0; i < OTHERS; i++) assert_int_equal(wait_for(children[i]), 0);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_broker_5_and_12_under_load_others_are_served),
		cmocka_unit_test(what_is_over_leaves_nothing),
		cmocka_unit_test(all_places_are_free_again),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, teardown);
	home_remove();
	return failed;
}
