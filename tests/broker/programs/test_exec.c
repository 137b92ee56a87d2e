/* Exec lines of an administrator's stack: a real broker of this very program, with an /etc/sbx of the test's own. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/broker.h"
#include "core/confine.h"
#include "policy/exec_file.h"
#include "programs/exec.h"
#include "programs/exec_verdict.h"
#include "programs/exec_wire.h"
#include "programs/executor.h"
#include "schema/limits.h"
#include "service.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

static pid_t broker;

/* An executable script below the home. */
static void script(const char *name, const char *lines) {
	CLEANUP_FREE char *text = string_format("#!/bin/sh\n%s\n", lines);
	CLEANUP_FREE char *path = home_path(name);
	home_write(name, text);
	assert_int_equal(chmod(path, 0755), 0);
}

/* Each %s of `lines` becomes the home. */
static void admin(const char *lines) {
	CLEANUP_STRING struct string text = {0};
	const char *home = getenv("HOME");
	string_append(&text,
		      "version: 1\nstack:\n  - requisite: protect\n  - requisite: flood\n  - requisite: rules\n");
	for (const char *gap; (gap = strstr(lines, "%s")); lines = gap + 2) {
		string_append_bytes(&text, lines, (size_t)(gap - lines));
		string_append(&text, home);
	}
	string_append(&text, lines);
	string_append(&text, "  - grants\n  - sufficient: rules\n  - ask\n");
	home_write("etc/sbx.yaml", text.data);
}

_Noreturn static void serve(bool with_executor) {
	struct places places;
	struct listener *listener;
	struct broker *here;
	enum listener_outcome outcome;
	struct error error = ERROR_NONE;
	int executor = -1;
	signal(SIGCHLD, SIG_IGN);
	if (places_find(&places, &error) < 0) goto failed;
	if (places_make(&places, &error) < 0) goto failed;
	free(places.admin);
	places.admin = home_path("etc");
	places.admin_owner = getuid();
	if (listener_open(&places, &outcome, &listener, &error) < 0) goto failed;
	if (with_executor && executor_start(places.admin, places.admin_owner, &executor, &error) < 0) goto failed;
	if (broker_new(&places, clock_system(), 60 * 1000, listener, &here, &error) < 0) goto failed;
	exec_use(here->exec, executor);
	if (confine_self(&here->confined, &error) < 0) goto failed;
	if (broker_run(here, &error) < 0) goto failed;
	broker_free(here);
	_exit(0);
failed:
	fprintf(stderr, "%s\n", error.message);
	_exit(1);
}

static void start(bool with_executor) {
	static const char user[] = "version: 1\nprompt: {timeout: 60s, without-agent: wait}\n"
				   "permissions: {db:access: use the database}\n"
				   "profiles:\n  tooled:\n    commands: [tool]\n    extends: [base]\n"
				   "    allow: {db:access: [free], net:access: [\"ok.test:443\"]}\n"
				   "    ask: {db:access: [\"asked*\"]}\n    deny: {db:access: [never]}\n";
	home_write(".config/sbx/policy.yaml", user);
	broker = fork();
	assert_true(broker >= 0);
	if (broker == 0) serve(with_executor);
	CLEANUP_PEER struct peer *peer = NULL;
	wait_until((peer = peer_connect(true)));
}

static int teardown(void **state) {
	(void)state;
	broker_stop();
	assert_int_equal(waitpid(broker, NULL, 0), broker);
	return 0;
}

static struct peer *runner_new(void) {
	struct peer *runner = peer_connect(true);
	peer_open_session(runner, NULL);
	json_decref(peer_push(runner, "view"));
	return runner;
}

static int64_t ask(struct peer *peer, const char *target) {
	return peer_send(peer, "check",
			 json_pack("{s:s, s:s, s:s, s:[s, s], s:s}", "permission", "db:access", "target", target,
				   "process", "tool (7)", "parents", "sh (3)", "init (1)", "reason", "to see"));
}

/* "allow exec: the program … allows it": and `says` is in it. */
static void expect(struct peer *peer, int64_t id, const char *verdict, const char *says) {
	json_t *reply = peer_reply(peer, id);
	const json_t *told = json_object_get(reply, "verdict");
	CLEANUP_FREE char *text = string_format("%s %s", text_of(told, "effect"), text_of(told, "module"));
	if (strcmp(text, verdict) != 0 || !strstr(text_of(told, "why"), says))
		fail_msg("%s: %s%s, expected %s: … %s", text, text_of(told, "why"), text_of(reply, "message"), verdict,
			 says);
	json_decref(reply);
}

static char *read_home(const char *name) {
	char bytes[16 * 1024];
	CLEANUP_FREE char *path = home_path(name);
	FILE *file = fopen(path, "r");
	if (!file) return string_copy("");
	size_t size = fread(bytes, 1, sizeof bytes - 1, file);
	fclose(file);
	return string_copy_bytes(bytes, size);
}

static void wait_for_file(const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	wait_until(access(path, F_OK) == 0);
}

static void remove_file(const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	unlink(path);
}

struct row {
	const char *lines, *verdict, *says;
};

static void expect_rows(struct peer *runner, const struct row *rows, size_t count) {
	for (size_t i = 0; i < count; i++) {
		script("prog/judge", rows[i].lines);
		expect(runner, ask(runner, "prod"), rows[i].verdict, rows[i].says);
	}
}

/* What a program can say, and every way to say nothing. */
static void the_verdict_is_the_programs(void **state) {
	(void)state;
	static const struct row rows[] = {
		{"echo '{\"verdict\": \"allow\"}'", "allow exec", "allows it"},
		{"echo '{\"verdict\": \"allow\", \"why\": \"it is Tuesday\"}'", "allow exec",
		 "allows it: it is Tuesday"},
		{"echo '{\"verdict\": \"deny\", \"why\": \"not \\u001b[31myou\"}'", "deny exec",
		 "denies it: not �[31myou"},
		{"echo '{\"verdict\": \"pass\", \"why\": null}'", "deny none", "nothing allows"},
		{"cat >/dev/null; echo '{\"verdict\": \"allow\"}'", "allow exec", ""},
		{"exec <&-; echo '{\"verdict\": \"allow\"}'", "allow exec", ""},
		{"echo '{\"verdict\": \"Allow\"}'", "deny exec", "failed, which denies: its verdict is not allow"},
		{"echo '{\"verdict\": true}'", "deny exec", "its verdict is not allow"},
		{"echo '{}'", "deny exec", "its verdict is not allow"},
		{"echo '[\"allow\"]'", "deny exec", "its answer: a message must be a JSON object"},
		{"echo allow", "deny exec", "no valid JSON"},
		{"", "deny exec", "no valid JSON"},
		{"echo '{\"verdict\": \"allow\"} {}'", "deny exec", "no valid JSON"},
		{"echo '{\"verdict\": \"deny\", \"verdict\": \"allow\"}'", "deny exec", "duplicate"},
		{"echo '{\"verdict\": \"allow\", \"more\": 1}'", "deny exec", "unknown key 'more'"},
		{"echo '{\"verdict\": \"allow\", \"why\": 7}'", "deny exec", "no text"},
		{"printf '{\"verdict\": \"allow\", \"why\": \"%0500d\"}'", "deny exec", "longer than 400 bytes"},
		{"printf '{\"verdict\": \"allow\", \"why\": \"a\\\\u0000b\"}'", "deny exec", "no valid JSON"},
		{"printf '{\"verdict\": \"allow\"}\\0'", "deny exec", "no valid JSON"},
		{"printf '{\"verdict\": \"all\\377ow\"}'", "deny exec", "no valid JSON"},
		{"printf '[[[[[[[[[[[[[[[[[[[['", "deny exec", "nested deeper"},
		{"echo '{\"verdict\": \"allow\"}'; exit 1", "deny exec", "it ended with status 1"},
		{"echo 'no such table' >&2; exit 3", "deny exec",
		 "it ended with status 3; what it says is in sbxd.log"},
		{"echo '{\"verdict\": \"allow\"}'; kill -SEGV $$", "deny exec", "it was killed by signal 11"},
		{"exec cat /dev/zero", "deny exec", "it wrote more than 65536 bytes"},
		{"cat /dev/zero >&2 & sleep .1; kill $!; echo '{\"verdict\": \"allow\"}'", "allow exec", ""},
		{"(exec sleep 600) & echo '{\"verdict\": \"allow\"}'", "allow exec", ""},
		{"[ $(ls /proc/self/fd | wc -l) = 4 ] && [ \"$PWD\" = / ] && [ -z \"$HOME\" ] && echo '{\"verdict\": "
		 "\"allow\"}'",
		 "allow exec", ""},
	};
	script("prog/judge", "exit 9");
	admin("  - exec: [%s/prog/judge]\n    timeout: 60s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	expect_rows(runner, rows, ARRAY_LENGTH(rows));
	/* A denial that ends the walk before needs no program. */
	script("prog/judge", "exit 9");
	expect(runner, ask(runner, "never"), "deny rules", "");
}

static void one_that_does_not_answer_denies(void **state) {
	(void)state;
	static const struct row rows[] = {
		{"exec sleep 600", "deny exec", "did not answer within 400ms"},
		{"trap '' TERM INT HUP; while :; do :; done", "deny exec", "did not answer within 400ms"},
	};
	script("prog/judge", "exit 9");
	admin("  - exec: [%s/prog/judge]\n    timeout: 400ms\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	expect_rows(runner, rows, ARRAY_LENGTH(rows));
}

static void what_it_reads(void **state) {
	(void)state;
	script("prog/judge", "cat >\"$1\"; printf '%s\\n' \"$2\" >>\"$1\"; echo '{\"verdict\": \"allow\"}'");
	admin("  - exec: [%s/prog/judge, %s/read, \"a  b; $(c)\"]\n");
	start(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	expect(runner, ask(runner, "pr\"o\nd"), "allow exec", "");
	CLEANUP_FREE char *app = home_path("app");
	CLEANUP_FREE char *read = read_home("read");
	CLEANUP_FREE char *expected = string_format(
		"{\"version\":1,\"session\":%lld,\"profile\":\"tooled\",\"project\":\"%s\",\"permission\":\"db:"
		"access\","
		"\"target\":\"pr\\\"o\\nd\",\"process\":\"tool (7)\",\"parents\":[\"sh (3)\",\"init (1)\"],\"reason\":"
		"\"to see\"}\na  b; $(c)\n",
		(long long)session, app);
	assert_string_equal(read, expected);
}

static void control_words_and_more_than_one_program(void **state) {
	(void)state;
	script("prog/allow", "echo '{\"verdict\": \"allow\"}'");
	script("prog/deny", "echo '{\"verdict\": \"deny\", \"why\": \"no\"}'");
	admin("  - requisite: {exec: [%s/prog/allow]}\n  - sufficient: {exec: [%s/prog/deny]}\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	expect(runner, ask(runner, "prod"), "deny none", "");
	expect(runner, ask(runner, "free"), "allow rules", "");
	admin("  - requisite: {exec: [%s/prog/deny]}\n");
	expect(runner, ask(runner, "free"), "deny exec", "no");
	admin("  - sufficient: {exec: [%s/prog/allow]}\n");
	expect(runner, ask(runner, "prod"), "allow exec", "");
	/* The program before the question, and the question after it. */
	admin("  - requisite: {exec: [%s/prog/allow]}\n");
	CLEANUP_PEER struct peer *agent = peer_connect(true);
	json_decref(peer_call(agent, "agent", json_pack("{s:s}", "kind", "tui")));
	int64_t asked = ask(runner, "asked");
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "description"), "use the database");
	json_t *reply = peer_call(agent, "answer",
				  json_pack("{s:O, s:O, s:s, s:b}", "prompt", json_object_get(prompt, "id"), "token",
					    json_object_get(prompt, "token"), "effect", "allow", "terminal", 1));
	assert_string_equal(text_of(reply, "type"), "answer");
	json_decref(reply);
	json_decref(prompt);
	expect(runner, asked, "allow ask", "");
	expect(runner, ask(runner, "asked"), "allow grants", "");
}

static void only_roots_programs_are_run(void **state) {
	(void)state;
	script("prog/judge", "echo '{\"verdict\": \"allow\"}'");
	CLEANUP_FREE char *judge = home_path("prog/judge");
	CLEANUP_FREE char *folder = home_path("open");
	admin("  - exec: [%s/prog/judge]\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	assert_int_equal(chmod(judge, 0757), 0);
	expect(runner, ask(runner, "prod"), "deny exec", "prog/judge can be changed by others than root");
	assert_int_equal(chmod(judge, 0775), 0);
	expect(runner, ask(runner, "prod"), "deny exec", "prog/judge can be changed by others than root");
	assert_int_equal(chmod(judge, 0644), 0);
	expect(runner, ask(runner, "prod"), "deny exec", "prog/judge is not executable");
	assert_int_equal(chmod(judge, 0755), 0);
	expect(runner, ask(runner, "prod"), "allow exec", "");
	admin("  - exec: [%s/prog/missing]\n");
	expect(runner, ask(runner, "prod"), "deny exec", "prog/missing: No such file");
	admin("  - exec: [%s/prog]\n");
	expect(runner, ask(runner, "prod"), "deny exec", "prog is no regular file");
	script("open/judge", "echo '{\"verdict\": \"allow\"}'");
	assert_int_equal(chmod(folder, 0777), 0);
	admin("  - exec: [%s/open/judge]\n");
	expect(runner, ask(runner, "prod"), "deny exec", "open can be changed by others than root");
	assert_int_equal(chmod(folder, 0755), 0);
	/* No interpreter, no shell that would run it all the same. */
	home_write("prog/judge", "echo '{\"verdict\": \"allow\"}'\n");
	assert_int_equal(chmod(judge, 0755), 0);
	admin("  - exec: [%s/prog/judge]\n");
	expect(runner, ask(runner, "prod"), "deny exec", "it ended with status 127; what it says is in sbxd.log");
}

static void the_way_to_a_program_is_looked_at(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_int_equal(exec_file_check("/bin/sh", 0, &error), 0); /* over links, where /bin is one */
	assert_int_equal(exec_file_check("/usr/bin/env", 0, &error), 0);
	assert_int_equal(exec_file_check("/dev/null", 0, &error), -EPERM);
	assert_int_equal(exec_file_check("/", 0, &error), -EACCES);
	assert_int_equal(exec_file_check("/usr/bin/env/x", 0, &error), -ENOTDIR);
	script("way/judge", "");
	CLEANUP_FREE char *judge = home_path("way/judge");
	CLEANUP_FREE char *link = home_path("link");
	CLEANUP_FREE char *loop = home_path("loop");
	assert_int_equal(exec_file_check(judge, getuid(), &error), 0);
	assert_int_equal(symlink("way/../way", link), 0);
	CLEANUP_FREE char *over = home_path("link/judge");
	assert_int_equal(exec_file_check(over, getuid(), &error), 0);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(exec_file_check(loop, getuid(), &error), -ELOOP);
	if (getuid() == 0) return;
	assert_int_equal(exec_file_check(judge, 0, &error), -EPERM);
	assert_non_null(strstr(error.message, "doesn't belong to root"));
}

/* So many replies, in any order. */
static void expect_allowed(struct peer *peer, int count) {
	while (count > 0) {
		json_t *reply = peer_receive(peer);
		assert_non_null(reply);
		const json_t *told = json_object_get(reply, "verdict");
		if (told && strcmp(text_of(told, "effect"), "allow") != 0) fail_msg("%s", text_of(told, "why"));
		if (told) count--;
		json_decref(reply);
	}
}

/* A slow program holds up nobody but those who wait for it. */
static void two_hundred_at_once_and_others_are_served(void **state) {
	(void)state;
	enum { COUNT = 200 };
	script("prog/judge", "sleep .05; echo '{\"verdict\": \"allow\"}'");
	admin("  - exec: [%s/prog/judge]\n    timeout: 30s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *second = runner_new();
	CLEANUP_PEER struct peer *other = peer_connect(true);
	for (int i = 0; i < COUNT; i++) ask(runner, "prod");
	int64_t before = now_ms();
	json_decref(peer_call(other, "status", NULL));
	int64_t status_ms = now_ms() - before;
	/* Another client's one doesn't wait for all of those. */
	int64_t one = ask(second, "prod");
	expect(second, one, "allow exec", "");
	int64_t one_ms = now_ms() - before;
	expect_allowed(runner, COUNT);
	int64_t all_ms = now_ms() - before;
	if (status_ms > all_ms / 4 || one_ms > all_ms / 2)
		fail_msg("a status took %lld ms, one check of another's %lld, all %lld", (long long)status_ms,
			 (long long)one_ms, (long long)all_ms);
}

static void past_the_bounds_it_is_denied(void **state) {
	(void)state;
	script("prog/judge", "exec sleep 60");
	admin("  - exec: [%s/prog/judge]\n    timeout: 60s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	for (int i = 0; i < LIMIT_PENDING; i++) ask(runner, "prod");
	expect(runner, ask(runner, "prod"), "deny flood", "too many requests wait");
	struct peer *crowd[LIMIT_EXEC_WAITING / LIMIT_PENDING + 1];
	int64_t last = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(crowd); i++) {
		crowd[i] = runner_new();
		for (int k = 0; k < LIMIT_PENDING; k++) last = ask(crowd[i], "prod");
	}
	expect(crowd[ARRAY_LENGTH(crowd) - 1], last, "deny exec", "too many requests wait for programs");
	for (size_t i = 0; i < ARRAY_LENGTH(crowd); i++) peer_free(crowd[i]);
}

static bool is_alive(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d", (int)pid);
	return access(path, F_OK) == 0;
}

static pid_t pid_in(const char *name) {
	wait_for_file(name);
	CLEANUP_FREE char *text = NULL;
	wait_until((free(text), text = read_home(name), strchr(text, '\n')));
	unsigned long long pid = 0;
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(string_to_u64(text, &pid), 0);
	return (pid_t)pid;
}

static void expect_dead(pid_t pid) {
	wait_until(!is_alive(pid));
}

static void a_requester_that_dies_takes_its_program_along(void **state) {
	(void)state;
	script("prog/judge", "sh -c 'echo $$ >\"$0\"; exec sleep 60' \"$1\"");
	admin("  - exec: [%s/prog/judge, %s/pid]\n    timeout: 60s\n");
	start(true);
	remove_file("pid");
	struct peer *runner = runner_new();
	ask(runner, "prod");
	pid_t child = pid_in("pid");
	assert_true(is_alive(child));
	peer_free(runner);
	expect_dead(child);

	/* A check that is cancelled, likewise. */
	remove_file("pid");
	CLEANUP_PEER struct peer *next = runner_new();
	int64_t check = ask(next, "prod");
	child = pid_in("pid");
	int64_t cancel = peer_send(next, "cancel", json_pack("{s:I}", "check", (json_int_t)check));
	json_t *reply = peer_reply(next, check);
	assert_string_equal(text_of(reply, "code"), "ECANCELED");
	json_decref(reply);
	reply = peer_reply(next, cancel);
	assert_true(json_is_true(json_object_get(reply, "cancelled")));
	json_decref(reply);
	expect_dead(child);

	/* And one whose session ends. */
	remove_file("pid");
	check = ask(next, "prod");
	child = pid_in("pid");
	peer_send(next, "session-close", json_pack("{s:i}", "exit", 0));
	reply = peer_reply(next, check);
	assert_string_equal(text_of(reply, "code"), "ECANCELED");
	json_decref(reply);
	expect_dead(child);
}

static void a_time_out_ends_the_whole_group(void **state) {
	(void)state;
	script("prog/judge", "sh -c 'echo $$ >\"$0\"; exec sleep 60' \"$1\" & wait");
	admin("  - exec: [%s/prog/judge, %s/pid]\n    timeout: 500ms\n");
	start(true);
	remove_file("pid");
	CLEANUP_PEER struct peer *runner = runner_new();
	expect(runner, ask(runner, "prod"), "deny exec", "did not answer within 500ms");
	expect_dead(pid_in("pid"));
}

/* Whoever leaves the group and the session, and whose parent ends, is the keeper's: the program's end is theirs. */
static void nobody_that_a_program_started_outlives_it(void **state) {
	(void)state;
	static const char leave[] =
		"(setsid sh -c 'echo $$ >\"$0\"; exec sleep 60' \"$1\" </dev/null >/dev/null 2>&1 &) &\n"
		"while [ ! -s \"$1\" ]; do sleep .01; done\n";
	static const char *const ends[] = {"echo '{\"verdict\": \"allow\"}'", "exec sleep 60", "kill -9 $$"};
	static const char *const verdicts[] = {"allow exec", "deny exec", "deny exec"};
	script("prog/judge", "exit 9");
	admin("  - exec: [%s/prog/judge, %s/pid]\n    timeout: 2s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		CLEANUP_FREE char *lines = string_format("%s%s", leave, ends[i]);
		remove_file("pid");
		script("prog/judge", lines);
		expect(runner, ask(runner, "prod"), verdicts[i], "");
		expect_dead(pid_in("pid"));
	}
}

enum { ORDER_MS = 5000 };

/* An order as a broker that was taken over sends it; what came of it. */
static enum exec_outcome order(int socket, uint32_t timeout_ms, const char *a, const char *b, const char *c) {
	const char *const words[] = {a, b, c};
	struct exec_order head = {.id = 7, .timeout_ms = timeout_ms};
	CLEANUP_STRING struct string command = {0};
	char bytes[EXEC_REPORT_MAX];
	struct exec_report report;
	for (; head.words < ARRAY_LENGTH(words) && words[head.words]; head.words++)
		string_append_bytes(&command, words[head.words], strlen(words[head.words]) + 1);
	head.command_size = (uint32_t)command.size;
	struct iovec parts[] = {{&head, sizeof head}, {command.data, command.size}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LENGTH(parts)};
	if (sendmsg(socket, &message, 0) < 0 || recv(socket, bytes, sizeof bytes, 0) < (ssize_t)sizeof report)
		fail_msg("the executor is gone");
	memcpy(&report, bytes, sizeof report);
	return report.outcome;
}

static int forge(int socket) {
	CLEANUP_FREE char *judge = home_path("prog/judge"), *other = home_path("prog/other");
	CLEANUP_FREE char *ran = home_path("forged"), *wish = string_format("echo >'%s'", ran);
	bool confined;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || confine_self(&confined, NULL) < 0) return 1;
	static const char word[] = "-v";
	const struct {
		const char *words[3];
		uint32_t timeout_ms;
		enum exec_outcome outcome;
	} rows[] = {
		{{"/bin/sh", "-c", wish}, ORDER_MS, EXEC_REFUSED},
		{{"/usr/bin/touch", ran, NULL}, ORDER_MS, EXEC_REFUSED},
		{{other, NULL, NULL}, ORDER_MS, EXEC_REFUSED},
		{{judge, NULL, NULL}, ORDER_MS, EXEC_REFUSED},
		{{judge, word, ran}, ORDER_MS, EXEC_REFUSED},
		{{judge, "-V", NULL}, ORDER_MS, EXEC_REFUSED},
		{{judge, word, NULL}, ORDER_MS + 1, EXEC_REFUSED},
		{{judge, word, NULL}, ORDER_MS, EXEC_ENDED},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *const *words = rows[i].words;
		if (order(socket, rows[i].timeout_ms, words[0], words[1], words[2]) == rows[i].outcome) continue;
		fprintf(stderr, "order %zu\n", i);
		return 1;
	}
	return access(ran, F_OK) == 0;
}

static void a_forged_order_runs_nothing_that_is_not_in_the_stack(void **state) {
	(void)state;
	CLEANUP_FREE char *folder = home_path("etc"), *judge = home_path("prog/judge");
	CLEANUP_FREE char *other = home_path("prog/other"), *file = home_path("etc/sbx.yaml");
	CLEANUP_FD int socket = -1;
	script("prog/judge", "exit 0");
	script("prog/other", "exit 0");
	admin("  - exec: [%s/prog/judge, -v]\n");
	assert_int_equal(executor_start(folder, getuid(), &socket, NULL), 0);
	pid_t forger = fork();
	if (forger == 0) _exit(forge(socket));
	int status;
	assert_int_equal(waitpid(forger, &status, 0), forger);
	assert_int_equal(status, 0);
	/* What the administrator takes out is out. */
	admin("  - exec: [%s/prog/other]\n");
	assert_int_equal(order(socket, ORDER_MS, judge, "-v", NULL), EXEC_REFUSED);
	assert_int_equal(order(socket, ORDER_MS, other, NULL, NULL), EXEC_ENDED);
	/* A stack that others may write is none; the one before stays. */
	admin("  - exec: [%s/prog/judge, -v]\n");
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(order(socket, ORDER_MS, judge, "-v", NULL), EXEC_REFUSED);
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(order(socket, ORDER_MS, other, NULL, NULL), EXEC_REFUSED);
}

static void wait_for_go(const char *verdict) {
	CLEANUP_FREE char *lines = string_format(
		"touch \"$1/begun\"; while [ ! -e \"$1/go\" ]; do sleep .01; done; echo '{\"verdict\": \"%s\"}'",
		verdict);
	script("prog/judge", lines);
	remove_file("begun");
	remove_file("go");
}

static void attack_broker_16_a_revoke_while_a_program_runs_counts(void **state) {
	(void)state;
	wait_for_go("pass");
	admin("  - exec: [%s/prog/judge, %s]\n    timeout: 30s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	json_t *granted = peer_call(command, "grant",
				    json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "db:access", "target", "prod",
					      "effect", "allow", "lifetime", "always", "profile", "tooled"));
	assert_string_equal(text_of(granted, "type"), "grant");
	int64_t check = ask(runner, "prod");
	wait_for_file("begun");
	json_decref(peer_call(command, "revoke",
			      json_pack("{s:[O]}", "ids", json_object_get(json_object_get(granted, "grant"), "id"))));
	json_decref(granted);
	home_write("go", "");
	expect(runner, check, "deny none", "nothing allows");
}

static void a_policy_that_changes_while_a_program_runs_counts(void **state) {
	(void)state;
	wait_for_go("allow");
	script("prog/second", "echo '{\"verdict\": \"deny\", \"why\": \"second\"}'");
	admin("  - exec: [%s/prog/judge, %s]\n    timeout: 30s\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	int64_t check = ask(runner, "prod");
	wait_for_file("begun");
	admin("  - requisite: {exec: [%s/prog/second]}\n  - exec: [%s/prog/judge, %s]\n    timeout: 30s\n");
	home_write("go", "");
	expect(runner, check, "deny exec", "second");
}

/* A question that is open when a program is put before it: the program is asked, then the user again. */
static void a_new_line_before_an_open_question_is_asked(void **state) {
	(void)state;
	script("prog/judge", "echo '{\"verdict\": \"deny\", \"why\": \"not any more\"}'");
	admin("");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = peer_connect(true);
	json_decref(peer_call(agent, "agent", json_pack("{s:s}", "kind", "tui")));
	int64_t check = ask(runner, "asked-later");
	json_t *prompt = peer_push(agent, "prompt");
	admin("  - exec: [%s/prog/judge]\n");
	json_t *reply = peer_call(agent, "answer",
				  json_pack("{s:O, s:O, s:s, s:b}", "prompt", json_object_get(prompt, "id"), "token",
					    json_object_get(prompt, "token"), "effect", "allow", "terminal", 1));
	assert_non_null(strstr(text_of(reply, "message"), "no prompt"));
	json_decref(reply);
	json_decref(prompt);
	expect(runner, check, "deny exec", "not any more");
}

static void without_an_executor_it_is_denied(void **state) {
	(void)state;
	script("prog/judge", "echo '{\"verdict\": \"allow\"}'");
	admin("  - exec: [%s/prog/judge]\n");
	start(false);
	CLEANUP_PEER struct peer *runner = runner_new();
	expect(runner, ask(runner, "prod"), "deny exec", "end sbxd, the next command starts it anew");
}

static pid_t parent_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "r");
	char line[512] = "";
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	fclose(file);
	const char *state = strrchr(line, ')'); /* ") S 123": the state, and whose child it is */
	assert_non_null(state);
	return (pid_t)strtol(state + strlen(") S "), NULL, 10);
}

/* A keeper is between them. */
static pid_t executor_of(pid_t program) {
	return parent_of(parent_of(program));
}

static void an_executor_that_dies_denies_what_waits(void **state) {
	(void)state;
	script("prog/judge", "echo $$ >\"$1\"; exec sleep 60");
	admin("  - exec: [%s/prog/judge, %s/pid]\n    timeout: 60s\n");
	start(true);
	remove_file("pid");
	CLEANUP_PEER struct peer *runner = runner_new();
	int64_t ids[20];
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) ids[i] = ask(runner, "prod");
	pid_t child = pid_in("pid");
	assert_int_equal(kill(executor_of(child), SIGKILL), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) expect(runner, ids[i], "deny exec", "end sbxd");
	expect_dead(child);
	expect(runner, ask(runner, "prod"), "deny exec", "end sbxd");
	expect(runner, ask(runner, "never"), "deny rules", "");
}

static void the_end_of_sbxd_ends_programs(void **state) {
	(void)state;
	script("prog/judge", "echo $$ >\"$1\"; exec sleep 60");
	admin("  - exec: [%s/prog/judge, %s/pid]\n    timeout: 60s\n");
	start(true);
	remove_file("pid");
	CLEANUP_PEER struct peer *runner = runner_new();
	ask(runner, "prod");
	pid_t child = pid_in("pid"), executor = executor_of(child);
	assert_int_equal(kill(broker, SIGKILL), 0);
	expect_dead(child);
	expect_dead(executor);
	assert_int_equal(waitpid(broker, NULL, 0), broker);
	start(true); /* nothing of it holds the socket or the lock */
}

static void views_why_and_what_lives(void **state) {
	(void)state;
	script("prog/judge", "echo run >>\"$1\"; echo '{\"verdict\": \"allow\"}'");
	admin("  - exec: [%s/prog/judge, %s/runs]\n");
	start(true);
	remove_file("runs");
	CLEANUP_PEER struct peer *runner = runner_new();
	json_t *reply = peer_call(runner, "resolve", json_pack("{s:[s]}", "paths", "/usr"));
	json_decref(reply);
	/* Shown, but not run. */
	reply = peer_call(runner, "why", json_pack("{s:s, s:s}", "permission", "db:access", "target", "prod"));
	const json_t *step = json_array_get(json_object_get(reply, "steps"), 3);
	assert_string_equal(text_of(step, "module"), "exec");
	assert_string_equal(text_of(step, "answer"), "pass");
	assert_non_null(strstr(text_of(step, "why"), "is not run for this"));
	json_decref(reply);
	reply = peer_call(runner, "policy", NULL);
	const json_t *line = json_array_get(json_object_get(reply, "stack"), 3);
	assert_non_null(strstr(json_string_value(line), "{exec: [\""));
	json_decref(reply);
	CLEANUP_FREE char *none = read_home("runs");
	assert_string_equal(none, "");
	/* What lives is judged by it again: it may be what allowed it. */
	int64_t again = peer_send(
		runner, "check", json_pack("{s:s, s:s, s:b}", "permission", "db:access", "target", "prod", "again", 1));
	expect(runner, again, "allow exec", "");
	CLEANUP_FREE char *runs = read_home("runs");
	assert_string_equal(runs, "run\n");
}

/* Nobody has said yes to a connection yet, so nothing is run: what it would say is not known. */
static void for_a_name_none_is_run(void **state) {
	(void)state;
	script("prog/judge", "echo $$ >>\"${0%/*}/ran\"; echo '{\"verdict\": \"deny\"}'");
	admin("  - exec: [%s/prog/judge]\n");
	start(true);
	CLEANUP_PEER struct peer *runner = runner_new();
	json_t *reply = peer_call(runner, "name", json_pack("{s:s}", "host", "ok.test"));
	const json_t *verdict = json_object_get(reply, "verdict");
	assert_string_equal(text_of(verdict, "effect"), "ask");
	assert_string_equal(text_of(verdict, "module"), "exec");
	json_decref(reply);
	/* The program would have left its mark. */
	expect(runner, ask(runner, "prod"), "deny exec", "denies it");
	CLEANUP_FREE char *ran = read_home("prog/ran");
	char *end = strchr(ran, '\n');
	assert_non_null(end);
	assert_string_equal(end, "\n");
}

#define EXEC(test) cmocka_unit_test_teardown(test, teardown)

int main(void) {
	static const struct CMUnitTest tests[] = {
		EXEC(the_verdict_is_the_programs),
		EXEC(one_that_does_not_answer_denies),
		EXEC(what_it_reads),
		EXEC(control_words_and_more_than_one_program),
		EXEC(only_roots_programs_are_run),
		cmocka_unit_test(the_way_to_a_program_is_looked_at),
		EXEC(two_hundred_at_once_and_others_are_served),
		EXEC(past_the_bounds_it_is_denied),
		EXEC(a_requester_that_dies_takes_its_program_along),
		EXEC(a_time_out_ends_the_whole_group),
		EXEC(nobody_that_a_program_started_outlives_it),
		cmocka_unit_test(a_forged_order_runs_nothing_that_is_not_in_the_stack),
		EXEC(attack_broker_16_a_revoke_while_a_program_runs_counts),
		EXEC(a_policy_that_changes_while_a_program_runs_counts),
		EXEC(a_new_line_before_an_open_question_is_asked),
		EXEC(without_an_executor_it_is_denied),
		EXEC(an_executor_that_dies_denies_what_waits),
		EXEC(the_end_of_sbxd_ends_programs),
		EXEC(views_why_and_what_lives),
		EXEC(for_a_name_none_is_run),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
