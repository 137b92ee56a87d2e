/*
 * Trapped calls of a real sandbox, judged by a sight and answered by a hold that the test makes (cell.h).
 */
#include "hold/traps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/call_table.h"
#include "cell.h"
#include "schema/clearance.h"
#include "support/cmocka.h"
#include "support/long_run.h"
#include "support/memory_use.h"

enum { HELD_MAX = 4096 };

enum { RACES = 10 * 1000, LONG_RACES = 100 * 1000 }; /* a million of them: attack_k_07 in tests/e2e */

/* The million of attack K5, in a long run and where it takes seconds. */
#if defined(__OPTIMIZE__) && !MEMORY_USE_IS_INFLATED
enum { FLOOD = 100 * 1000, LONG_FLOOD = 1000 * 1000, LOOP_TURN_MS = 25 /* half of what a revocation may take */ };
#else
enum { FLOOD = 100 * 1000, LONG_FLOOD = FLOOD, LOOP_TURN_MS = 250 };
#endif

static struct cell cell;

/* What waits, as held.c would keep it. */
static struct {
	struct {
		uint64_t ticket;
		pid_t thread;
		held_done *done;
		void *argument;
		char *text; /* "write /ask/f", "write /ask in" */
	} calls[HELD_MAX];
	size_t count, most;
	uint64_t last, dropped;
	struct strings all;         /* texts of all that ever was held */
	void (*each)(size_t index); /* called from the loop after a call was held */
	struct event *turn;
} held;

static char *need_text(const struct need *need) {
	static const char *const permissions[] = {
		[PERMISSION_FS_READ] = "read", [PERMISSION_FS_WRITE] = "write", [PERMISSION_PROC_SPAWN] = "spawn"};
	const char *path = need->path + (path_is_below(need->path, cell.top) ? strlen(cell.top) : 0);
	return string_format("%s %s%s", permissions[need->permission], path, need->by_folder ? " in" : "");
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	while (held.each && held.count > 0) {
		const size_t before = held.count;
		held.each(before - 1);
		if (held.count == before) return;
	}
}

static uint64_t hold(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	(void)context;
	assert_true(held.count < HELD_MAX);
	held.calls[held.count].ticket = ++held.last;
	held.calls[held.count].thread = thread;
	held.calls[held.count].done = done;
	held.calls[held.count].argument = argument;
	held.calls[held.count].text = need_text(need);
	strings_add(&held.all, held.calls[held.count].text);
	held.count++;
	if (held.count > held.most) held.most = held.count;
	event_active(held.turn, EV_TIMEOUT, 0); /* done() never from within */
	return held.last;
}

static void take_out(size_t index) {
	free(held.calls[index].text);
	held.calls[index] = held.calls[--held.count];
}

static void drop(void *context, uint64_t ticket) {
	(void)context;
	for (size_t i = 0; i < held.count; i++) {
		if (held.calls[i].ticket != ticket) continue;
		take_out(i);
		held.dropped++;
		return;
	}
	fail_msg("dropped a ticket that nobody has");
}

static void settle(size_t index, enum held_end end) {
	held_done *done = held.calls[index].done;
	void *argument = held.calls[index].argument;
	take_out(index);
	done(argument, end);
}

static void forget(void) {
	while (held.count > 0) take_out(0);
	strings_finish(&held.all);
	if (held.turn) event_free(held.turn);
	held.turn = NULL;
	held.each = NULL;
	held.most = held.dropped = held.last = 0;
}

/* Run the tool to its end; `each` sees every call that was held. */
static char *serve(unsigned wanted, void (*each)(size_t index), const char *const *words) {
	forget();
	held.each = each;
	held.turn = evtimer_new(cell.base, on_turn, NULL);
	cell.hold = hold;
	cell.drop = drop;
	cell_start(&cell, wanted, words);
	cell_run(&cell);
	return cell_output(&cell);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect(const char *output, const char *expected) {
	if (strcmp(output, expected) != 0) fail_msg("printed '%s', not '%s'", output, expected);
}

/* Each call of the table */

static void remove_made(const char *folder) {
	CLEANUP_FREE char *top = path_join(cell.top, folder);
	for (size_t i = 0; i < call_shape_count; i++) {
		const char kinds[] = "ab";
		for (size_t j = 0; kinds[j]; j++) {
			CLEANUP_FREE char *path = string_format("%s/%c.%s", top, kinds[j], call_shapes[i].name);
			remove(path);
		}
	}
	rmdir(top);
}

/* What is there when calls.c's `each` begins: a.NAME for every call. */
static void make_files(const char *folder) {
	CLEANUP_FREE char *top = path_join(cell.top, folder);
	remove_made(folder);
	assert_int_equal(mkdir(top, 0755), 0);
	for (size_t i = 0; i < call_shape_count; i++) {
		CLEANUP_FREE char *path = string_format("%s/a.%s", top, call_shapes[i].name);
		const char *content = call_shapes[i].class == CALL_EXECUTE ? "#!/bin/sh\n" : "";
		if (strcmp(call_shapes[i].name, "rmdir") == 0)
			assert_int_equal(mkdir(path, 0755), 0);
		else
			assert_int_equal(file_write(path, content, strlen(content), 0755, NULL), 0);
	}
}

static void go_on(size_t index) {
	settle(index, HELD_AGAIN);
}
static void refuse(size_t index) {
	settle(index, HELD_REFUSED);
}
static void deny(size_t index) {
	settle(index, HELD_ABSENT);
}
static void interrupt(size_t index) {
	settle(index, HELD_INTERRUPTED);
}

static size_t count_shapes(bool (*counts)(const struct call_shape *shape)) {
	size_t count = 0;
	for (size_t i = 0; i < call_shape_count; i++) count += call_shapes[i].number >= 0 && counts(&call_shapes[i]);
	return count;
}

static bool changes(const struct call_shape *shape) {
	return shape->class != CALL_LOOK && shape->class != CALL_EXECUTE;
}

static bool is_program(const struct call_shape *shape) {
	return shape->class == CALL_EXECUTE;
}

/* What each call gives without any trap. */
static char *untrapped(const char *folder) {
	make_files(folder);
	return serve(0, NULL, WORDS("each", folder));
}

static const unsigned every_write = TRAPS_WRITES | TRAPS_DESCRIPTORS;

static void each_call_goes_on_where_nothing_is_asked(void **state) {
	(void)state;
	CLEANUP_FREE char *plain = untrapped("w/each");
	make_files("w/each");
	CLEANUP_FREE char *output = serve(every_write | TRAPS_PROGRAMS, refuse, WORDS("each", "w/each"));
	expect(output, plain);
	assert_non_null(strstr(output, "w/each mkdirat: worked"));
	assert_int_equal(held.all.count, 0);
	/* each once; and the program that sbx-init starts */
	assert_int_equal(cell.counts.received, count_shapes(changes) + count_shapes(is_program) + 1);
	remove_made("w/each");
}

static void each_call_is_held_and_goes_on(void **state) {
	(void)state;
	CLEANUP_FREE char *plain = untrapped("ask/each");
	make_files("ask/each");
	CLEANUP_FREE char *output = serve(every_write, go_on, WORDS("each", "ask/each"));
	expect(output, plain);
	assert_int_equal(cell.counts.received, count_shapes(changes));
	assert_int_equal(cell.counts.held, count_shapes(changes));
	for (size_t i = 0; i < call_shape_count; i++) {
		const struct call_shape *shape = &call_shapes[i];
		if (shape->number < 0 || !changes(shape)) continue;
		CLEANUP_FREE char *file = string_format("write /ask/each/a.%s", shape->name);
		if (!strings_contain(&held.all, shape->class == CALL_NAMES ? "write /ask/each in" : file))
			fail_msg("%s was not held", shape->name);
	}
	remove_made("ask/each");
}

/* Whoever looks closer has it asked about. */
static struct sight asked_sight(void *context, const char *path) {
	(void)context, (void)path;
	return (struct sight){.mode = VIEW_READ, .ask_write = true};
}

static bool is_written(void *context, const char *path) {
	const struct cell *plain = context;
	CLEANUP_FREE char *folder = path_join(plain->top, "w");
	return path_is_below(path, folder);
}

/* What a call brings along, or names besides, no look at a name tells; a descriptor's own is no name. */
static bool takes_a_look(const struct call_shape *shape) {
	return shape->brings || shape->paths[1].path || !shape->paths[0].path;
}

static void a_call_with_a_plain_name_goes_on_before_anything_is_looked_at(void **state) {
	(void)state;
	CLEANUP_FREE char *link = path_join(cell.top, "w/to-w");
	make_files("w/each");
	assert_int_equal(symlink(".", link), 0);
	cell.sight = asked_sight;
	cell.plain = is_written;
	CLEANUP_FREE char *output = serve(every_write, refuse, WORDS("each", "w/each"));
	CLEANUP_FREE char *linked = serve(TRAPS_WRITES, refuse, WORDS("make", "w/to-w/made"));
	CLEANUP_FREE char *hidden = serve(TRAPS_OPENS, refuse, WORDS("make", "w/made"));
	cell.sight = NULL;
	cell.plain = NULL;
	for (size_t i = 0; i < call_shape_count; i++) {
		const struct call_shape *shape = &call_shapes[i];
		if (shape->number < 0 || !changes(shape)) continue;
		CLEANUP_FREE char *refused = string_format("w/each %s: EACCES\n", shape->name);
		if (!strstr(output, refused) == takes_a_look(shape)) fail_msg("%s: %s", shape->name, output);
	}
	expect(linked, "w/to-w/made: EACCES\n");
	expect(hidden, "w/made: EACCES\n"); /* where opens are asked about each takes a look */
	assert_int_equal(unlink(link), 0);
	remove_made("w/each");
}

/* Every line but those of programs ends with this. */
static void expect_all(const char *output, const char *result) {
	CLEANUP_FREE char *text = string_copy(output);
	size_t count = 0;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		if (*line == '\0' || strstr(line, " exec")) continue;
		if (!string_ends(line, result)) fail_msg("%s, not %s", line, result);
		count++;
	}
	assert_int_equal(count, count_shapes(changes));
}

static void each_call_is_refused_as_it_was_answered(void **state) {
	(void)state;
	const struct {
		void (*answer)(size_t index);
		const char *result;
	} answers[] = {{refuse, ": EACCES"}, {deny, ": EROFS"}, {interrupt, ": EINTR"}};
	for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
		make_files("ask/each");
		CLEANUP_FREE char *output = serve(every_write, answers[i].answer, WORDS("each", "ask/each"));
		expect_all(output, answers[i].result);
	}
	remove_made("ask/each");
}

static void what_goes_on_meets_the_mounts(void **state) {
	(void)state;
	CLEANUP_FREE char *read = serve(TRAPS_WRITES, go_on, WORDS("write", "read/file"));
	expect(read, "read/file: EROFS\n");
	assert_int_equal(held.all.count, 0);
	CLEANUP_FREE char *secret = serve(TRAPS_WRITES, go_on, WORDS("write", "secret/file"));
	expect(secret, "secret/file: ENOENT\n");
	assert_int_equal(held.all.count, 0);
}

/* The broker says something while a call is looked at: it takes what the call would use. */
static struct {
	atomic_bool in_force;
	struct event *over;
	void (*done)(void *argument);
	void *argument;
} news;

static bool news_behind(void *context) {
	(void)context;
	return !news.in_force;
}

static void news_are_carried_out(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	news.in_force = true;
	news.done(news.argument);
}

static void news_carry_out(void *context, void (*done)(void *argument), void *argument) {
	const struct timeval soon = {.tv_usec = 10 * 1000};
	(void)context;
	news.done = done;
	news.argument = argument;
	event_add(news.over, &soon);
}

static struct sight news_sight(void *context, const char *path) {
	(void)context, (void)path;
	return (struct sight){.mode = news.in_force ? VIEW_READ : VIEW_WRITE, .ask_write = true};
}

static void a_call_waits_for_what_the_broker_has_said(void **state) {
	(void)state;
	news.over = evtimer_new(cell.base, news_are_carried_out, NULL);
	cell.behind = news_behind;
	cell.carried_out = news_carry_out;
	cell.sight = news_sight;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, refuse, WORDS("make", "w/late"));
	cell.behind = NULL;
	cell.carried_out = NULL;
	cell.sight = NULL;
	event_free(news.over);
	expect(output, "w/late: EACCES\n");
	assert_int_equal(held.all.count, 1);
}

/* The broker's file. */
static struct {
	int fd;
	bool looked;
	struct event *given;
} word;

static void word_write(uint32_t flags) {
	const struct clearance_word written = {.flags = flags};
	assert_int_equal(pwrite(word.fd, &written, sizeof written, getpagesize()), sizeof written);
}

static int word_follow(uint64_t page) {
	CLEANUP_FREE char *path = path_join(cell.top, "clearance");
	struct stat status;
	assert_int_equal(fstat(word.fd, &status), 0);
	return clearance_follow(cell.clearance, path, status.st_ino, page, NULL);
}

static void on_word_given(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	word_write(CLEARANCE_GIVEN);
}

static void word_new(void) {
	CLEANUP_FREE char *path = path_join(cell.top, "clearance");
	unlink(path);
	word.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(word.fd >= 0);
	word_write(CLEARANCE_GIVEN);
	assert_int_equal(word_follow(1), 0);
	word.given = evtimer_new(cell.base, on_word_given, NULL);
	word.looked = false;
	news.in_force = false;
	cell.sight = news_sight;
}

static void word_free(void) {
	event_free(word.given);
	fd_close(word.fd);
	cell.behind = NULL;
	cell.carried_out = NULL;
	cell.sight = NULL;
	clearance_free(cell.clearance);
	assert_int_equal(clearance_new(&cell.clearance, NULL), 0);
}

/* All that is said is carried out, and only after a while the broker knows that. */
static void word_give_later(void) {
	const struct timeval later_on = {.tv_usec = 50 * 1000};
	news.in_force = true;
	evtimer_add(word.given, &later_on);
}

/* In the thread that looks: what is said next it doesn't see any more. */
static bool withheld_behind_the_look(void *context) {
	(void)context;
	if (!word.looked) word_write(CLEARANCE_WITHHELD);
	word.looked = true;
	return false;
}

static void word_carry_out(void *context, void (*done)(void *argument), void *argument) {
	(void)context;
	if (!news.in_force) word_give_later();
	done(argument);
}

static void attack_r_01_what_is_withheld_between_the_look_and_the_answer_waits(void **state) {
	(void)state;
	word_new();
	cell.behind = withheld_behind_the_look;
	cell.carried_out = word_carry_out;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, refuse, WORDS("make", "w/withheld"));
	word_free();
	expect(output, "w/withheld: EACCES\n");
	assert_int_equal(held.all.count, 1);
}

static void allow_while_withheld(size_t index) {
	if (word.looked) {
		settle(index, HELD_REFUSED);
		return;
	}
	word.looked = true;
	word_write(CLEARANCE_WITHHELD);
	word_give_later();
	settle(index, HELD_AGAIN);
}

static void attack_r_01_a_held_call_that_is_withheld_is_judged_anew(void **state) {
	(void)state;
	word_new();
	news.in_force = true; /* it is asked about from the beginning */
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, allow_while_withheld, WORDS("make", "w/held"));
	word_free();
	expect(output, "w/held: EACCES\n");
	assert_int_equal(held.all.count, 2);
}

/* What sbxd sees of an answer that is under way. */
struct lookout {
	int fd;
	atomic_bool over, seen;
};

static bool is_answering(int fd) {
	clearance_answering answering;
	assert_int_equal(pread(fd, &answering, sizeof answering, 0), sizeof answering);
	return answering != 0;
}

static void *look_out(void *argument) {
	struct lookout *lookout = argument;
	while (!lookout->over && !lookout->seen) lookout->seen = is_answering(lookout->fd);
	return NULL;
}

static void attack_r_01_an_answer_that_is_under_way_shows(void **state) {
	(void)state;
	pthread_t thread;
	word_new();
	cell.sight = NULL;
	struct lookout lookout = {.fd = clearance_answering_fd(cell.clearance)};
	assert_int_equal(pthread_create(&thread, NULL, look_out, &lookout), 0);
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, NULL, WORDS("flood", "8", "2000", "read/file"));
	lookout.over = true;
	pthread_join(thread, NULL);
	const bool answering = is_answering(lookout.fd);
	word_free();
	expect(output, "");
	assert_true(lookout.seen);
	assert_false(answering);
}

static void attack_r_01_what_the_runner_carries_out_shows_like_an_answer(void **state) {
	(void)state;
	word_new();
	const int fd = clearance_answering_fd(cell.clearance);
	assert_true(clearance_begin(cell.clearance));
	assert_true(is_answering(fd));
	clearance_end(cell.clearance);
	assert_false(is_answering(fd));
	word_write(CLEARANCE_WITHHELD);
	assert_false(clearance_begin(cell.clearance));
	assert_false(is_answering(fd));
	word_free();
}

/* What held.c does: once, and whoever comes back in the same call can't get there. */
static bool gave_once;

static void on_called(void *context, pid_t thread) {
	(void)context, (void)thread;
	gave_once = false;
}

static void allow_once_while_withheld(size_t index) {
	const bool again = gave_once;
	gave_once = true;
	if (!word.looked) {
		word_write(CLEARANCE_WITHHELD);
		word_give_later();
	}
	word.looked = true;
	settle(index, again ? HELD_REFUSED : HELD_AGAIN);
}

static void a_program_that_was_allowed_once_and_is_withheld_is_asked_about_anew(void **state) {
	(void)state;
	word_new();
	cell.sight = NULL;
	cell.called = on_called;
	CLEANUP_FREE char *output = serve(TRAPS_PROGRAMS, allow_once_while_withheld, WORDS("spawn", "/usr/bin/true"));
	cell.called = NULL;
	word_free();
	expect(output, "/usr/bin/true: worked\n");
	assert_int_equal(held.all.count, 2);
}

static bool cut_behind_the_look(void *context) {
	(void)context;
	if (!word.looked) assert_int_equal(ftruncate(word.fd, 0), 0);
	word.looked = true;
	return false;
}

/* What this process says to its user goes there; its own standard error. */
static int said_to(const char *name) {
	const int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	CLEANUP_FD int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(own >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	return own;
}

static char *said_in(const char *name, int own) {
	char *text = NULL;
	assert_int_equal(dup2(own, STDERR_FILENO), STDERR_FILENO);
	fd_close(own);
	assert_int_equal(file_read(name, 4096, &text, NULL, NULL), 0);
	return text;
}

static void a_broken_file_withholds_and_only_the_brokers_own_is_followed(void **state) {
	(void)state;
	word_new();
	assert_int_equal(word_follow(2), -ESTALE);
	assert_int_equal(word_follow(UINT64_MAX), -EPROTO);
	CLEANUP_FREE char *path = path_join(cell.top, "clearance");
	assert_int_equal(clearance_follow(cell.clearance, path, 1, 1, NULL), -ESTALE);
	assert_int_equal(fchmod(word.fd, 0640), 0);
	assert_int_equal(word_follow(1), -EPERM);
	assert_int_equal(fchmod(word.fd, 0600), 0);
	cell.behind = cut_behind_the_look;
	cell.carried_out = word_carry_out;
	CLEANUP_FREE char *name = path_join(cell.top, "said");
	const int own = said_to(name);
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, refuse, WORDS("make", "w/cut"));
	CLEANUP_FREE char *said = said_in(name, own);
	word_free();
	expect(output, "w/cut: EACCES\n");
	const char *told = strstr(said, "can't be used, so they wait: Bad address");
	assert_non_null(told);
	assert_null(strstr(told + 1, "can't be used"));
}

static void a_masked_name_is_made_only_when_it_is_allowed(void **state) {
	(void)state;
	CLEANUP_FREE char *path = path_join(cell.top, "w/masked");
	CLEANUP_FREE char *made = serve(TRAPS_WRITES, refuse, WORDS("make", "w/masked"));
	expect(made, "w/masked: EACCES\n");
	assert_int_equal(access(path, F_OK), -1);
	CLEANUP_FREE char *allowed = serve(TRAPS_WRITES, go_on, WORDS("make", "w/masked"));
	expect(allowed, "w/masked: worked\n");
	assert_string_equal(held.all.items[0], "write /w/masked");
	assert_int_equal(unlink(path), 0);
}

static void opens_that_read_are_held_where_there_is_no_curtain(void **state) {
	(void)state;
	CLEANUP_FREE char *output = serve(TRAPS_OPENS, refuse, WORDS("read", "secret/file"));
	expect(output, "secret/file: EACCES\n");
	assert_int_equal(held.all.count, 1);
	assert_string_equal(held.all.items[0], "read /secret/file");
	CLEANUP_FREE char *absent = serve(TRAPS_OPENS, deny, WORDS("read", "secret/file"));
	expect(absent, "secret/file: ENOENT\n");
	CLEANUP_FREE char *seen = serve(TRAPS_OPENS, refuse, WORDS("read", "read/file"));
	expect(seen, "read/file: worked read\n");
}

/* Programs */

static void programs_are_held_also_in_a_child_of_vfork(void **state) {
	(void)state;
	CLEANUP_FREE char *allowed = serve(TRAPS_PROGRAMS, go_on, WORDS("spawn", "/usr/bin/true"));
	expect(allowed, "/usr/bin/true: worked\n");
	assert_int_equal(held.all.count, 1);
	assert_string_equal(held.all.items[0], "spawn /usr/bin/true");
	CLEANUP_FREE char *refused = serve(TRAPS_PROGRAMS, refuse, WORDS("spawn", "/usr/bin/true"));
	expect(refused, "/usr/bin/true: EACCES\n");
	CLEANUP_FREE char *other = serve(TRAPS_PROGRAMS, refuse, WORDS("spawn", "/usr/bin/false"));
	expect(other, "/usr/bin/false: worked\n");
}

/* Many at once */

static void settle_when_all_wait(size_t index) {
	if (held.count < 200) return;
	while (held.count > 0) settle(index % held.count, held.count % 2 ? HELD_REFUSED : HELD_AGAIN);
}

/* A rule asks about the link's name alone, and about nothing that it leads to. */
static struct sight link_sight(void *context, const char *path) {
	CLEANUP_FREE char *link = path_join(cell.top, "read/link");
	struct sight sight = cell_sight(context, path);
	sight.program = string_equal(path, link);
	return sight;
}

static void attack_w_1_a_program_is_held_by_the_name_of_a_link_wherever_that_leads(void **state) {
	(void)state;
	CLEANUP_FREE char *link = path_join(cell.top, "read/link");
	CLEANUP_FREE char *worked = string_format("%s: worked\n", link), *failed = string_format("%s: EACCES\n", link);
	assert_int_equal(symlink("/usr/bin/false", link), 0);
	cell.sight = link_sight;
	CLEANUP_FREE char *refused = serve(TRAPS_PROGRAMS, refuse, WORDS("spawn", link));
	expect(refused, failed);
	assert_int_equal(held.all.count, 1);
	assert_string_equal(held.all.items[0], "spawn /read/link");
	CLEANUP_FREE char *allowed = serve(TRAPS_PROGRAMS, go_on, WORDS("spawn", link));
	expect(allowed, worked);
	CLEANUP_FREE char *itself = serve(TRAPS_PROGRAMS, refuse, WORDS("spawn", "/usr/bin/false"));
	expect(itself, "/usr/bin/false: worked\n");
	cell.sight = NULL;
	assert_int_equal(unlink(link), 0);
}

static void two_hundred_wait_each_on_its_own(void **state) {
	(void)state;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, settle_when_all_wait, WORDS("at-once", "200", "ask"));
	expect(output, "worked: 100\nEACCES: 100\n");
	assert_int_equal(held.most, 200);
	for (int i = 0; i < 200; i++) {
		CLEANUP_FREE char *path = string_format("%s/ask/%d", cell.top, i);
		unlink(path);
	}
}

static void settle_threads(size_t index) {
	(void)index;
	if (held.count < 3) return;
	assert_int_not_equal(held.calls[0].thread, held.calls[1].thread);
	while (held.count > 0) settle(0, strstr(held.calls[0].text, "file") ? HELD_AGAIN : HELD_REFUSED);
}

static void threads_wait_each_on_its_own(void **state) {
	(void)state;
	CLEANUP_FREE char *other = string_format("%s/ask/other", cell.top);
	assert_int_equal(file_write(other, "", 0, 0644, NULL), 0);
	CLEANUP_FREE char *output =
		serve(TRAPS_WRITES, settle_threads,
		      WORDS("threads", "ask/file", "ask/other", "w/file", "ask/./file", "read/file"));
	expect(output, "ask/file: worked\nask/other: EACCES\nw/file: worked\nask/./file: worked\nread/file: EROFS\n");
}

/* Signals */

static struct event *later;
static int signal_to_send, signals_to_send;

static void end_held(size_t index) {
	kill(held.calls[index].thread, signal_to_send);
}

static void a_held_call_dies_of_a_signal(void **state) {
	(void)state;
	static const int signals[] = {SIGKILL, SIGTERM};
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
		signal_to_send = signals[i];
		CLEANUP_FREE char *output = serve(TRAPS_WRITES, end_held, WORDS("killed", "ask/file"));
		CLEANUP_FREE char *expected = string_format("signal %d\n", signals[i]);
		expect(output, expected);
		assert_int_equal(held.all.count, 1);
	}
}

static void send_signals(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
	for (int i = 0; i < signals_to_send; i++) {
		kill(held.calls[0].thread, signal_to_send);
		usleep(200);
	}
	assert_int_equal(held.count, 1);
	assert_int_equal(held.all.count, 1); /* the call was not begun again */
	settle(0, signal_to_send == SIGURG ? HELD_AGAIN : HELD_INTERRUPTED);
	event_free(later);
}

static void signal_later(size_t index) {
	const struct timeval soon = {.tv_usec = 20 * 1000};
	(void)index;
	later = evtimer_new(cell.base, send_signals, NULL);
	evtimer_add(later, &soon);
}

static void a_handler_runs_once_the_call_is_interrupted(void **state) {
	(void)state;
	signal_to_send = SIGINT;
	signals_to_send = 1;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, signal_later, WORDS("handled", "2", "0", "ask/file"));
	if (!cell.killable) skip();
	expect(output, "ask/file: EINTR\nhandled\n");
}

static void a_storm_of_urgent_signals_restarts_nothing(void **state) {
	(void)state;
	signal_to_send = SIGURG;
	signals_to_send = 1000;
	CLEANUP_FREE char *flags = string_format("%d", SA_RESTART);
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, signal_later, WORDS("handled", "23", flags, "ask/file"));
	if (!cell.killable) skip();
	expect(output, "ask/file: worked\nhandled\n");
	assert_int_equal(cell.counts.held, 1);
}

/* Attacks */

static void attack_kernel_04_no_listener_of_the_tools_own(void **state) {
	(void)state;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, NULL, WORDS("listener"));
	expect(output, "listener: EBUSY\n"); /* and no descriptor besides 0, 1, 2 */
}

/* The loop's own time between two turns of a timer: what others of the machine take isn't counted. What the host of a
 * virtual machine takes is, so a few may be late. */
struct turns {
	struct event *event;
	int64_t last_us, worst_us, count, late;
};

static int64_t cpu_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void on_loop_turn(evutil_socket_t fd, short what, void *argument) {
	struct turns *turns = argument;
	(void)fd, (void)what;
	const int64_t now = cpu_us(), took_us = turns->count++ ? now - turns->last_us : 0;
	if (took_us > turns->worst_us) turns->worst_us = took_us;
	turns->late += took_us >= LOOP_TURN_MS * 1000;
	turns->last_us = now;
}

static void flood(size_t calls_of_each, const char *path) {
	enum { PROCESSES = 64, INTERVAL_US = 5 * 1000 };
	const struct timeval interval = {.tv_usec = INTERVAL_US};
	static struct turns turns; /* a test that fails in between leaves its timer */
	turns = (struct turns){0};
	turns.event = event_new(cell.base, -1, EV_PERSIST, on_loop_turn, &turns);
	event_add(turns.event, &interval);
	CLEANUP_FREE char *processes = string_format("%d", PROCESSES), *calls = string_format("%zu", calls_of_each);
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, NULL, WORDS("flood", processes, calls, path));
	event_free(turns.event);
	expect(output, "");
	assert_int_equal(cell.counts.received, PROCESSES * calls_of_each);
	print_message("%zu calls of %d processes; between two of %lld turns of the loop at most %lld us of its time\n",
		      PROCESSES * calls_of_each, PROCESSES, (long long)turns.count, (long long)turns.worst_us);
	assert_true(turns.count > 10);
	assert_true(turns.late <= 1 + turns.count / 200);
	assert_true(turns.worst_us < 10 * LOOP_TURN_MS * 1000);
}

static void attack_kernel_05_a_flood_leaves_the_loop_its_turns(void **state) {
	(void)state;
	flood((size_t)how_often(FLOOD, LONG_FLOOD) / 64, "read/file");
}

static void attack_kernel_05_a_flood_of_long_paths_leaves_the_loop_its_turns(void **state) {
	(void)state;
	CLEANUP_STRING struct string path = {0};
	while (path.size + strlen("read/../read/file") < PATH_MAX) string_append(&path, "read/../");
	string_append(&path, "read/file");
	flood((size_t)how_often(FLOOD, LONG_FLOOD) / 64 / 100, path.data);
}

static void kill_held(size_t index) {
	kill(held.calls[index].thread, SIGKILL);
	usleep(20 * 1000);
	settle(index, HELD_AGAIN);
}

static void attack_kernel_06_a_dead_thread_is_answered_nothing(void **state) {
	(void)state;
	CLEANUP_FREE char *path = path_join(cell.top, "ask/0");
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, kill_held, WORDS("at-once", "1", "ask"));
	expect(output, "worked: 1\n"); /* its status is that of a signal, which reads as 0 here */
	assert_int_equal(access(path, F_OK), -1);
}

static void attack_kernel_07_a_path_that_changes_gains_nothing(void **state) {
	(void)state;
	CLEANUP_FREE char *secret = path_join(cell.top, "secret/file"), *read = path_join(cell.top, "read/file");
	CLEANUP_FREE char *races = string_format("%d", how_often(RACES, LONG_RACES));
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, go_on,
					  WORDS("race", races, "w/file", secret, "read/file", "../etc/passwd",
						"/proc/1/root/etc/passwd", "secret/file"));
	expect(output, "opened, 0 others\n");
	char *bytes = NULL;
	assert_int_equal(file_read(secret, 100, &bytes, NULL, NULL), 0);
	assert_string_equal(bytes, "secret");
	free(bytes);
	assert_int_equal(file_read(read, 100, &bytes, NULL, NULL), 0);
	assert_string_equal(bytes, "read");
	free(bytes);
}

static void a_process_that_hides_goes_on_to_the_mounts(void **state) {
	(void)state;
	CLEANUP_FREE char *output = serve(TRAPS_WRITES, refuse, WORDS("hidden", "read/file"));
	expect(output, "read/file: EROFS\n");
}

static int setup(void **state) {
	(void)state;
	cell_make(&cell);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	forget();
	cell_remove(&cell);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_goes_on_where_nothing_is_asked),
		cmocka_unit_test(a_call_with_a_plain_name_goes_on_before_anything_is_looked_at),
		cmocka_unit_test(each_call_is_held_and_goes_on),
		cmocka_unit_test(each_call_is_refused_as_it_was_answered),
		cmocka_unit_test(what_goes_on_meets_the_mounts),
		cmocka_unit_test(a_call_waits_for_what_the_broker_has_said),
		cmocka_unit_test(attack_r_01_what_is_withheld_between_the_look_and_the_answer_waits),
		cmocka_unit_test(attack_r_01_a_held_call_that_is_withheld_is_judged_anew),
		cmocka_unit_test(attack_r_01_an_answer_that_is_under_way_shows),
		cmocka_unit_test(attack_r_01_what_the_runner_carries_out_shows_like_an_answer),
		cmocka_unit_test(a_program_that_was_allowed_once_and_is_withheld_is_asked_about_anew),
		cmocka_unit_test(a_broken_file_withholds_and_only_the_brokers_own_is_followed),
		cmocka_unit_test(a_masked_name_is_made_only_when_it_is_allowed),
		cmocka_unit_test(opens_that_read_are_held_where_there_is_no_curtain),
		cmocka_unit_test(programs_are_held_also_in_a_child_of_vfork),
		cmocka_unit_test(attack_w_1_a_program_is_held_by_the_name_of_a_link_wherever_that_leads),
		cmocka_unit_test(two_hundred_wait_each_on_its_own),
		cmocka_unit_test(threads_wait_each_on_its_own),
		cmocka_unit_test(a_held_call_dies_of_a_signal),
		cmocka_unit_test(a_handler_runs_once_the_call_is_interrupted),
		cmocka_unit_test(a_storm_of_urgent_signals_restarts_nothing),
		cmocka_unit_test(attack_kernel_04_no_listener_of_the_tools_own),
		cmocka_unit_test(attack_kernel_05_a_flood_leaves_the_loop_its_turns),
		cmocka_unit_test(attack_kernel_05_a_flood_of_long_paths_leaves_the_loop_its_turns),
		cmocka_unit_test(attack_kernel_06_a_dead_thread_is_answered_nothing),
		cmocka_unit_test(attack_kernel_07_a_path_that_changes_gains_nothing),
		cmocka_unit_test(a_process_that_hides_goes_on_to_the_mounts),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
