/* What sbxd does with a sandbox whose runner doesn't confirm: a real sbxd, and a process that plays the runner, with
 * processes below it that play a sandbox and count as long as they run. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "prompts_fixture.h"
#include "schema/clearance.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { WORKERS = 3, STILL_MS = 60, HANDED_MAX = 5000 /* nothing of a test that fails goes on for ever */ };

/* Where sbxd says whether calls may go on. */
struct place {
	char file[256];
	int64_t inode, page;
};

/* Shared with all of them. */
struct play {
	_Atomic bool answers;  /* the runner does */
	_Atomic bool sends;    /* it is in the middle of letting a call go on */
	_Atomic bool said;     /* and sbxd can see so */
	_Atomic bool leaves;   /* it gives its connection up, and lives */
	_Atomic bool begun;    /* sbxd has been told of process 1 */
	_Atomic bool restless; /* one of the workers hands itself on to a child all the time */
	_Atomic int64_t session;
	_Atomic int told; /* withdrawals that the runner was told of */
	_Atomic pid_t init, workers[WORKERS];
	_Atomic unsigned long count;
	_Atomic int handed;
	_Atomic int error; /* `sandbox` was refused */
	struct place place;
};

struct sandbox_play {
	struct play *shared;
	pid_t runner;
	int init; /* pidfd */
};

static _Noreturn void work(struct play *shared, bool restless) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		shared->count++;
		usleep(restless && shared->restless ? 2000 : 500); /* the table of processes is soon full */
		if (restless && shared->restless && (++shared->handed > HANDED_MAX || fork() > 0)) _exit(0);
	}
}

static _Noreturn void play_init(struct play *shared) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* as process 1 takes over whoever loses their parent */
	for (int i = 0; i < WORKERS; i++) {
		const pid_t worker = fork();
		if (worker == 0) work(shared, i == WORKERS - 1);
		shared->workers[i] = worker;
	}
	for (;;)
		if (waitpid(-1, NULL, 0) < 0) pause();
}

static struct place place_of(const json_t *opened) {
	const json_t *said = json_object_get(opened, "clearance");
	struct place place = {.inode = number_of(said, "inode"), .page = number_of(said, "page")};
	snprintf(place.file, sizeof place.file, "%s", text_of(said, "file"));
	return place;
}

/* What the kernel would read there. */
static bool is_given(const struct place *place) {
	CLEANUP_FD int fd = open(place->file, O_RDONLY | O_CLOEXEC);
	struct stat status;
	struct clearance_word word;
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_ino, place->inode);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(pread(fd, &word, sizeof word, place->page * getpagesize()), sizeof word);
	assert_int_equal(word.error, 0);
	if (word.flags != CLEARANCE_GIVEN) assert_int_equal(word.flags, CLEARANCE_WITHHELD);
	return word.flags == CLEARANCE_GIVEN;
}

static void confirm(struct peer *peer, const int64_t *numbers, size_t count) {
	for (size_t i = 0; i < count; i++)
		json_decref(peer_call(peer, "settled",
				      json_pack("{s:I, s:[], s:[{s:i, s:s, s:s}], s:i}", "settle",
						(json_int_t)numbers[i], "holders", "ended", "pid", 77, "command",
						"node", "path", "/notes", "killed", 1)));
}

/* A runner's word for the time of an answer (runner/session/clearance.c). */
static int answering_new(void) {
	const int fd = memfd_create("answering", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(clearance_answering)) < 0) _exit(1);
	return fd;
}

static void say_answering(int fd, clearance_answering answering) {
	if (pwrite(fd, &answering, sizeof answering, 0) != sizeof answering) _exit(1);
}

static _Noreturn void play_runner(struct play *shared, pid_t told_as_init) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct peer *peer = peer_connect(true);
	int64_t numbers[16];
	size_t count = 0;
	const int answering = answering_new();
	json_t *wish = session_wish(NULL);
	json_object_set_new(wish, "answering", json_integer(answering));
	json_t *opened = peer_call(peer, "session-open", wish);
	shared->session = number_of(opened, "session");
	shared->place = place_of(opened);
	json_decref(opened);
	const pid_t first = fork();
	if (first == 0) play_init(shared);
	shared->init = first;
	while (!shared->workers[WORKERS - 1]) usleep(500);
	const pid_t init = told_as_init ? told_as_init : first;
	json_t *reply = peer_call(peer, "sandbox", json_pack("{s:i}", "init", (int)init));
	shared->error = strcmp(text_of(reply, "type"), "error") == 0;
	json_decref(reply);
	shared->begun = true;
	for (;;) {
		const bool answers = shared->answers;
		if (shared->leaves) {
			shutdown(peer->fd, SHUT_RDWR); /* the workers have it, too */
			for (;;) pause();
		}
		const bool sends = shared->sends;
		say_answering(answering, sends);
		shared->said = sends;
		if (answers) confirm(peer, numbers, count);
		if (answers) count = 0;
		if (peer_is_quiet(peer, 5)) continue;
		json_t *message = peer_receive(peer);
		if (!message) pause();
		const int64_t number = number_of(message, "settle");
		if (number > 0 && count < ARRAY_LENGTH(numbers)) numbers[count++] = number;
		if (number > 0) shared->told++;
		json_decref(message);
	}
}

static struct sandbox_play play_new_as(bool answers, pid_t told_as_init) {
	struct sandbox_play play = {
		.shared = mmap(NULL, sizeof(struct play), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	assert_true(play.shared != MAP_FAILED);
	play.shared->answers = answers;
	play.runner = fork();
	assert_true(play.runner >= 0);
	if (play.runner == 0) play_runner(play.shared, told_as_init);
	wait_until(play.shared->begun);
	play.init = (int)syscall(SYS_pidfd_open, play.shared->init, 0);
	assert_true(play.init >= 0);
	return play;
}

static struct sandbox_play play_new(bool answers) {
	return play_new_as(answers, 0);
}

static void play_free(struct sandbox_play *play) {
	kill(-play->shared->init, SIGKILL);
	kill(play->runner, SIGKILL);
	waitpid(play->runner, NULL, 0);
	fd_close(play->init);
	munmap(play->shared, sizeof *play->shared);
}
#define CLEANUP_PLAY CLEANUP(play_free)

static bool is_dead(const struct sandbox_play *play) {
	struct pollfd ended = {.fd = play->init, .events = POLLIN};
	return poll(&ended, 1, 0) > 0;
}

static bool is_still(const struct sandbox_play *play) {
	const unsigned long before = play->shared->count;
	usleep(STILL_MS * 1000);
	return play->shared->count == before;
}

static bool goes_on(const struct sandbox_play *play) {
	const unsigned long before = play->shared->count;
	wait_until(play->shared->count != before);
	return true;
}

static int64_t grant(struct peer *user, const struct sandbox_play *play) {
	CLEANUP_FREE char *path = home_path("shared/notes");
	json_t *reply = peer_call(user, "grant",
				  json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:b}", "permission", "fs:read", "target",
					    path, "effect", "allow", "profile", "tooled", "lifetime", "session",
					    "session", (json_int_t)play->shared->session, "at_once", 1));
	const int64_t id = number_of(json_object_get(reply, "grant"), "id");
	json_decref(reply);
	assert_true(id > 0);
	return id;
}

/* One sandbox was told; what came of it. */
static char *take_back(struct peer *user, int64_t id, bool kill) {
	json_t *reply = peer_call(user, "revoke", json_pack("{s:[I], s:b}", "ids", (json_int_t)id, "kill", kill));
	assert_int_equal(number_of(reply, "told"), 1);
	const json_t *others = json_object_get(reply, "others");
	char *is = string_copy(json_array_size(others) == 0 ? "confirmed" : text_of(json_array_get(others, 0), "is"));
	json_decref(reply);
	return is;
}

static bool is_recorded(struct peer *user, const char *begins, int64_t grant) {
	json_t *reply = peer_call(user, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1)), *row;
	bool found = false;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, row)
		found |= strcmp(text_of(row, "kind"), "repair") == 0 && string_starts(text_of(row, "why"), begins) &&
			 (grant == 0 || number_of(row, "grant") == grant);
	json_decref(reply);
	return found;
}

static json_t *grant_and_wait(struct peer *user, const struct sandbox_play *play, const char *effect) {
	CLEANUP_FREE char *path = home_path("shared/notes");
	return peer_call(user, "grant",
			 json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "permission", "fs:read", "target", path, "effect",
				   effect, "profile", "tooled", "lifetime", "session", "session",
				   (json_int_t)play->shared->session));
}

static bool is_stopped(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", (int)pid), *stat = NULL;
	assert_int_equal(file_read(path, 4096, &stat, NULL, NULL), 0);
	return strstr(stat, ") T ");
}

static void a_grant_waits_for_who_carries_it_out_and_for_nobody_else_for_long(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	json_t *reply = grant_and_wait(user, &play, "allow");
	assert_int_equal(number_of(reply, "told"), 1);
	assert_int_equal(number_of(reply, "confirmed"), 1);
	json_decref(reply);
	assert_int_equal(play.shared->told, 1);
	play.shared->answers = false;
	const int64_t began = now_ms();
	reply = grant_and_wait(user, &play, "allow");
	assert_in_range(now_ms() - began, LIMIT_WITHDRAW_MS - 20, PATIENCE_MS);
	assert_int_equal(number_of(reply, "confirmed"), 0);
	json_decref(reply);
	assert_true(goes_on(&play)); /* nothing is taken from anybody who hasn't it yet */
	kill(play.runner, SIGSTOP);
	wait_until(is_stopped(play.runner));
	reply = grant_and_wait(user, &play, "allow");
	assert_int_equal(number_of(reply, "told"), 0);
	json_decref(reply);
	kill(play.runner, SIGCONT);
}

static void a_denial_waits_and_stops_who_does_not_confirm(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	json_t *reply = grant_and_wait(user, &play, "deny");
	assert_int_equal(number_of(reply, "told"), 1);
	assert_int_equal(number_of(reply, "confirmed"), 0);
	assert_string_equal(text_of(json_array_get(json_object_get(reply, "others"), 0), "is"), "stopped");
	json_decref(reply);
	assert_true(is_still(&play));
	play.shared->answers = true;
	assert_true(goes_on(&play));
}

static void who_confirms_goes_on_undisturbed(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	CLEANUP_FREE char *is = take_back(user, id, false);
	assert_string_equal(is, "confirmed");
	assert_true(goes_on(&play));
	assert_false(is_recorded(user, "stopped", id));
}

static void attack_r_01_who_does_not_confirm_is_stopped_and_goes_on_when_he_does(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play), began = now_ms();
	CLEANUP_FREE char *is = take_back(user, id, false);
	assert_string_equal(is, "stopped");
	assert_in_range(now_ms() - began, LIMIT_CONFIRM_MS - 20, PATIENCE_MS);
	assert_true(is_still(&play));
	assert_false(is_given(&play.shared->place));
	assert_true(is_recorded(user, "stopped: its runner did not confirm within 1.5 s", id));
	play.shared->answers = true;
	assert_true(goes_on(&play));
	assert_true(is_given(&play.shared->place));
	wait_until(is_recorded(user, "continued", 0));
}

static void begin_sending(const struct sandbox_play *play) {
	play->shared->sends = true;
	wait_until(play->shared->said);
}

/* It has no processor, in the middle of the answer: what it lets go on does so at any time. */
static void attack_r_01_who_is_stuck_while_he_lets_a_call_go_on_is_not_taken_for_stopped(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	begin_sending(&play);
	CLEANUP_FREE char *is = take_back(user, id, false);
	assert_string_equal(is, "ended");
	assert_true(is_dead(&play));
	assert_true(is_recorded(user, "ended: its runner did not confirm, and that all its processes are stopped", id));
}

static void attack_r_01_who_has_let_a_call_go_on_is_stopped_with_it(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	begin_sending(&play);
	const int64_t request = peer_send(user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)id));
	wait_until(!is_given(&play.shared->place));
	play.shared->sends = false;
	json_t *reply = peer_reply(user, request);
	const json_t *other = json_array_get(json_object_get(reply, "others"), 0);
	assert_string_equal(text_of(other, "is"), "stopped");
	json_decref(reply);
	assert_true(is_still(&play));
}

/* It has been stopped on its way out of the answer. */
static void attack_r_01_who_is_stopped_is_in_the_middle_of_nothing(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	begin_sending(&play);
	kill(play.runner, SIGSTOP);
	wait_until(is_stopped(play.runner));
	CLEANUP_FREE char *is = take_back(user, id, false);
	assert_string_equal(is, "paused");
	assert_true(is_still(&play));
	kill(play.runner, SIGCONT);
	assert_true(goes_on(&play));
}

static void a_second_withdrawal_has_to_be_confirmed_too(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t first = grant(user, &play), second = grant(user, &play);
	CLEANUP_FREE char *is = take_back(user, first, false);
	CLEANUP_FREE char *then = take_back(user, second, false); /* it is stopped already: known at once */
	assert_string_equal(is, "stopped");
	assert_string_equal(then, "stopped");
	assert_true(is_still(&play));
	play.shared->answers = true;
	assert_true(goes_on(&play));
}

/* What the user has stopped stays so. */
static void attack_r_01_a_sandbox_that_is_stopped_withdraws_before_it_goes_on(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PLAY struct sandbox_play other = play_new(true);
	const int64_t id = grant(user, &play);
	assert_true(is_given(&play.shared->place));
	kill(play.shared->workers[0], SIGSTOP);
	kill(play.runner, SIGSTOP);
	wait_until(is_stopped(play.shared->workers[0]) && is_stopped(play.runner));
	CLEANUP_FREE char *is = take_back(user, id, false);
	assert_string_equal(is, "paused");
	assert_true(is_still(&play));
	assert_false(is_given(&play.shared->place));
	assert_true(is_given(&other.shared->place));
	assert_true(is_recorded(user, "held", id));
	kill(play.runner, SIGCONT);
	assert_true(goes_on(&play));
	assert_true(is_given(&play.shared->place));
	assert_true(is_stopped(play.shared->workers[0]));
}

static pid_t child_new(void) {
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return child;
}

/* Its broker was another one, or its connection, which may have said what it hasn't heard. */
static struct place come_back(struct peer *runner) {
	json_t *opened = peer_call(runner, "session-open", session_wish(json_pack("{s:i}", "before", 1000)));
	const struct place place = place_of(opened);
	json_decref(opened);
	assert_false(is_given(&place));
	return place;
}

static void attack_r_01_a_sandbox_that_comes_back_waits_until_it_has_confirmed(void **state) {
	(void)state;
	const pid_t init = child_new();
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	const struct place place = come_back(runner);
	json_decref(peer_call(runner, "sandbox", json_pack("{s:i, s:b}", "init", (int)init, "running", 1)));
	json_t *ended = peer_push(runner, "ended");
	const int64_t number = number_of(ended, "settle");
	json_decref(ended);
	assert_false(is_given(&place));
	confirm(runner, &number, 1);
	wait_until(is_given(&place));
	kill(init, SIGKILL);
	waitpid(init, NULL, 0);
}

static bool is_listed(struct peer *user, int64_t session) {
	json_t *reply = peer_call(user, "list", json_pack("{s:s}", "what", "sessions")), *item;
	bool found = false;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, item) found |= number_of(item, "id") == session;
	json_decref(reply);
	return found;
}

/* It has mapped the page of the new connection, and that one is lost before sbxd knows its process 1. */
static void attack_r_01_the_page_of_a_runner_that_could_not_come_back_is_no_other_runners(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	struct peer *runner = peer_connect(true);
	json_t *opened = peer_call(runner, "session-open", session_wish(json_pack("{s:i}", "before", 1000)));
	const struct place place = place_of(opened);
	const int64_t session = number_of(opened, "session");
	json_decref(opened);
	assert_true(is_listed(user, session));
	peer_free(runner);
	wait_until(!is_listed(user, session));
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	assert_int_not_equal(play.shared->place.page, place.page);
	assert_true(is_given(&play.shared->place));
	assert_false(is_given(&place));
}

static void who_is_not_connected_is_killed_too(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PLAY struct sandbox_play play = play_new(true);
	const json_int_t session = play.shared->session;
	play.shared->leaves = true;
	wait_until(!is_listed(user, session));
	assert_false(is_dead(&play));
	json_t *reply = peer_call(user, "kill", json_pack("{s:[I]}", "sessions", session));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(reply, "sessions"), 0)), session);
	assert_int_equal(number_of(reply, "confirmed"), 1);
	json_decref(reply);
	assert_true(is_dead(&play));
	assert_true(is_recorded(user, "killed: its runner is not connected", 0));
}

/* This process as a runner that comes and goes. */
struct comer {
	struct peer *peer, *user;
	int64_t session, grant;
	pid_t init;
};

static void comer_open(struct comer *comer) {
	comer->peer = peer_connect(true);
	json_t *opened = peer_call(comer->peer, "session-open",
				   session_wish(json_pack("{s:I}", "before", (json_int_t)comer->session)));
	comer->session = number_of(opened, "session");
	json_decref(opened);
}

static void comer_name_init(const struct comer *comer, bool running) {
	json_decref(peer_call(comer->peer, "sandbox",
			      json_pack("{s:i, s:b}", "init", (int)comer->init, "running", running)));
}

static void comer_lose(struct comer *comer) {
	peer_free(comer->peer);
	comer->peer = NULL;
	wait_until(!is_listed(comer->user, comer->session));
}

static struct comer comer_new(void) {
	struct comer comer = {.user = peer_connect(true), .init = child_new()};
	CLEANUP_FREE char *path = home_path("shared/notes");
	comer_open(&comer);
	comer_name_init(&comer, false);
	json_t *reply =
		peer_call(comer.user, "grant",
			  json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "permission", "fs:read", "target", path, "effect",
				    "allow", "profile", "tooled", "lifetime", "always", "at_once", 1));
	comer.grant = number_of(json_object_get(reply, "grant"), "id");
	json_decref(reply);
	assert_true(comer.grant > 0);
	return comer;
}

static void comer_free(struct comer *comer) {
	peer_free(comer->peer);
	peer_free(comer->user);
	kill(comer->init, SIGKILL);
	waitpid(comer->init, NULL, 0);
}
#define CLEANUP_COMER CLEANUP(comer_free)

/* The number of the next withdrawal that it is told of. */
static int64_t comer_told(const struct comer *comer, bool kill) {
	for (;;) {
		json_t *push = peer_push(comer->peer, "ended");
		const bool gives = json_is_true(json_object_get(push, "gives"));
		const int64_t number = number_of(push, "settle");
		if (!gives) assert_int_equal(json_is_true(json_object_get(push, "kill")), kill);
		json_decref(push);
		if (!gives) return number;
	}
}

static int64_t comer_revoke(const struct comer *comer, bool kill) {
	return peer_send(comer->user, "revoke",
			 json_pack("{s:[I], s:b}", "ids", (json_int_t)comer->grant, "kill", kill));
}

/* Before it has said which its process 1 is: that is known from before. */
static void withdraws_from_who_is_back(bool lost) {
	CLEANUP_COMER struct comer comer = comer_new();
	comer_lose(&comer);
	comer_open(&comer);
	const int64_t request = comer_revoke(&comer, false);
	comer_told(&comer, false);
	if (lost) comer_lose(&comer);
	json_t *reply = peer_reply(comer.user, request);
	assert_int_equal(number_of(reply, "confirmed"), 0);
	assert_string_equal(text_of(json_array_get(json_object_get(reply, "others"), 0), "is"), "stopped");
	json_decref(reply);
	assert_true(is_stopped(comer.init));
	if (lost) comer_open(&comer);
	comer_name_init(&comer, true);
	const int64_t number = comer_told(&comer, false);
	assert_true(is_stopped(comer.init));
	confirm(comer.peer, &number, 1);
	wait_until(!is_stopped(comer.init));
}

static void attack_r_01_who_is_back_and_lost_again_at_once_has_not_confirmed(void **state) {
	(void)state;
	withdraws_from_who_is_back(true);
}

static void attack_r_01_who_is_back_and_says_nothing_is_stopped(void **state) {
	(void)state;
	withdraws_from_who_is_back(false);
}

static void who_comes_back_in_time_is_not_ended_and_ends_the_holders(void **state) {
	(void)state;
	CLEANUP_COMER struct comer comer = comer_new();
	const int64_t request = comer_revoke(&comer, true);
	comer_told(&comer, true);
	comer_lose(&comer);
	comer_open(&comer);
	comer_name_init(&comer, true);
	const int64_t number = comer_told(&comer, true);
	confirm(comer.peer, &number, 1);
	json_t *reply = peer_reply(comer.user, request);
	assert_int_equal(number_of(reply, "confirmed"), 1);
	json_decref(reply);
}

static void a_sandbox_that_comes_back_before_it_begins_is_cleared_when_it_does(void **state) {
	(void)state;
	const pid_t init = child_new();
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	const struct place place = come_back(runner);
	json_decref(peer_call(runner, "sandbox", json_pack("{s:i}", "init", (int)init)));
	assert_true(is_given(&place));
	kill(init, SIGKILL);
	waitpid(init, NULL, 0);
}

static void attack_r_01_processes_that_are_handed_on_all_the_time_do_not_run_on(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	play.shared->restless = true;
	CLEANUP_FREE char *is = take_back(user, id, false);
	print_message("processes that hand themselves on: %s\n", is);
	if (strcmp(is, "stopped") != 0) assert_string_equal(is, "ended");
	assert_true(is_still(&play));
}

static void who_is_to_be_ended_and_does_not_confirm_is(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	CLEANUP_FREE char *is = take_back(user, id, true);
	assert_string_equal(is, "ended");
	assert_true(is_dead(&play));
	assert_true(is_recorded(user, "ended", id));
}

/* A process of the sandbox outlives it here, as none does in a real one. */
static void attack_r_01_a_runner_that_is_gone_settles_nothing(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	kill(play.shared->workers[0], SIGSTOP);
	const int64_t request = peer_send(user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)id));
	wait_until(play.shared->told == 1);
	kill(play.runner, SIGKILL); /* and its children are, by PR_SET_PDEATHSIG */
	json_t *reply = peer_reply(user, request);
	assert_true(is_dead(&play));
	assert_int_equal(number_of(reply, "confirmed"), 1);
	json_decref(reply);
}

/* The process that had to be ended may be the one that all others end with. */
static void who_was_ended_is_told_when_the_sandbox_ended_with_it(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	const int64_t id = grant(user, &play);
	const int64_t request = peer_send(user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)id));
	wait_until(play.shared->told == 1);
	kill(-play.shared->init, SIGKILL);
	wait_until(is_dead(&play));
	play.shared->answers = true;
	json_t *reply = peer_reply(user, request);
	assert_int_equal(number_of(reply, "confirmed"), 1);
	assert_int_equal(number_of(reply, "killed"), 1);
	const json_t *ended = json_array_get(json_object_get(reply, "ended"), 0);
	assert_int_equal(number_of(ended, "pid"), 77);
	assert_int_equal(number_of(ended, "session"), play.shared->session);
	json_decref(reply);
}

static void who_is_none_of_the_runners_is_refused(void **state) {
	(void)state;
	CLEANUP_PLAY struct sandbox_play play = play_new_as(true, getpid());
	assert_true(play.shared->error);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	json_decref(peer_call(user, "status", NULL));
	assert_true(goes_on(&play));
}

/* It takes half a minute: the others run meanwhile. */
static struct sandbox_play late;
static int64_t late_grant, late_began_ms;

static int begin_late(void **state) {
	if (prompts_setup_waits(state) != 0) return -1;
	late = play_new(false);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	late_grant = grant(user, &late);
	late_began_ms = now_ms();
	CLEANUP_FREE char *is = take_back(user, late_grant, false);
	return strcmp(is, "stopped");
}

static void attack_r_01_who_does_not_confirm_for_long_is_ended(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	wait_until(is_dead(&late));
	assert_in_range(now_ms() - late_began_ms, LIMIT_CONFIRM_END_MS - 2000, PATIENCE_MS);
	wait_until(is_recorded(user, "ended: its runner did not confirm within 30 s", late_grant));
	play_free(&late);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grant_waits_for_who_carries_it_out_and_for_nobody_else_for_long),
		cmocka_unit_test(a_denial_waits_and_stops_who_does_not_confirm),
		cmocka_unit_test(who_confirms_goes_on_undisturbed),
		cmocka_unit_test(attack_r_01_who_does_not_confirm_is_stopped_and_goes_on_when_he_does),
		cmocka_unit_test(attack_r_01_who_is_stuck_while_he_lets_a_call_go_on_is_not_taken_for_stopped),
		cmocka_unit_test(attack_r_01_who_has_let_a_call_go_on_is_stopped_with_it),
		cmocka_unit_test(attack_r_01_who_is_stopped_is_in_the_middle_of_nothing),
		cmocka_unit_test(a_second_withdrawal_has_to_be_confirmed_too),
		cmocka_unit_test(attack_r_01_a_sandbox_that_is_stopped_withdraws_before_it_goes_on),
		cmocka_unit_test(attack_r_01_a_sandbox_that_comes_back_waits_until_it_has_confirmed),
		cmocka_unit_test(attack_r_01_the_page_of_a_runner_that_could_not_come_back_is_no_other_runners),
		cmocka_unit_test(who_is_not_connected_is_killed_too),
		cmocka_unit_test(attack_r_01_who_is_back_and_lost_again_at_once_has_not_confirmed),
		cmocka_unit_test(attack_r_01_who_is_back_and_says_nothing_is_stopped),
		cmocka_unit_test(who_comes_back_in_time_is_not_ended_and_ends_the_holders),
		cmocka_unit_test(a_sandbox_that_comes_back_before_it_begins_is_cleared_when_it_does),
		cmocka_unit_test(attack_r_01_processes_that_are_handed_on_all_the_time_do_not_run_on),
		cmocka_unit_test(who_is_to_be_ended_and_does_not_confirm_is),
		cmocka_unit_test(attack_r_01_a_runner_that_is_gone_settles_nothing),
		cmocka_unit_test(who_was_ended_is_told_when_the_sandbox_ended_with_it),
		cmocka_unit_test(who_is_none_of_the_runners_is_refused),
		cmocka_unit_test(attack_r_01_who_does_not_confirm_for_long_is_ended),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, begin_late, broker_teardown);
	home_remove();
	return failed;
}
